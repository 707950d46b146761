/*
 * What the kernel knows of a process: which one a thread belongs to, its session, its parents, and a descriptor that
 * reports its exit. The pid and the start time together identify a process: a reused pid has another start time.
 *
 * All functions but process_session() read /proc, which takes tens of microseconds: too much for every request.
 *
 * Errors are negative errnos: -ESRCH no such process (any more), -ENXIO not visible from this pid namespace. Any thread
 * may call.
 */
#ifndef CORE_PROCESS_H
#define CORE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t pid;    /* the thread group */
	pid_t parent; /* 0: none, or none visible from here */
	uid_t uid;    /* real */
	uid_t euid;
	uint64_t start; /* clock ticks since boot */
	int threads;
	int depth;   /* of its pid namespace: 1 is ours; in one below, it knows other pids than we do */
	pid_t inner; /* its pid there */
};

/* -ENXIO for a /proc of another pid namespace, which would describe other processes under the same numbers. */
int process_proc_is_ours(void);

/* The process that thread `tid` belongs to. */
int process_read(pid_t tid, struct process *out);

/* The start time of the process with this pid, which may be a zombie. */
int process_start(pid_t pid, uint64_t *out);

/* Reads the parent's pid and the start time from the text of /proc/<pid>/stat. -EBADMSG if it is malformed. */
int process_parse_stat(const char *text, pid_t *parent, uint64_t *start);

/* The session of thread `tid`; no /proc. -ENXIO also for a session whose leader was outside our pid namespace. */
int process_session(pid_t tid, pid_t *out);

/* Whether one of the options of the process has this letter, as in "rm -rf", or this name, as in "--force". False if it cannot be seen. */
bool process_has_option(pid_t tid, char letter, const char *name);

/*
 * Opens a descriptor, which the caller closes, to read the name of thread `tid`: at most 15 bytes, which may be any. It
 * can be read repeatedly, and reading gives -ESRCH once the thread has exited. -ESRCH, -ENXIO.
 */
int process_comm_open(pid_t tid);
int process_comm(int fd, char out[16]);

/* Looks for `pid` among `process` and its ancestors: 0 and fills `out`, or 1 if it is none of them. */
int process_ancestor(const struct process *process, pid_t pid, struct process *out);

/* The same for a pid as `process` itself knows it, in its own pid namespace. */
int process_inner_ancestor(const struct process *process, pid_t inner, struct process *out);

/*
 * A pidfd of the process with this pid and start time, if it is still running; the caller closes it. It becomes
 * readable when the process exits. -ESRCH if it has exited, even if the pid is reused.
 */
int process_pidfd(pid_t pid, uint64_t start);

/* A number that differs after a reboot, when pids and start times begin again. Never 0. */
int process_boot_tag(uint32_t *out);

#endif
