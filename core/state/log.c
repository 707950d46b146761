#include "log.h"

#include <bsd/string.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "atlock/program.h"
#include "userinfo.h"

#define LINE_MAX_BYTES 2048

static const struct {
	const char *name;
	int priority;
} levels[] = {
	[ATLOCK_LOG_ERROR] = { "error", LOG_ERR },
	[ATLOCK_LOG_WARNING] = { "warning", LOG_WARNING },
	[ATLOCK_LOG_INFO] = { "info", LOG_INFO },
	[ATLOCK_LOG_DEBUG] = { "debug", LOG_DEBUG },
};

/* The process's log. Set before threads start, except for the level. */
static struct {
	bool open;
	bool syslog;
	bool journal; /* a journal reads stderr and takes the level from "<N>" at the start of a line */
	_Atomic int level;
} process = { .level = ATLOCK_LOG_INFO };

void atlock_log_open(enum atlock_log_target target, enum atlock_log_level level)
{
	process.open = true;
	process.syslog = target == ATLOCK_LOG_SYSLOG;
	process.journal = getenv("JOURNAL_STREAM") != NULL;
	log_level_set(level);
	if (process.syslog)
		openlog("atlockfs", LOG_PID | LOG_NDELAY, LOG_DAEMON);
}

void log_level_set(enum atlock_log_level level)
{
	atomic_store_explicit(&process.level, (int)level, memory_order_relaxed);
}

size_t log_line(const char *text, char *out, size_t len)
{
	size_t n;

	(void)atlock_clean(text, strlen(text), out, len);
	n = userinfo_strip(out, strlen(out));
	out[n] = '\0';
	return n;
}

/* Writes a line with one write(2), so that lines of several threads do not mix. */
static void line_to_stderr(enum atlock_log_level level, const char *line)
{
	char text[LINE_MAX_BYTES + 64];
	int n = process.journal ? snprintf(text, sizeof(text), "<%d>%s\n", levels[level].priority, line)
				: snprintf(text, sizeof(text), "atlockfs: %s: %s\n", levels[level].name, line);
	ssize_t wrote = n > 0 ? write(STDERR_FILENO, text, (size_t)n) : 0;

	(void)wrote;
}

static void process_line(enum atlock_log_level level, const char *line)
{
	if (process.syslog)
		syslog(levels[level].priority, "%s", line);
	/* The user who mounts must see an error on stderr, too; once the daemon is detached, stderr leads nowhere. */
	if (!process.syslog || level == ATLOCK_LOG_ERROR)
		line_to_stderr(level, line);
}

static bool process_wants(enum atlock_log_level level)
{
	return process.open && (int)level <= atomic_load_explicit(&process.level, memory_order_relaxed);
}

void atlock_log(enum atlock_log_level level, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES / 4];
	char line[LINE_MAX_BYTES];
	va_list args;

	if (!process_wants(level))
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	(void)log_line(text, line, sizeof(line));
	process_line(level, line);
}

__attribute__((format(printf, 3, 0))) static void log_format(struct atlock *al, enum atlock_log_level level,
							     const char *fmt, va_list args)
{
	char text[LINE_MAX_BYTES / 4];
	char line[LINE_MAX_BYTES];

	(void)vsnprintf(text, sizeof(text), fmt, args);
	(void)log_line(text, line, sizeof(line));
	if (al->log != NULL)
		al->log(al->log_arg, level, line);
	else
		process_line(level, line);
}

static bool log_wants(struct atlock *al, enum atlock_log_level level)
{
	return al->log != NULL ? (int64_t)level <= state_options(al)->log_level : process_wants(level);
}

void log_write(struct atlock *al, enum atlock_log_level level, const char *fmt, ...)
{
	va_list args;

	if (!log_wants(al, level))
		return;
	va_start(args, fmt);
	log_format(al, level, fmt, args);
	va_end(args);
}

void log_limited(struct atlock *al, struct log_limit *limit, enum atlock_log_level level, const char *fmt, ...)
{
	int64_t now = steady_now();
	int64_t last = atomic_load_explicit(&limit->last, memory_order_relaxed);
	uint64_t left_out;
	va_list args;

	if (!log_wants(al, level))
		return;
	if ((last != 0 && now - last < ATLOCK_SECOND) || !atomic_compare_exchange_strong(&limit->last, &last, now)) {
		atomic_fetch_add_explicit(&limit->left_out, 1, memory_order_relaxed);
		return;
	}
	va_start(args, fmt);
	log_format(al, level, fmt, args);
	va_end(args);
	left_out = atomic_exchange_explicit(&limit->left_out, 0, memory_order_relaxed);
	if (left_out > 0)
		log_write(al, level, "%ju more like that were left out", (uintmax_t)left_out);
}
