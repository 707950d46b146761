/* UTC days, counted from 1970, and the timestamps and file names made from them. Private to core/. */
#ifndef CORE_DAY_H
#define CORE_DAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DAY_NS (INT64_C(86400) * 1000000000)
#define DAY_TEXT 10     /* bytes of "2026-11-16" */
#define DAY_TIME 24     /* bytes of "2026-11-16T05:11:02.123Z" */
#define DAY_MAX 2932896 /* 9999-12-31: the last with a four-digit year */

/* The day of a wall time. Days before 1970 count as the first day, those after 9999 as the last. */
uint32_t day_of(int64_t wall);

/* Both write no NUL and return the end of the output. */
char *day_print(uint32_t day, char *out);
char *day_print_time(int64_t wall, char *out);

/* Reads the first DAY_TEXT bytes of `text`; false if they are not a day. */
bool day_parse(const char *text, uint32_t *out);

#endif
