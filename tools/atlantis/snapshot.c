#include "snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "choice.h"

#define DEPTH 64 /* more components than a repository can have */

struct reading {
	const struct tool *tool;
	const struct mount *mount;
	struct snapshot *out;
	struct atlock_why why;
};

static struct snapshot_entry *snapshot_add(struct snapshot *snapshot)
{
	struct snapshot_entry *entries = tool_grow(snapshot->entries, snapshot->count, &snapshot->room,
						   sizeof(*entries));

	if (entries == NULL)
		return NULL;
	snapshot->entries = entries;
	memset(&snapshot->entries[snapshot->count], 0, sizeof(snapshot->entries[0]));
	return &snapshot->entries[snapshot->count++];
}

static int fail_at(const struct reading *reading, const char *path)
{
	return tool_fail(reading->tool, tool_exit_code(errno), "%s/%s: %s", reading->mount->path, path,
			 strerror(errno));
}

static int lock_add(void *arg, char *line, size_t len)
{
	struct reading *reading = arg;
	struct snapshot_entry *entry;
	int err;

	/* Atlantis has no waiters. */
	if (strstr(line, "\"kind\": \"waiter\"") != NULL || strstr(line, "\"kind\":\"waiter\"") != NULL)
		return EXIT_DONE;
	entry = snapshot_add(reading->out);
	if (entry == NULL)
		return tool_no_memory(reading->tool);
	err = atlock_foreign_from_lock(line, len, &entry->record, &reading->why);
	if (err < 0)
		return tool_fail(reading->tool, EXIT_DATA, "%s", reading->why.text);
	/* Command locks have one key, which is not kept: those of Atlantis have its name. */
	entry->imported = entry->record.form != 0 || (err == 0 && entry->record.kind == ATLOCK_FOREIGN_GLOBAL &&
						      strcmp(entry->record.who, "atlantis") == 0);
	line[strcspn(line, "\n")] = '\0';
	entry->line = strdup(line);
	return entry->line == NULL ? tool_no_memory(reading->tool) : EXIT_DONE;
}

static int locks_read(struct reading *reading)
{
	int rc = mount_lines(reading->mount, "locks.jsonl", lock_add, reading);

	if (rc >= 0)
		return rc;
	errno = -rc;
	return fail_at(reading, "locks.jsonl");
}

/* Reads a small file into a string; NULL and errno. */
static char *pull_file(const struct mount *mount, const char *dir, const char *name)
{
	char path[ATLOCK_PATH_MAX + 32];
	char *text = NULL;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = mount_read(mount, path);
	if (file == NULL)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = ferror(file) ? NULL : strdup("");
	}
	fclose(file);
	return text;
}

static int pull_add(struct reading *reading, const char *path)
{
	char *head = pull_file(reading->mount, path, "head");
	char *meta = pull_file(reading->mount, path, "meta");
	char *projects = pull_file(reading->mount, path, "projects.tsv");
	struct atlock_foreign_record record = { .key = NULL };
	struct snapshot_entry *entry;
	int code = EXIT_DONE;
	int err = -1;

	if (head == NULL || meta == NULL || projects == NULL)
		code = fail_at(reading, path);
	else
		err = atlock_foreign_from_pull(path, head, meta, projects, &record, &reading->why);
	if (code == EXIT_DONE && err < 0)
		code = tool_fail(reading->tool, EXIT_DATA, "%s: %s", path, reading->why.text);
	entry = err == 0 ? snapshot_add(reading->out) : NULL;
	if (entry != NULL)
		entry->record = record;
	else if (err == 0)
		code = tool_no_memory(reading->tool);
	free(head);
	free(meta);
	free(projects);
	return code;
}

