#include "unmount.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "parked.h"

struct unmount_watch {
	struct fs *fs;
	pthread_t thread;
	int stop;        /* an eventfd */
	int table;       /* /proc/self/mountinfo: POLLPRI when it changed */
	char device[32]; /* "0:57" of our mount */
};

/* The third field of a line of mountinfo is the device. */
bool unmount_table_has(const char *device)
{
	FILE *table = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	if (table == NULL)
		return true;
	while (!found && getline(&line, &size, table) > 0) {
		char *next = line;
		const char *field = NULL;

		for (int i = 0; i < 3; i++)
			field = strsep(&next, " ");
		found = field != NULL && strcmp(field, device) == 0;
	}
	free(line);
	fclose(table);
	return found;
}

/* Whether a field of mountinfo, in which blanks and backslashes are "\\040" and the like, is this path. */
static bool field_is(const char *field, const char *path)
{
	for (; *field != '\0' && *path != '\0'; path++) {
		char c = *field;

		if (c == '\\' && strspn(field + 1, "01234567") >= 3) {
			c = (char)((field[1] - '0') << 6 | (field[2] - '0') << 3 | (field[3] - '0'));
			field += 3;
		}
		if (c != *path)
			return false;
		field++;
	}
	return *field == *path;
}

/*
 * The device of the topmost mount at this path. stat(2) would send a request to this daemon, which does not answer yet.
 */
bool unmount_find_device(const char *mountpoint, char *device, size_t len)
{
	FILE *table = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	if (table == NULL)
		return false;
	while (getline(&line, &size, table) > 0) {
		char *next = line;
		const char *fields[5] = { NULL };

		for (int i = 0; i < 5; i++)
			fields[i] = strsep(&next, " ");
		if (fields[4] == NULL || next == NULL || strstr(next, " fuse.atlockfs ") == NULL)
			continue;
		if (field_is(fields[4], mountpoint)) {
			snprintf(device, len, "%s", fields[2]);
			found = true;
		}
	}
	free(line);
	fclose(table);
	return found;
}

bool unmount_remains(const char *mountpoint)
{
	char device[32];

	return unmount_find_device(mountpoint, device, sizeof(device));
}

static void *watch_run(void *arg)
{
	struct unmount_watch *watch = arg;
	struct pollfd fds[2] = { { .fd = watch->table, .events = POLLPRI }, { .fd = watch->stop, .events = POLLIN } };

	while (poll(fds, 2, -1) >= 0 && (fds[1].revents & POLLIN) == 0)
		if (!unmount_table_has(watch->device)) {
			parks_close(watch->fs);
			break;
		}
	return NULL;
}

struct unmount_watch *unmount_watch_start(struct fs *fs, const char *mountpoint)
{
	struct unmount_watch *watch = calloc(1, sizeof(*watch));

	if (watch == NULL)
		return NULL;
	watch->fs = fs;
	watch->stop = eventfd(0, EFD_CLOEXEC);
	watch->table = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (watch->stop >= 0 && watch->table >= 0 &&
	    unmount_find_device(mountpoint, watch->device, sizeof(watch->device)) &&
	    pthread_create(&watch->thread, NULL, watch_run, watch) == 0)
		return watch;
	if (watch->stop >= 0)
		close(watch->stop);
	if (watch->table >= 0)
		close(watch->table);
	free(watch);
	return NULL;
}

void unmount_watch_stop(struct unmount_watch *watch)
{
	if (watch == NULL)
		return;
	eventfd_write(watch->stop, 1);
	pthread_join(watch->thread, NULL);
	close(watch->stop);
	close(watch->table);
	free(watch);
}
