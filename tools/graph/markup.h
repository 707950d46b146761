/*
 * Text inside XML and HTML. Names and texts of users may contain anything; what they write here is text and nothing else, in an
 * element as well as in an attribute with double quotes.
 */
#ifndef TOOLS_MARKUP_H
#define TOOLS_MARKUP_H

#include <stddef.h>
#include <stdio.h>

/* Prints one character of UTF-8, U+FFFD for one that XML forbids or that deceives a viewer. Returns the next character. */
const char *markup_letter(FILE *out, const char *text);

/* Prints a text; the second leaves out the middle of one that has more than `most` characters. */
void markup_text(FILE *out, const char *text);
void markup_clipped(FILE *out, const char *text, size_t most);

/* Prints a text as a part of a URL's query: all but letters, digits and "-._~/" as %XX. */
void markup_query(FILE *out, const char *text);

#endif
