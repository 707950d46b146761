#include "rights.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "complain.h"
#include "daemon.h"
#include "stop.h"
#include "unmount.h"

/* --- The store --- */

int rights_give_store(const struct options *options)
{
	int fd = open(options->store, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat st;
	int err = 0;

	if (dir == NULL || fstat(fd, &st) != 0)
		return complain(options->store, strerror(errno));
	if ((st.st_uid != 0 && st.st_uid != options->run_uid) || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		closedir(dir);
		return complain(options->store,
				"belongs to another user, or others may write to it: chown and chmod it");
	}
	/* Once another user owns the directory, it may contain anything, such as a hard link to one of root's files. */
	while (st.st_uid != options->run_uid && err == 0 && (entry = readdir(dir)) != NULL)
		if (entry->d_type == DT_REG)
			err = fchownat(fd, entry->d_name, options->run_uid, options->run_gid, AT_SYMLINK_NOFOLLOW);
	if (err == 0 && st.st_uid != options->run_uid)
		err = fchown(fd, options->run_uid, options->run_gid);
	if (err != 0)
		complain(options->store, strerror(errno));
	closedir(dir);
	return err;
}

/* --- The daemon --- */

static int caps_set(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .permitted = (uint32_t)permitted, .effective = (uint32_t)effective },
		{ .permitted = (uint32_t)(permitted >> 32), .effective = (uint32_t)(effective >> 32) },
	};

	return (int)syscall(SYS_capset, &header, data);
}

/* The parent belongs to root: if its /proc/<pid>/stat can be read, all can. */
static bool proc_is_open(void)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", getppid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int rights_drop(const struct options *options)
{
	const uint64_t ptrace = UINT64_C(1) << CAP_SYS_PTRACE;

	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 && errno != EINVAL)
			return -1;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	if (initgroups(options->run_as, options->run_gid) != 0 ||
	    setresgid(options->run_gid, options->run_gid, options->run_gid) != 0 ||
	    setresuid(options->run_uid, options->run_uid, options->run_uid) != 0)
		return -1;
	if (caps_set(ptrace, 0) == 0 && !proc_is_open())
		return caps_set(ptrace, ptrace);
	if (caps_set(0, 0) != 0)
		return -1;
	/* The process has no secrets of root: it may dump core, and it owns its own /proc files. */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* --- The process that stays root --- */

/* Returns when the daemon has ended. A signal that asks to stop is passed on to the daemon. */
static int keeper_wait(pid_t daemon)
{
	sigset_t set;
	int status = 0;
	int number;

	stop_signals(&set);
	sigaddset(&set, SIGCHLD);
	while (waitpid(daemon, &status, WNOHANG) == 0)
		if (sigwait(&set, &number) == 0 && number != SIGCHLD)
			kill(daemon, number);
	return status;
}

/*
 * A daemon that crashed or was cut off leaves a dead mount. It must stay: the directory underneath would look like free
 * locks.
 */
static int keeper_run(pid_t daemon, const struct options *options, const struct fs *fs, const struct mountpoint *mp)
{
	char device[32];
	bool known = unmount_find_device(mp->path, device, sizeof(device));
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int status;

	/* With this descriptor open here, the mount would outlive the daemon. */
	(void)!dup3(null, fuse_session_fd(fs->session), O_CLOEXEC);
	close(null);
	if (!options->foreground)
		daemon_detach(options->core.log == ATLOCK_LOG_STDERR);
	if (fs->ready_fd >= 0)
		close(fs->ready_fd);
	status = keeper_wait(daemon);
	if (!WIFEXITED(status))
		return 1;
	if (WEXITSTATUS(status) == UNMOUNT_CUT)
		return UNMOUNT_CUT;
	if (known && unmount_table_has(device))
		(void)!umount2(mp->path, MNT_DETACH | UMOUNT_NOFOLLOW);
	mountpoint_restore(mp);
	return WEXITSTATUS(status);
}

int rights_split(const struct options *options, const struct fs *fs, const struct mountpoint *mp)
{
	sigset_t chld;
	pid_t pid;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	pid = fork();
	if (pid < 0)
		return -complain("start", strerror(errno));
	if (pid > 0)
		return keeper_run(pid, options, fs, mp);
	sigprocmask(SIG_UNBLOCK, &chld, NULL);
	if (rights_drop(options) == 0)
		return -1;
	complain("run_as", strerror(errno));
	_exit(1);
}
