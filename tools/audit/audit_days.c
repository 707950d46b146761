/* The events of a mount's own host in the order of their numbers. All days are open at once: they overlap where the clock was set back. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <atlock/check.h>

#include "audit.h"
#include "chains.h"
#include "events.h"

/* A day's file at the line that comes next. */
struct day {
	char name[sizeof("events/") + NAME_MAX];
	FILE *file;
	char *line;
	size_t size;
	size_t len;
	uint64_t seq;       /* 0: it is at its end */
	unsigned int chain; /* whose lines are wanted */
};

static void day_next(struct day *day)
{
	ssize_t len;

	day->seq = 0;
	while (day->file != NULL && (len = getline(&day->line, &day->size, day->file)) > 0) {
		if (strncmp(day->line, "{\"seq\":", strlen("{\"seq\":")) != 0 || day->line[len - 1] != '\n' ||
		    atlock_audit_chain(day->line) != day->chain)
			continue;
		day->line[--len] = '\0';
		day->len = (size_t)len;
		day->seq = strtoull(day->line + strlen("{\"seq\":"), NULL, 10);
		return;
	}
}

static void day_close(struct day *day)
{
	if (day->file != NULL)
		(void)fclose(day->file);
	free(day->line);
	*day = (struct day){ .file = NULL };
}

/* The day that has the next event: usually the current one or the one after it. */
static struct day *days_find(struct day *days, int count, uint64_t last)
{
	struct day *found = NULL;

	for (int i = 0; i < count; i++) {
		struct day *day = &days[i];

		if (day->seq == 0)
			continue;
		if (day->seq == last + 1)
			return day;
		if (found == NULL || day->seq < found->seq)
			found = day;
	}
	return found;
}

static int days_merge(struct day *days, int count, audit_day_fn *fn, void *arg)
{
	struct day *day;
	uint64_t last = 0;
	int code = EXIT_DONE;

	for (int i = 0; i < count; i++)
		day_next(&days[i]);
	while (code == EXIT_DONE && (day = days_find(days, count, last)) != NULL) {
		do {
			code = fn(arg, day->line, day->len);
			last = day->seq;
			if (code == EXIT_DONE)
				day_next(day);
		} while (code == EXIT_DONE && day->seq == last + 1);
	}
	return code;
}

/* Raises the limit of open files: there may be thousands of days. */
static void files_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int days_open(const struct tool *tool, const struct mount *mount, struct dirent **names, struct day *days,
		     int count)
{
	unsigned int own = chains_own(mount);

	for (int i = 0; i < count; i++) {
		days[i].chain = own;
		(void)snprintf(days[i].name, sizeof(days[i].name), "events/%s", names[i]->d_name);
		days[i].file = mount_read(mount, days[i].name);
		if (days[i].file == NULL)
			return tool_fail(tool, tool_exit_code(errno), "%s/%s: %s", mount->path, days[i].name,
					 strerror(errno));
	}
	return EXIT_DONE;
}

int audit_days(const struct tool *tool, const struct mount *mount, audit_day_fn *fn, void *arg)
{
	struct dirent **names = NULL;
	struct day *days;
	int code = EXIT_SYSTEM;
	int count = events_days(tool, mount, &names);

	if (count < 0)
		return -count;
	days = calloc((size_t)count + 1, sizeof(*days));
	files_allow();
	if (days != NULL) {
		code = days_open(tool, mount, names, days, count);
		if (code == EXIT_DONE)
			code = days_merge(days, count, fn, arg);
		for (int i = 0; i < count; i++)
			day_close(&days[i]);
	}
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	free(days);
	return code;
}
