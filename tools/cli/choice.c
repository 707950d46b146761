#include "choice.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool choice_next(const char **text, struct choice *out)
{
	while (**text != '\0') {
		const char *line = *text;
		const char *end = line + strcspn(line, "\n");
		const char *name = line + strspn(line, " ");
		const char *word;
		size_t len;

		*text = *end == '\0' ? end : end + 1;
		*out = (struct choice){ .letter = '\0' };
		if (name == line)
			continue;
		if (name[0] == '-' && isalnum((unsigned char)name[1]) && strncmp(name + 2, ", ", 2) == 0) {
			out->letter = name[1];
			name += 4;
		}
		if (strncmp(name, "--", 2) != 0)
			continue;
		name += 2;
		len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-");
		word = name + len;
		out->value = word[0] == ' ' && word[1] != ' ';
		if (out->value)
			word += 1 + strcspn(word + 1, " \n");
		word += strspn(word, " ");
		(void)snprintf(out->name, sizeof(out->name), "%.*s", (int)len, name);
		(void)snprintf(out->help, sizeof(out->help), "%.*s", word < end ? (int)(end - word) : 0, word);
		return true;
	}
	return false;
}

const char choice_common[] = "  -h, --help       how to use it\n"
			     "  -m, --mount DIR  the mount to use\n";