/* Walks pulls/: directories down to "-", whose entries are the numbers of pull requests. */
static int pulls_read(struct reading *reading, const char *path, bool numbers, int depth)
{
	int fd = openat(reading->mount->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	char below[ATLOCK_PATH_MAX];
	int code = EXIT_DONE;

	if (dir == NULL && fd >= 0)
		close(fd);
	/* A directory that was listed may be gone by now. */
	if (dir == NULL)
		return errno == ENOENT && depth > 0 ? EXIT_DONE : fail_at(reading, path);
	while (code == EXIT_DONE && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if ((size_t)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >= sizeof(below) ||
		    depth > DEPTH)
			code = tool_fail(reading->tool, EXIT_DATA, "%s is too deep", path);
		else
			code = numbers ? pull_add(reading, below)
				       : pulls_read(reading, below, strcmp(entry->d_name, "-") == 0, depth + 1);
	}
	closedir(dir);
	return code;
}

static int entry_order(const void *a, const void *b)
{
	return strcmp(((const struct snapshot_entry *)a)->record.path, ((const struct snapshot_entry *)b)->record.path);
}

void snapshot_sort(struct snapshot *snapshot)
{
	if (snapshot->count > 0)
		qsort(snapshot->entries, snapshot->count, sizeof(*snapshot->entries), entry_order);
}

int snapshot_take(struct snapshot *snapshot, struct atlock_foreign_record *record)
{
	struct snapshot_entry *entry = snapshot_add(snapshot);

	if (entry == NULL)
		return -ENOMEM;
	entry->record = *record;
	*record = (struct atlock_foreign_record){ .key = NULL };
	return 0;
}

int snapshot_read(const struct tool *tool, const struct mount *mount, struct snapshot *out)
{
	struct reading reading = { .tool = tool, .mount = mount, .out = out };
	int code;

	*out = (struct snapshot){ .count = 0 };
	code = locks_read(&reading);
	if (code == EXIT_DONE)
		code = pulls_read(&reading, "pulls", false, 0);
	snapshot_sort(out);
	return code;
}

void snapshot_free(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->count; i++) {
		atlock_foreign_clear(&snapshot->entries[i].record);
		free(snapshot->entries[i].line);
		free(snapshot->entries[i].there);
	}
	free(snapshot->entries);
	*snapshot = (struct snapshot){ .count = 0 };
}

struct snapshot_entry *snapshot_find(const struct snapshot *snapshot, const char *path)
{
	size_t low = 0;
	size_t high = snapshot->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(snapshot->entries[middle].record.path, path);

		if (order == 0)
			return &snapshot->entries[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* --- Both sides --- */

int sides_option(struct sides *sides, int letter)
{
	switch (letter) {
	case 'O': sides->flags |= ATLOCK_FOREIGN_OLDER; return -1;
	case 'S': sides->flags |= ATLOCK_FOREIGN_BEFORE_0_25; return -1;
	default: return CHOICE_UNKNOWN;
	}
}

int sides_keys(const struct tool *tool, int *parts)
{
	if (strcmp(optarg, "3") != 0 && strcmp(optarg, "4") != 0)
		return tool_usage(tool, "--keys is 3 (as Atlantis before 0.40) or 4, not \"%s\"", optarg);
	*parts = optarg[0] - '0';
	return -1;
}

int sides_learn(const struct tool *tool, struct atlock_foreign *theirs, int parts)
{
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why = { .text = "" };
	int rc = 0;

	atlock_foreign_keys(theirs, parts);
	while (parts == 0 && rc != 1 && (rc >= 0 || rc == -EAGAIN))
		rc = rc == -EAGAIN ? atlock_foreign_again(theirs, &why) : atlock_foreign_next(theirs, &record, &why);
	atlock_foreign_clear(&record);
	if (rc >= 0)
		rc = atlock_foreign_again(theirs, &why);
	return rc < 0 ? tool_fail_why(tool, rc, &why) : EXIT_DONE;
}

void sides_remember(struct atlock_foreign *theirs, const struct snapshot *tree, int parts)
{
	int found = 0;

	if (parts != 0 || atlock_foreign_parts(theirs) != 0)
		return;
	for (size_t i = 0; i < tree->count; i++)
		if (tree->entries[i].record.form > found)
			found = tree->entries[i].record.form;
	atlock_foreign_keys(theirs, found);
}

int sides_open(struct sides *sides, const char *uri)
{
	struct atlock_why why = { .text = "" };
	int err = uri == NULL ? 0 : atlock_foreign_open(&sides->theirs, uri, sides->flags, &why);
	int code;

	sides->mount.fd = -1;
	if (err < 0) {
		sides->theirs = NULL;
		return tool_fail_why(sides->tool, err, &why);
	}
	code = mount_open(sides->tool, &sides->mount);
	return code == EXIT_DONE ? snapshot_read(sides->tool, &sides->mount, &sides->tree) : code;
}

void sides_close(struct sides *sides)
{
	snapshot_free(&sides->tree);
	mount_close(&sides->mount);
	atlock_foreign_close(sides->theirs);
}
