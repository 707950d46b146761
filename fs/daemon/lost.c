#include "lost.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "flocked.h"
#include "fs.h"
#include "handle.h"
#include "open_files.h"

/* Whether an open file of the process, inherited or its own, holds a lock. */
static bool process_holds(struct fs *fs, pid_t pid)
{
	struct atlock_caller *holders;
	size_t count = behind_files(fs, pid, &holders);

	free(holders);
	return count > 0;
}

static bool process_tell(struct fs *fs, pid_t pid, int number)
{
	bool done = false;
	int fd;

	if (pid == getpid() || pid == fs->notifier.pid || !process_holds(fs, pid))
		return false;
	fd = pidfd_open(pid, 0);
	/* Looked at again after opening: the descriptor is that of a process which holds, not of a later one with its number. */
	if (fd >= 0 && process_holds(fs, pid))
		done = pidfd_send_signal(fd, number, NULL, 0) == 0;
	if (fd >= 0)
		close(fd);
	return done;
}

static bool mark(void *arg, struct handle *handle)
{
	struct flocked *flocked = handle->flocked;
	bool *any = arg;

	flocked->lost = flocked->token != 0;
	*any = *any || flocked->lost;
	return true;
}

/* A lock that is granted meanwhile is not one of those. */
static bool forget(void *arg, struct handle *handle)
{
	struct flocked *flocked = handle->flocked;

	(void)arg;
	if (flocked->lost)
		flocked_set(flocked, 0, NULL);
	flocked->lost = false;
	return true;
}

size_t lost_tell(void *arg, int number)
{
	const struct dirent *entry;
	struct fs *fs = arg;
	size_t told = 0;
	bool any = false;
	DIR *proc;

	if (fs->handles == NULL || handles_flocked(fs->handles) == 0)
		return 0;
	handles_each_flocked(fs->handles, mark, &any);
	proc = any ? opendir("/proc") : NULL;
	if (proc == NULL)
		return 0;
	while ((entry = readdir(proc)) != NULL) {
		pid_t pid = atoi(entry->d_name);

		told += pid > 0 && process_tell(fs, pid, number);
	}
	closedir(proc);
	handles_each_flocked(fs->handles, forget, NULL);
	return told;
}
