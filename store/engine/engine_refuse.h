/* Why something cannot work, for people. */
#ifndef ENGINE_REFUSE_H
#define ENGINE_REFUSE_H

#include <stddef.h>

/* Writes one line for people into `why` and returns `err`. */
int store_refuse(char *why, size_t whylen, int err, const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
