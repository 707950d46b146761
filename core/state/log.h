/*
 * What the manager tells operators. A line goes where the setup says, or where atlock_log_open() says, and is one line: control
 * bytes in it are spelled \xNN, and what stands before the host of a URL is left out. Private to core/.
 */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include "state.h"

void log_write(struct atlock *al, enum atlock_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As log_write(), at most one a second through the same `limit`; the next one says how many were left out. */
void log_limited(struct atlock *al, struct log_limit *limit, enum atlock_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Options have changed: from now on lines of this level and worse are written. */
void log_level_set(enum atlock_log_level level);

/* Makes one line of `text` that hurts no terminal or log; returns its length. What does not fit is cut. */
size_t log_line(const char *text, char *out, size_t len);

#endif
