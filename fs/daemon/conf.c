#include "conf.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"

#define BLANKS " \t\r\n"

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, BLANKS);
	len = strlen(text);
	while (len > 0 && strchr(BLANKS, text[len - 1]) != NULL)
		text[--len] = '\0';
	return text;
}

static int line_take(const char *where, char *line, conf_fn *fn, void *arg)
{
	char *name = trim(line);
	char *value = strchr(name, '=');

	if (name[0] == '\0' || name[0] == '#')
		return 0;
	if (value != NULL) {
		*value = '\0';
		value = trim(value + 1);
		name = trim(name);
	}
	if (name[0] == '\0' || strpbrk(name, BLANKS) != NULL)
		return complain(where, "write \"option = value\", one a line, or \"# comment\"");
	return fn(arg, where, name, value);
}

int conf_read(const char *path, conf_fn *fn, void *arg)
{
	FILE *file = fopen(path, "re");
	char where[PATH_MAX + 16];
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int err = 0;

	if (file == NULL)
		return errno == ENOENT ? 1 : complain(path, strerror(errno));
	for (unsigned long number = 1; err == 0 && (len = getline(&line, &size, file)) > 0; number++) {
		snprintf(where, sizeof(where), "%s:%lu", path, number);
		err = strlen(line) == (size_t)len ? line_take(where, line, fn, arg)
						  : complain(where, "has a NUL byte: is this a text file?");
	}
	if (err == 0 && ferror(file) != 0)
		err = complain(path, strerror(errno));
	free(line);
	fclose(file);
	return err;
}
