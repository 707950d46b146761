/*
 * Texts that others chose, made harmless for a terminal and cut to its columns. What a terminal might obey or what would
 * show something else than is there (control characters, marks that turn the direction of writing) reads as '?'.
 */
#ifndef TOOLS_TOP_TEXT_H
#define TOOLS_TOP_TEXT_H

#include <stddef.h>

enum top_cut { TOP_CUT_END, TOP_CUT_FRONT };

/* How many columns the text takes. */
size_t top_text_width(const char *text);

/*
 * Writes what fits into `width` columns, with a sign where something was left out: at most three bytes more than the text has.
 * Returns how many columns that takes.
 */
size_t top_text_fit(const char *text, size_t width, enum top_cut cut, char *out, size_t len);

/* Writes as much of it as fits, up to the end of the line, and returns where it goes on. */
const char *top_text_piece(const char *text, size_t width, char *out, size_t len);

#endif
