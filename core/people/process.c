#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define STAT_MAX 1024 /* /proc/<pid>/stat: 52 numbers and a name of 64 bytes at most */
#define WALK_TRIES 8  /* each retry needs an ancestor that died during the walk */
#define WALK_DEPTH 4096

/* The error for a process that has exited depends on when it exited. */
static int gone(int err)
{
	return err == ENOENT ? -ESRCH : -err;
}

int process_proc_is_ours(void)
{
	char self[32];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	if (n < 0)
		return -ENXIO;
	self[n] = '\0';
	return strtol(self, NULL, 10) == getpid() ? 0 : -ENXIO;
}

int process_parse_stat(const char *text, pid_t *parent, uint64_t *start)
{
	/* The process chooses the name in parentheses, which may contain any bytes: the last ')' ends it. */
	const char *rest = strrchr(text, ')');
	int ppid;

	if (rest == NULL)
		return -EBADMSG;
	if (sscanf(rest + 1, " %*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
		   &ppid, start) != 2)
		return -EBADMSG;
	*parent = ppid;
	return 0;
}

static int stat_read(int dir, struct process *out)
{
	char text[STAT_MAX];
	ssize_t n;
	int fd = openat(dir, "stat", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return gone(errno);
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		n = gone(errno);
	close(fd);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	return process_parse_stat(text, &out->parent, &out->start);
}

/* "	4711	17": a pid in each namespace from ours inwards. */
static void numbers_read(const char *text, int *count, pid_t *last)
{
	char *end;

	for (*count = 0;; text = end) {
		long number = strtol(text, &end, 10);

		if (end == text)
			return;
		*last = (pid_t)number;
		++*count;
	}
}

/* One line of /proc/<pid>/status. Newlines in the name line are escaped, so a name cannot forge another line. */
static void status_line(const char *line, struct process *out)
{
	int pid;
	int inner;
	unsigned uid;
	unsigned euid;

	if (sscanf(line, "Tgid: %d", &pid) == 1) {
		out->pid = pid;
	} else if (sscanf(line, "Uid: %u %u", &uid, &euid) == 2) {
		out->uid = uid;
		out->euid = euid;
	} else if (strncmp(line, "NSpid:", 6) == 0) {
		numbers_read(line + 6, &out->depth, &out->inner);
	} else if (sscanf(line, "Threads: %d", &inner) == 1) {
		out->threads = inner;
	}
}

static int status_read(int dir, struct process *out)
{
	char *line = NULL;
	size_t size = 0;
	FILE *file;
	int fd = openat(dir, "status", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return gone(errno);
	file = fdopen(fd, "r");
	if (file == NULL) {
		close(fd);
		return -ENOMEM;
	}
	while (getline(&line, &size, file) > 0)
		status_line(line, out);
	free(line);
	fclose(file);
	return out->pid > 0 ? 0 : -ESRCH;
}

/*
 * An open /proc directory stays bound to one process: once that has exited, reads below it fail even if the pid is
 * reused.
 */
static int task_read(pid_t tid, struct process *out)
{
	char path[32];
	int dir;
	int err;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "/proc/%d", tid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return gone(errno);
	err = status_read(dir, out);
	if (err == 0)
		err = stat_read(dir, out);
	close(dir);
	return err;
}

int process_read(pid_t tid, struct process *out)
{
	int err;

	if (tid <= 0)
		return -ENXIO;
	err = process_proc_is_ours();
	if (err == 0)
		err = task_read(tid, out);
	if (err == 0 && out->pid != tid)
		err = task_read(out->pid, out); /* a thread has a start time of its own */
	return err;
}

int process_start(pid_t pid, uint64_t *out)
{
	struct process process = { .start = 0 };
	char path[32];
	int dir;
	int err = process_proc_is_ours();

	if (err < 0)
		return err;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return gone(errno);
	err = stat_read(dir, &process);
	close(dir);
	if (err == 0)
		*out = process.start;
	return err;
}

int process_session(pid_t tid, pid_t *out)
{
	pid_t session;

	if (tid <= 0)
		return -ENXIO; /* getsid(0) would be our own session */
	session = getsid(tid);
	if (session < 0)
		return -errno;
	if (session == 0)
		return -ENXIO;
	*out = session;
	return 0;
}

int process_comm_open(pid_t tid)
{
	char path[32];
	int fd;

	if (tid <= 0)
		return -ENXIO;
	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? gone(errno) : fd;
}

bool process_has_option(pid_t tid, char letter, const char *name)
{
	char words[4096] = "";
	char path[40];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, words, sizeof(words) - 1);
	close(fd);
	for (const char *at = words; n > 0 && at < words + n && strcmp(at, "--") != 0; at += strlen(at) + 1)
		if (strcmp(at, name) == 0 || (at[0] == '-' && at[1] != '-' && strchr(at + 1, letter) != NULL))
			return true;
	return false;
}

int process_comm(int fd, char out[16])
{
	ssize_t n = pread(fd, out, 16, 0);

	if (n <= 0)
		return n < 0 ? gone(errno) : -ESRCH;
	out[n - 1] = '\0'; /* the newline */
	return 0;
}

/*
 * Of ancestors in the same depth, that is in the same pid namespace: children are made in the namespace of their parent or in
 * one below it, and orphans are given to a process of their own.
 */
static bool process_is(const struct process *process, pid_t pid, int depth)
{
	return depth == 0 ? process->pid == pid : process->depth == depth && process->inner == pid;
}

/* -ESRCH if a process died during the walk, so that its parents are unknown. `depth` 0: `pid` is one of ours. */
static int ancestor_walk(const struct process *process, pid_t pid, int depth, struct process *out)
{
	struct process child = *process;
	int err;

	for (int steps = 0; steps < WALK_DEPTH; steps++) {
		if (process_is(&child, pid, depth)) {
			*out = child;
			return 0;
		}
		if (child.parent == 0)
			return 1;
		err = process_read(child.parent, out);
		if (err < 0)
			return err;
		if (out->pid != child.parent || out->start > child.start)
			return -ESRCH; /* a parent is never younger than its child: the parent's pid was reused */
		child = *out;
	}
	return -ELOOP;
}

static int ancestor_find(const struct process *process, pid_t pid, int depth, struct process *out)
{
	struct process now = *process;
	int err = ancestor_walk(&now, pid, depth, out);

	for (int i = 1; err == -ESRCH && i < WALK_TRIES; i++) {
		err = process_read(process->pid, &now);
		if (err == 0 && now.start != process->start)
			return -ESRCH;
		if (err == 0)
			err = ancestor_walk(&now, pid, depth, out);
	}
	return err;
}

int process_ancestor(const struct process *process, pid_t pid, struct process *out)
{
	return ancestor_find(process, pid, 0, out);
}

int process_inner_ancestor(const struct process *process, pid_t inner, struct process *out)
{
	return ancestor_find(process, inner, process->depth, out);
}

/* 0 if the process behind `fd`, opened by its pid, is still running and started at `start`. */
static int pidfd_verify(int fd, pid_t pid, uint64_t start)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct process now;
	int err = process_read(pid, &now);

	if (err < 0)
		return err;
	if (now.pid != pid || now.start != start)
		return -ESRCH;
	return poll(&ready, 1, 0) == 0 ? 0 : -ESRCH; /* a zombie keeps its start time, but has ended */
}

int process_pidfd(pid_t pid, uint64_t start)
{
	int fd;
	int err;

	if (pid <= 0)
		return -ESRCH;
	fd = pidfd_open(pid, 0);
	if (fd < 0) /* EINVAL, ENOENT: the pid now belongs to a thread */
		return errno == EINVAL || errno == ENOENT ? -ESRCH : -errno;
	/*
	 * Verify only after opening: if the pid still belongs to the wanted process now, it did when the descriptor was
	 * opened, so the descriptor refers to that process.
	 */
	err = pidfd_verify(fd, pid, start);
	if (err < 0) {
		close(fd);
		return err;
	}
	return fd;
}

int process_boot_tag(uint32_t *out)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	int n;

	if (file == NULL)
		return -errno;
	n = fscanf(file, "%8" SCNx32, out); /* a random UUID: its first 32 bits are as good as a hash */
	fclose(file);
	if (n != 1)
		return -EBADMSG;
	if (*out == 0)
		*out = 1;
	return 0;
}
