/* Finds the holders that stand behind a blocked call, and whether they close a circle. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call_holders.h"
#include "comm.h"
#include "deadlock.h"
#include "holder.h"
#include "process.h"
#include "users.h"
#include "waits.h"
#include "watch.h"

#define ANCESTORS_MAX 64

/* The process that holds the locks of an `atlock run`; no other process of that name holds locks. */
#define RUN_NAME "atlock"

struct found {
	struct atlock *al;
	struct atlock_caller waiter; /* owner and who of the call */
	size_t count, cap;
	struct atlock_caller holders[];
};

/* Allocates no more than needed: mostly only a session is found, and many threads may do this at the same time. */
static struct found *found_new(struct atlock *al, size_t files)
{
	size_t cap = 1 + files + (al->watch != NULL && !watch_empty(al->watch) ? CALL_HOLDERS_MAX : 0);
	struct found *found;

	cap = cap < CALL_HOLDERS_MAX ? cap : CALL_HOLDERS_MAX;
	found = malloc(sizeof(*found) + cap * sizeof(found->holders[0]));
	if (found != NULL) {
		found->al = al;
		found->count = 0;
		found->cap = cap;
	}
	return found;
}

static void found_add(struct found *found, const struct atlock_caller *holder)
{
	if (found->count == found->cap ||
	    (strcmp(holder->owner, found->waiter.owner) == 0 && strcmp(holder->who, found->waiter.who) == 0))
		return;
	found->holders[found->count++] = *holder;
}

/* Adds the process as holder "@pid:", if it can have locks. */
static void found_process(struct found *found, const struct process *process)
{
	struct atlock_caller holder;

	if (found->al->watch == NULL || !watch_has(found->al->watch, process->pid, process->start))
		return;
	memset(&holder, 0, sizeof(holder));
	if (users_name(found->al->users, process->uid, holder.owner) < 0)
		return;
	(void)snprintf(holder.who, sizeof(holder.who), "pid:%jd", (intmax_t)process->pid);
	holder.bound_start = process->start;
	found_add(found, &holder);
}

static bool is_run(pid_t pid)
{
	char comm[16] = "";
	int fd = process_comm_open(pid);

	if (fd >= 0) {
		(void)process_comm(fd, comm);
		(void)close(fd);
	}
	return strcmp(comm, RUN_NAME) == 0;
}

/* Reads the parent of a process: 0, or 1 if it has none that is visible. */
static int parent_read(const struct process *child, struct process *out)
{
	if (child->parent <= 1 || process_read(child->parent, out) < 0)
		return 1;
	/* A parent is older than its child. A younger one has got the pid of a parent that is gone. */
	return out->pid != child->parent || out->start > child->start;
}

size_t atlock_lineage(pid_t tid, pid_t *out, size_t cap)
{
	struct process at;
	struct process parent;
	size_t n = 0;

	if (process_read(tid, &at) < 0)
		return 0;
	while (n < cap) {
		out[n++] = at.pid;
		if (parent_read(&at, &parent) != 0)
			break;
		at = parent;
	}
	return n;
}

/*
 * Adds each `atlock run` above this process: it releases its locks only when its command, this process or an ancestor of it,
 * ends.
 */
static void found_runs(struct found *found, const struct process *self)
{
	struct process child = *self;
	struct process parent;

	for (int i = 0; i < ANCESTORS_MAX && parent_read(&child, &parent) == 0; i++) {
		if (watch_has(found->al->watch, parent.pid, parent.start) && is_run(parent.pid))
			found_process(found, &parent);
		child = parent;
	}
}

/*
 * Adds the process of thread `tid`. Its own locks and files count only if it has a single thread: another thread could release
 * them. Processes that are not visible (another pid namespace, hidepid) do not count.
 */
static void found_self(struct found *found, pid_t tid, const struct atlock_caller *files, size_t n)
{
	bool bound = found->al->watch != NULL && !watch_empty(found->al->watch);
	struct process self;

	if ((n == 0 && !bound) || !found->al->sees_processes || process_read(tid, &self) < 0)
		return;
	if (self.threads == 1) {
		found_process(found, &self);
		for (size_t i = 0; i < n; i++)
			found_add(found, &files[i]);
	}
	if (bound)
		found_runs(found, &self);
}

struct check {
	uint64_t number;
	const struct found *found;
	bool resolve; /* a circle, instead of only looking for one */
};

/* 1 if there is a circle; 0 if there is none, it was resolved, or the wait has ended. */
static int check_in_txn(struct op *op)
{
	const struct check *check = op->arg;
	size_t count = check->found->count;
	struct actor behind[CALL_HOLDERS_MAX];
	struct record_lock record;
	struct ticket ticket;
	struct actor waiter;
	struct slice lock;
	int rc = waits_ticket(op, check->number, &lock, &ticket);

	if (rc == 0)
		rc = table_lock_get(op, lock, &record);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	waiter = actor_of(lock, &ticket.record.holder);
	for (size_t i = 0; i < count; i++)
		behind[i] = actor_of_caller(lock, op, &check->found->holders[i]);
	if (!check->resolve)
		return deadlock_look(op, lock, &record.grant, &waiter, behind, count);
	rc = deadlock_check_wait(op, lock, &record.grant, &waiter, behind, count);
	return rc < 0 ? rc : 0;
}

static int found_check(const struct found *found, uint64_t wait)
{
	struct check check = { .number = wait, .found = found };
	int rc = op_look(found->al, check_in_txn, &check, NULL);

	if (rc != 1)
		return rc;
	check.resolve = true;
	return op_call(found->al, NULL, METRICS_NONE, check_in_txn, &check, NULL);
}

/*
 * Two calls that close a circle between them may both get here. Each is entered before it searches, so the later search sees
 * both. The search needs no commit; only a circle that was found needs one.
 */
static int found_enter(struct found *found, uint64_t wait)
{
	int rc = found->count > 0 ? waits_stand(found->al->waits, wait, found->holders, found->count) : 1;

	if (rc != 0)
		return rc < 0 ? rc : 0;
	return found_check(found, wait);
}

/* `found` is not on the stack: there are many threads, and a stack keeps the pages it once used. */
int atlock_wait_behind(struct atlock *al, uint64_t wait, pid_t tid, uid_t uid, gid_t gid,
		       const struct atlock_caller *files, size_t n)
{
	struct atlock_caller session;
	struct atlock_name lock;
	struct found *found;
	int rc = 0;

	if (al == NULL || (files == NULL && n > 0))
		return -EINVAL;
	found = found_new(al, n);
	if (found == NULL)
		return -ENOMEM;
	if (waits_find(al->waits, wait, &lock, &found->waiter) == 0) {
		if (atlock_identify(al, tid, uid, gid, NULL, &session, NULL) == 0 &&
		    holder_kind(session.who) == HOLDER_SESSION)
			found_add(found, &session);
		found_self(found, tid, files, n);
		rc = found_enter(found, wait);
	}
	free(found);
	return rc;
}
