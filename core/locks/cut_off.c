#include "cut_off.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "holder.h"
#include "holder_index.h"
#include "log.h"
#include "process.h"

/* A lock whose holder was told, or is to be. */
struct told {
	uint64_t token;
	uint64_t start;
	pid_t pid; /* 0: no process of that holder is known here */
};

/* The engine calls one at a time. */
struct cut_off {
	uint32_t boot; /* the life that the rest is of */
	struct told *list;
	size_t count;
	size_t told; /* of these, how many were told */
};

int cut_off_new(struct cut_off **out)
{
	*out = calloc(1, sizeof(**out));
	return *out == NULL ? -ENOMEM : 0;
}

void cut_off_free(struct cut_off *cut_off)
{
	if (cut_off != NULL)
		free(cut_off->list);
	free(cut_off);
}

static bool is_known(const struct cut_off *cut_off, uint64_t token)
{
	for (size_t i = 0; i < cut_off->count; i++)
		if (cut_off->list[i].token == token)
			return true;
	return false;
}

static int find_lock(struct op *op, void *arg, struct slice lock, const struct record_lock *record)
{
	const struct record_holder *holder = &record->grant.holder;
	struct cut_off *cut_off = arg;
	char who[ATLOCK_WHO_MAX + 1];
	struct told *list;
	pid_t pid = 0;

	(void)lock;
	if (holder->boot != op->al->boot || !table_holder_is_bound(holder) || is_known(cut_off, record->grant.token))
		return 0;
	list = reallocarray(cut_off->list, cut_off->count + 1, sizeof(*list));
	if (list == NULL)
		return -ENOMEM;
	cut_off->list = list;
	memcpy(who, holder->who.data, holder->who.len);
	who[holder->who.len] = '\0';
	if (!holder_pid(who, &pid))
		pid = 0;
	list[cut_off->count++] = (struct told){ .token = record->grant.token, .start = holder->start, .pid = pid };
	return 0;
}

static int find_in_txn(struct op *op)
{
	const struct holder_index_filter all = { .repo = { NULL, 0 } };
	struct cut_off *cut_off = op->arg;

	if (cut_off->boot != op->al->boot)
		cut_off->count = cut_off->told = 0;
	cut_off->boot = op->al->boot;
	return holder_index_walk(op, &all, find_lock, cut_off);
}

/* The process may have ended, or be another user's. */
static bool signal_process(const struct told *told, int number)
{
	int fd = told->pid != 0 && told->pid != getpid() ? process_pidfd(told->pid, told->start) : -ESRCH;
	bool done = fd >= 0 && pidfd_send_signal(fd, number, NULL, 0) == 0;

	if (fd >= 0)
		close(fd);
	return done;
}

static int signal_of(struct atlock *al)
{
	static const int numbers[] = {
		[ATLOCK_LOST_TERM] = SIGTERM,
		[ATLOCK_LOST_KILL] = SIGKILL,
		[ATLOCK_LOST_NONE] = 0,
	};

	return numbers[state_options(al)->lost_signal];
}

void cut_off_tell(void *arg)
{
	struct atlock *al = arg;
	struct cut_off *cut_off = al->cut_off;
	int number = signal_of(al);
	size_t locks = 0;
	size_t processes = 0;
	int rc = op_peek(al, find_in_txn, cut_off);

	for (; cut_off->told < cut_off->count; cut_off->told++) {
		locks++;
		processes += number != 0 && signal_process(&cut_off->list[cut_off->told], number);
	}
	if (al->on_cut != NULL && number != 0)
		processes += al->on_cut(al->change_arg, number);
	if (rc < 0)
		log_write(al, ATLOCK_LOG_ERROR, "the locks of this host could not be looked for: %s", strerror(-rc));
	if (locks > 0 || processes > 0)
		log_write(
			al, ATLOCK_LOG_WARNING,
			"the engine of the store was out of reach for most of host_timeout: %zu locks of processes, sessions "
			"and open files of this host are over, %zu processes were signalled",
			locks, processes);
}
