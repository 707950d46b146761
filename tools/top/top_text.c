#include "top_text.h"

#include <bsd/string.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include <atlock.h>
#include <atlock/program.h>

/* One character as it is shown: where it goes on, its bytes, its columns. */
struct glyph {
	const char *next;
	const char *text;
	size_t len;
	size_t width;
};

/* In a locale that is not UTF-8, each byte of a character that it does not have is a '?'. */
static struct glyph glyph_read(const char *text)
{
	mbstate_t state;
	bool clean;
	wchar_t c;
	size_t len;

	memset(&state, 0, sizeof(state));
	len = mbrtowc(&c, text, strlen(text), &state);
	if (len == (size_t)-1 || len == (size_t)-2 || len == 0)
		return (struct glyph){ .next = text + 1, .text = "?", .len = 1, .width = 1 };
	(void)atlock_clean_next(text, len, &clean);
	if (!iswprint((wint_t)c) || wcwidth(c) < 0 || !clean)
		return (struct glyph){ .next = text + len, .text = "?", .len = 1, .width = 1 };
	return (struct glyph){ .next = text + len, .text = text, .len = len, .width = (size_t)wcwidth(c) };
}

size_t top_text_width(const char *text)
{
	size_t width = 0;

	while (*text != '\0') {
		struct glyph glyph = glyph_read(text);

		width += glyph.width;
		text = glyph.next;
	}
	return width;
}

/* Writes characters up to `end` or until the next would not fit; `*width` gets their columns. Returns where it goes on. */
static const char *glyphs_copy(const char *text, const char *end, size_t most, char *out, size_t len, size_t *width)
{
	size_t used = 0;

	*width = 0;
	while (text < end) {
		struct glyph glyph = glyph_read(text);

		if (*width + glyph.width > most || used + glyph.len >= len)
			break;
		memcpy(out + used, glyph.text, glyph.len);
		used += glyph.len;
		*width += glyph.width;
		text = glyph.next;
	}
	out[used] = '\0';
	return text;
}

/* "…" where the locale has it. */
static const char *ellipsis(void)
{
	return top_text_width("\u2026") == 1 ? "\u2026" : "~";
}

size_t top_text_fit(const char *text, size_t width, enum top_cut cut, char *out, size_t len)
{
	size_t all = top_text_width(text);
	size_t used;

	if (len == 0)
		return 0;
	out[0] = '\0';
	if (width == 0)
		return 0;
	if (all <= width) {
		(void)glyphs_copy(text, text + strlen(text), width, out, len, &used);
		return used;
	}
	if (cut == TOP_CUT_FRONT) {
		for (; *text != '\0' && all > width - 1; text = glyph_read(text).next)
			all -= glyph_read(text).width;
		(void)strlcpy(out, ellipsis(), len);
		(void)glyphs_copy(text, text + strlen(text), width - 1, out + strlen(out), len - strlen(out), &used);
	} else {
		(void)glyphs_copy(text, text + strlen(text), width - 1, out, len, &used);
		(void)strlcat(out, ellipsis(), len);
	}
	return used + 1;
}

/* The last blank of what was copied, if breaking there leaves at least a third of a line; else NULL. */
static const char *last_blank(const char *text, const char *end)
{
	const char *blank = memrchr(text, ' ', (size_t)(end - text));

	return *end != ' ' && blank != NULL && blank - text >= (end - text) / 3 ? blank : NULL;
}

const char *top_text_piece(const char *text, size_t width, char *out, size_t len)
{
	const char *end = strchrnul(text, '\n');
	size_t used;
	const char *next = glyphs_copy(text, end, width, out, len, &used);
	const char *blank;

	if (next == end)
		return *end == '\n' ? end + 1 : end;
	/* A character too wide for the terminal must not stop it. */
	if (next == text)
		return glyph_read(text).next;
	blank = last_blank(text, next);
	if (blank == NULL)
		return *next == ' ' ? next + 1 : next;
	(void)glyphs_copy(text, blank, width, out, len, &used);
	return blank + 1;
}
