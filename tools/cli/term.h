/* What only a terminal gets: colours and a line that shows how far a command is. Files and pipes see neither. */
#ifndef TOOLS_TERM_H
#define TOOLS_TERM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum term_color { TERM_PLAIN, TERM_RED, TERM_GREEN, TERM_YELLOW, TERM_BOLD };

/* Whether a line of `out` can be written over: a terminal, and not TERM=dumb. */
bool term_live(FILE *out);

/* The sequence that begins a colour on `out`, or "": no terminal, NO_COLOR is set, or TERM=dumb. TERM_PLAIN ends one. */
const char *term_color(FILE *out, enum term_color color);

/*
 * Makes a text that others chose harmless to print: what a terminal might obey or what would hide other characters is spelled
 * \xNN. Returns the text itself if it has none of that, else a copy that stays for the next fifteen calls of the same thread.
 */
const char *term_text(const char *text);

/* Prints a formatted text so; and a file, line by line, with its tabs. */
void term_vprint(FILE *out, const char *format, va_list list) __attribute__((format(printf, 2, 0)));
void term_copy(FILE *in, FILE *out);

/* Prints "word name: text", the word in a colour, the others as term_text() has them; no text: "word name". */
void term_item(enum term_color color, const char *word, const char *name, const char *text);

/* How many characters of UTF-8 a text has; that some are of double width does not matter enough. */
size_t term_width(const char *text);

/* A progress line on standard error. `total` 0: it is not known how much there is. */
struct progress {
	const char *what;
	uint64_t total;
	uint64_t done;
	int64_t shown; /* when, in nanoseconds; -1: standard error is no terminal */
};

void progress_begin(struct progress *progress, const char *what, uint64_t total);
void progress_step(struct progress *progress);

/* Takes the line away, before something else is printed or at the end. */
void progress_clear(struct progress *progress);

#endif
