/* Days of UTC, counted from 1970, and the times and file names that are made of them. Private to core/. */
#ifndef CORE_DAY_H
#define CORE_DAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DAY_NS (INT64_C(86400) * 1000000000)
#define DAY_TEXT 10     /* bytes of "2026-11-16" */
#define DAY_TIME 24     /* bytes of "2026-11-16T05:11:02.123Z" */
#define DAY_MAX 2932896 /* 9999-12-31: what has four digits */

/* Of a wall time; days before 1970 and after 9999 are not told apart. */
uint32_t day_of(int64_t wall);

/* Without a NUL; returns where it ends. */
char *day_print(uint32_t day, char *out);
char *day_print_time(int64_t wall, char *out);

/* Reads the first DAY_TEXT bytes of a text; false if they are no day. */
bool day_parse(const char *text, uint32_t *out);

#endif
