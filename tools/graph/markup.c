#include "markup.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <atlock.h>
#include <atlock/program.h>

#include "term.h"

static const struct {
	char letter;
	const char *entity;
} entities[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" } };

const char *markup_letter(FILE *out, const char *text)
{
	bool clean;
	size_t len = atlock_clean_next(text, strlen(text), &clean);

	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
		if (*text == entities[i].letter) {
			fputs(entities[i].entity, out);
			return text + len;
		}
	if (!clean || strncmp(text, "\xef\xbf\xbe", 3) == 0 || strncmp(text, "\xef\xbf\xbf", 3) == 0)
		fputs("\xef\xbf\xbd", out);
	else
		fwrite(text, 1, len, out);
	return text + len;
}

void markup_text(FILE *out, const char *text)
{
	while (*text != '\0')
		text = markup_letter(out, text);
}

void markup_clipped(FILE *out, const char *text, size_t most)
{
	size_t letters = term_width(text);

	for (size_t i = 0; *text != '\0'; i++) {
		bool left_out = letters > most && i >= most / 2 && i < letters - most / 2 + 1;

		if (left_out && i == most / 2)
			fputs("\xe2\x80\xa6", out);
		text = left_out ? text + 1 : markup_letter(out, text);
		while (((unsigned char)*text & 0xc0) == 0x80)
			text++;
	}
}

void markup_query(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x80 && (isalnum(byte) || strchr("-._~/", byte) != NULL))
			putc(byte, out);
		else
			fprintf(out, "%%%02X", byte);
	}
}
