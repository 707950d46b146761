#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY 10 /* bytes of a day in a name */

static int events_file(const struct events *events, const char *name, FILE *file)
{
	char *text = NULL;
	size_t size = 0;
	ssize_t len;
	int code = EXIT_DONE;

	if (file == NULL)
		return tool_fail(events->tool, tool_exit_code(errno), "%s: %s", name, strerror(errno));
	events->file(events->arg, name);
	while (code == EXIT_DONE && (len = getline(&text, &size, file)) > 0) {
		bool whole = text[len - 1] == '\n';

		if (whole)
			text[--len] = '\0';
		code = events->line(events->arg, text, (size_t)len, whole);
	}
	if (code == EXIT_DONE && ferror(file) != 0)
		code = tool_fail(events->tool, EXIT_OUTPUT, "%s: %s", name, strerror(errno));
	free(text);
	if (file != stdin)
		(void)fclose(file);
	return code;
}

static bool file_wanted(const struct events *events, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;

	/* A file with another name may have events of any day. */
	if (events->wants == NULL || strlen(name) < DAY || strspn(name, "0123456789-") != DAY)
		return true;
	return events->wants(events->arg, name);
}

static int is_day(const struct dirent *entry)
{
	return strspn(entry->d_name, "0123456789-") == DAY;
}

int events_days(const struct tool *tool, const struct mount *mount, struct dirent ***out)
{
	int n = scandirat(mount->fd, "events", out, is_day, alphasort);

	return n >= 0 ? n : -tool_fail(tool, tool_exit_code(errno), "%s/events: %s", mount->path, strerror(errno));
}

static int mount_each(const struct events *events)
{
	struct dirent **days = NULL;
	char path[sizeof("events/") + sizeof(days[0]->d_name)];
	int code = EXIT_DONE;
	int n = events_days(events->tool, events->mount, &days);

	if (n < 0)
		return -n;
	for (int i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "events/%s", days[i]->d_name);
		if (code == EXIT_DONE && file_wanted(events, path))
			code = events_file(events, path, mount_read(events->mount, path));
		free(days[i]);
	}
	free(days);
	return code;
}

int events_each(const struct events *events)
{
	int code = EXIT_DONE;

	if (events->count == 0)
		return mount_each(events);
	for (int i = 0; i < events->count && code == EXIT_DONE; i++) {
		const char *name = events->files[i];

		if (strcmp(name, "-") == 0)
			code = events_file(events, "standard input", stdin);
		else if (file_wanted(events, name))
			code = events_file(events, name, fopen(name, "re"));
	}
	return code;
}
