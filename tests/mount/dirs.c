/*
 * Directory streams for shell scripts.
 *
 *	mount-dirs hold N DIR    opens DIR N times, reads one entry of each, prints "open" and waits for the end of its input
 *	mount-dirs back DIR      reads all of DIR, then goes back to many places and compares what comes there
 *	mount-dirs change DIR P  reads all of DIR, removes every tenth entry, then goes back to P percent and reads on
 *	mount-dirs remove DIR    removes each file as it is read, as rm -r does
 *
 * Exits 1 and says why if what it reads is not what a directory must show.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
	char *name;
	long place; /* telldir(3) before it */
};

struct entries {
	struct entry *list;
	size_t count;
};

static _Noreturn void fail(const char *what, const char *name)
{
	fprintf(stderr, "mount-dirs: %s: %s\n", what, name);
	exit(1);
}

static DIR *open_dir(const char *path)
{
	DIR *dir = opendir(path);

	if (dir == NULL)
		fail(path, strerror(errno));
	return dir;
}

static const char *next_name(DIR *dir)
{
	const struct dirent *entry;

	errno = 0;
	entry = readdir(dir);
	if (entry == NULL && errno != 0)
		fail("readdir", strerror(errno));
	return entry == NULL ? NULL : entry->d_name;
}

static struct entries read_all(DIR *dir)
{
	struct entries all = { NULL, 0 };
	const char *name;

	for (;;) {
		long place = telldir(dir);

		name = next_name(dir);
		if (name == NULL)
			return all;
		all.list = reallocarray(all.list, all.count + 1, sizeof(*all.list));
		all.list[all.count].place = place;
		all.list[all.count].name = strdup(name);
		if (all.list[all.count++].name == NULL)
			fail("strdup", name);
	}
}

static void entries_free(struct entries *all)
{
	while (all->count > 0)
		free(all->list[--all->count].name);
	free(all->list);
}

static int hold(const char *count, const char *path)
{
	char byte;

	for (long n = strtol(count, NULL, 10); n > 0; n--)
		if (next_name(open_dir(path)) == NULL)
			fail("empty", path);
	puts("open");
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) < 0;
}

/* All entries of a directory that has some. */
static struct entries read_some(DIR *dir, const char *path)
{
	struct entries all = read_all(dir);

	if (all.list == NULL || all.count == 0)
		fail("empty", path);
	return all;
}

/* Places all over the directory, in an order that jumps. */
static size_t jump(size_t i, size_t count)
{
	return (i * 7919 + 13) % count;
}

static int back(const char *path)
{
	DIR *dir = open_dir(path);
	struct entries all = read_some(dir, path);

	for (size_t i = 0; i < 200; i++) {
		size_t at = jump(i, all.count);

		seekdir(dir, all.list[at].place);
		for (size_t n = 0; n < 3 && at + n < all.count; n++) {
			const char *name = next_name(dir);

			if (name == NULL || strcmp(name, all.list[at + n].name) != 0)
				fail("another name came", all.list[at + n].name);
		}
	}
	rewinddir(dir);
	for (size_t i = 0; i < all.count; i++) {
		const char *name = next_name(dir);

		if (name == NULL || strcmp(name, all.list[i].name) != 0)
			fail("rewound, another name came", all.list[i].name);
	}
	entries_free(&all);
	return closedir(dir);
}

/* Some go that were read; from a place on, all that stay must come. */
static int change(const char *path, const char *percent)
{
	DIR *dir = open_dir(path);
	struct entries all = read_some(dir, path);
	size_t at = all.count * strtoul(percent, NULL, 10) / 100;
	const char *name;

	for (size_t i = 5; i < all.count; i += 10)
		if (unlinkat(dirfd(dir), all.list[i].name, 0) < 0)
			fail(all.list[i].name, strerror(errno));
	seekdir(dir, all.list[at].place);
	while ((name = next_name(dir)) != NULL) {
		at += at % 10 == 5;
		if (at < all.count && strcmp(name, all.list[at].name) == 0)
			at++;
	}
	at += at % 10 == 5;
	if (at < all.count)
		fail("left out", all.list[at].name);
	entries_free(&all);
	return closedir(dir);
}

static int remove_all(const char *path)
{
	DIR *dir = open_dir(path);
	const char *name;

	while ((name = next_name(dir)) != NULL)
		if (name[0] != '.' && unlinkat(dirfd(dir), name, 0) < 0)
			fail(name, strerror(errno));
	return closedir(dir);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "hold") == 0)
		return hold(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "back") == 0)
		return back(argv[2]);
	if (argc == 4 && strcmp(argv[1], "change") == 0)
		return change(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "remove") == 0)
		return remove_all(argv[2]);
	fprintf(stderr, "usage: mount-dirs hold N DIR | back DIR | change DIR PERCENT | remove DIR\n");
	return 2;
}
