#include "term.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atlock.h>
#include <atlock/program.h>

#include "moment.h"

#define BAR 30
#define EVERY INT64_C(100000000) /* 100 ms: smooth enough, and cheap */

static const char *const colors[] = {
	[TERM_PLAIN] = "\033[0m",   [TERM_RED] = "\033[31m", [TERM_GREEN] = "\033[32m",
	[TERM_YELLOW] = "\033[33m", [TERM_BOLD] = "\033[1m",
};

bool term_live(FILE *out)
{
	const char *term = getenv("TERM");

	return isatty(fileno(out)) && (term == NULL || strcmp(term, "dumb") != 0);
}

const char *term_color(FILE *out, enum term_color color)
{
	const char *no = getenv("NO_COLOR");

	return term_live(out) && (no == NULL || no[0] == '\0') ? colors[color] : "";
}

const char *term_text(const char *text)
{
	static _Thread_local char *copies[16];
	static _Thread_local size_t next;
	size_t len = strlen(text);
	size_t need = atlock_clean(text, len, NULL, 0);
	char *copy;

	if (need == len)
		return text;
	copy = realloc(copies[next], need + 1);
	if (copy == NULL)
		return "?";
	copies[next] = copy;
	next = (next + 1) % (sizeof(copies) / sizeof(copies[0]));
	(void)atlock_clean(text, len, copy, need + 1);
	return copy;
}

void term_vprint(FILE *out, const char *format, va_list list)
{
	char *text;

	if (vasprintf(&text, format, list) < 0) {
		fputs("out of memory", out);
		return;
	}
	fputs(term_text(text), out);
	free(text);
}

void term_copy(FILE *in, FILE *out)
{
	char *line = NULL;
	size_t size = 0;
	char *rest;

	while (getline(&line, &size, in) > 0) {
		bool whole = strchr(line, '\n') != NULL;

		line[strcspn(line, "\n")] = '\0';
		rest = line;
		for (const char *part; (part = strsep(&rest, "\t")) != NULL;)
			fprintf(out, "%s%s", term_text(part), rest != NULL ? "\t" : "");
		if (whole)
			fputc('\n', out);
	}
	free(line);
}

void term_item(enum term_color color, const char *word, const char *name, const char *text)
{
	printf("%s%s%s %s%s%s\n", term_color(stdout, color), word, term_color(stdout, TERM_PLAIN), term_text(name),
	       text[0] == '\0' ? "" : ": ", term_text(text));
}

size_t term_width(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void progress_begin(struct progress *progress, const char *what, uint64_t total)
{
	*progress = (struct progress){ .what = what, .total = total, .shown = term_live(stderr) ? 0 : -1 };
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
	time = moment_steady();
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
