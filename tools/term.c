#include "term.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR 30
#define EVERY INT64_C(100000000) /* 100 ms: smooth enough, and cheap */

static const char *const colors[] = {
	[TERM_PLAIN] = "\033[0m",   [TERM_RED] = "\033[31m", [TERM_GREEN] = "\033[32m",
	[TERM_YELLOW] = "\033[33m", [TERM_BOLD] = "\033[1m",
};

static bool is_terminal(FILE *out)
{
	const char *term = getenv("TERM");

	return isatty(fileno(out)) && (term == NULL || strcmp(term, "dumb") != 0);
}

const char *term_color(FILE *out, enum term_color color)
{
	const char *no = getenv("NO_COLOR");

	return is_terminal(out) && (no == NULL || no[0] == '\0') ? colors[color] : "";
}

size_t term_width(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void progress_begin(struct progress *progress, const char *what, uint64_t total)
{
	*progress = (struct progress){ .what = what, .total = total, .shown = is_terminal(stderr) ? 0 : -1 };
}

static void progress_show(const struct progress *progress)
{
	char bar[BAR + 1];
	uint64_t part;

	if (progress->total == 0) {
		fprintf(stderr, "\r\033[K%s %" PRIu64, progress->what, progress->done);
		return;
	}
	part = progress->done >= progress->total ? BAR : progress->done * BAR / progress->total;
	memset(bar, '.', BAR);
	memset(bar, '#', part);
	bar[BAR] = '\0';
	fprintf(stderr, "\r\033[K%s [%s] %" PRIu64 "/%" PRIu64, progress->what, bar, progress->done, progress->total);
}

void progress_step(struct progress *progress)
{
	int64_t time;

	progress->done++;
	if (progress->shown < 0)
		return;
	time = now();
	if (progress->shown != 0 && time - progress->shown < EVERY)
		return;
	progress->shown = time;
	progress_show(progress);
}

void progress_clear(struct progress *progress)
{
	if (progress->shown <= 0)
		return;
	fputs("\r\033[K", stderr);
	progress->shown = 0;
}
