/*
 * What the kernel says of a process: which one a thread belongs to, its session, its parents, and a handle that tells
 * when it is gone. A process is its pid and its start time together: a recycled pid has another start.
 *
 * Everything but process_session() reads /proc, which takes tens of microseconds: not for every request.
 *
 * Errors are negative errnos: -ESRCH no such process (any more), -ENXIO what was asked cannot be seen from this pid
 * namespace. Any thread may call.
 */
#ifndef CORE_PROCESS_H
#define CORE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t pid;    /* the thread group */
	pid_t parent; /* 0: none, or none that is visible from here */
	uid_t uid;    /* real */
	uid_t euid;
	uint64_t start; /* clock ticks since boot */
	int threads;
	bool nested; /* lives in a pid namespace below ours, so the pids it knows are not the ones we know */
};

/* -ENXIO for a /proc of another pid namespace, which would answer about other processes under the same numbers. */
int process_proc_is_ours(void);

/* The process that thread `tid` belongs to. */
int process_read(pid_t tid, struct process *out);

/* When the process with this pid started, a zombie too. */
int process_start(pid_t pid, uint64_t *out);

/* Takes the parent's pid and the start time from the text of /proc/<pid>/stat. -EBADMSG if it is not that. */
int process_parse_stat(const char *text, pid_t *parent, uint64_t *start);

/* The session of thread `tid`; no /proc. -ENXIO also for a session whose leader was outside our pid namespace. */
int process_session(pid_t tid, pid_t *out);

/*
 * A descriptor, which the caller closes, to read what thread `tid` is called: at most 15 bytes, whatever it likes to be called.
 * It can be read again and again, and gives -ESRCH once the thread is gone. -ESRCH, -ENXIO.
 */
int process_comm_open(pid_t tid);
int process_comm(int fd, char out[16]);

/* Looks for `pid` among `process` itself and its ancestors: 0 and what it is, or 1 if it is none of them. */
int process_ancestor(const struct process *process, pid_t pid, struct process *out);

/*
 * A pidfd of the process that has this pid and this start time and is still running; the caller closes it. It becomes
 * readable when the process is gone. -ESRCH if it is, whoever has the pid now.
 */
int process_pidfd(pid_t pid, uint64_t start);

/* A number that is another one after a reboot, when pids and start times begin again. Never 0. */
int process_boot_tag(uint32_t *out);

#endif
