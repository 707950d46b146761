#include "command_line.h"

#include <bsd/string.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "term.h"

/* Whether the first `len` bytes of a word name a secret. */
static bool names_secret(const char *word, size_t len)
{
	static const char *const secrets[] = { "password", "passwd",  "passphrase", "secret",     "token",     "apikey",
					       "api-key",  "api_key", "credential", "access-key", "access_key" };
	char name[64];

	(void)strlcpy(name, word, len < sizeof(name) ? len + 1 : sizeof(name));
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
		if (strcasestr(name, secrets[i]) != NULL)
			return true;
	return false;
}

/* The bytes that may be shown of a word; the rest of it is a secret. `*next`: the word after it is one, too. */
static size_t word_shown(const char *word, bool *next)
{
	size_t len = strcspn(word, "=");

	*next = word[len] == '\0' && word[0] == '-' && names_secret(word, len);
	return word[len] == '=' && names_secret(word, len) ? len + 1 : strlen(word);
}

/* Cuts a character in two nowhere. */
static void end_mend(char *text)
{
	size_t len = strlen(text);
	size_t tail = 0;

	while (tail < len && tail < 3 && ((unsigned char)text[len - tail - 1] & 0xc0) == 0x80)
		tail++;
	if (tail < len && ((unsigned char)text[len - tail - 1] & 0xc0) == 0xc0)
		text[len - tail - 1] = '\0';
}

void command_line_print(char *const *argv, char *out, size_t len)
{
	bool secret = false;
	bool cut = false;

	out[0] = '\0';
	for (size_t i = 0; argv[i] != NULL && !cut; i++) {
		bool next;
		size_t shown = word_shown(argv[i], &next);
		char *word = strndup(argv[i], secret ? 0 : shown);

		if (i > 0)
			(void)strlcat(out, " ", len);
		if (word != NULL)
			cut = strlcat(out, term_text(word), len) >= len;
		if (word == NULL || secret || argv[i][shown] != '\0')
			cut = strlcat(out, "***", len) >= len || cut;
		free(word);
		secret = next;
	}
	if (cut)
		end_mend(out);
}
