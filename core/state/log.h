/*
 * Messages for operators. A message goes where the setup or atlock_log_open() says, and is one line: control bytes
 * become \xNN, and user and password of URLs are removed. Private to core/.
 */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include "state.h"

void log_write(struct atlock *al, enum atlock_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As log_write(), but at most one message a second for each `limit`; the next one says how many were left out. */
void log_limited(struct atlock *al, struct log_limit *limit, enum atlock_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Sets the level: messages of this level and more serious ones are written. */
void log_level_set(enum atlock_log_level level);

/* Makes one line of `text` that is safe for terminals and logs, truncated to fit; returns its length. */
size_t log_line(const char *text, char *out, size_t len);

#endif
