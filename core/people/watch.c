#include "watch.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process.h"

#define BUCKETS 1024
#define USER_BUCKETS 64
#define USER_PART 4 /* the part of all descriptors that one user's processes may take */

struct watched {
	LIST_ENTRY(watched) link;       /* of its bucket, while it is watched */
	TAILQ_ENTRY(watched) left_link; /* while it is left */
	pid_t pid;
	uint64_t start;
	int pidfd;         /* -1 while it is left */
	struct user *user; /* whose descriptor it is, while it is watched; NULL: no user's */
};

/* Freed with the set: there are no more than users. */
struct user {
	SLIST_ENTRY(user) link;
	uid_t uid;
	size_t count;
};

LIST_HEAD(watched_list, watched);
TAILQ_HEAD(left_list, watched);

struct watch {
	int epoll;
	pthread_mutex_t mutex;
	struct watched_list
		buckets[BUCKETS]; /* mutex; epoll events are taken under it too, so none outlives its entry */
	size_t count;             /* of watched entries; mutex, as all below */
	struct left_list left;
	size_t left_count;
	SLIST_HEAD(, user) users[USER_BUCKETS];
};

int watch_new(struct watch **out)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int err;

	if (watch == NULL)
		return -ENOMEM;
	watch->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (watch->epoll < 0) {
		err = -errno;
		free(watch);
		return err;
	}
	pthread_mutex_init(&watch->mutex, NULL);
	for (size_t i = 0; i < BUCKETS; i++)
		LIST_INIT(&watch->buckets[i]);
	TAILQ_INIT(&watch->left);
	for (size_t i = 0; i < USER_BUCKETS; i++)
		SLIST_INIT(&watch->users[i]);
	*out = watch;
	return 0;
}

/* Takes the entry out of its bucket. Caller holds the mutex. */
static void entry_remove(struct watch *watch, struct watched *entry)
{
	LIST_REMOVE(entry, link);
	watch->count--;
	if (entry->user != NULL)
		entry->user->count--;
	entry->user = NULL;
	/* close(2) alone does not remove it if a child forked meanwhile still has the descriptor. */
	epoll_ctl(watch->epoll, EPOLL_CTL_DEL, entry->pidfd, NULL);
	close(entry->pidfd);
	entry->pidfd = -1;
}

/* Caller holds the mutex. */
static void entry_leave(struct watch *watch, struct watched *entry)
{
	TAILQ_INSERT_TAIL(&watch->left, entry, left_link);
	watch->left_count++;
}

static void entry_unleave(struct watch *watch, struct watched *entry)
{
	TAILQ_REMOVE(&watch->left, entry, left_link);
	watch->left_count--;
}

void watch_free(struct watch *watch)
{
	if (watch == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		struct watched *entry;
		struct watched *next;

		LIST_FOREACH_SAFE(entry, &watch->buckets[i], link, next) {
			entry_remove(watch, entry);
			free(entry);
		}
	}
	while (!TAILQ_EMPTY(&watch->left)) {
		struct watched *entry = TAILQ_FIRST(&watch->left);

		entry_unleave(watch, entry);
		free(entry);
	}
	for (size_t i = 0; i < USER_BUCKETS; i++)
		while (!SLIST_EMPTY(&watch->users[i])) {
			struct user *user = SLIST_FIRST(&watch->users[i]);

			SLIST_REMOVE_HEAD(&watch->users[i], link);
			free(user);
		}
	close(watch->epoll);
	pthread_mutex_destroy(&watch->mutex);
	free(watch);
}

static struct watched_list *bucket_of(struct watch *watch, pid_t pid)
{
	return &watch->buckets[(unsigned)pid % BUCKETS];
}

/* Caller holds the mutex. */
static struct watched *watched_find(struct watch *watch, pid_t pid, uint64_t start)
{
	struct watched *entry;

	LIST_FOREACH(entry, bucket_of(watch, pid), link)
		if (entry->pid == pid && entry->start == start)
			return entry;
	return NULL;
}

/* Caller holds the mutex. */
static int entry_watch(struct watch *watch, struct watched *entry)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = entry };
	int pidfd = process_pidfd(entry->pid, entry->start);
	int err;

	if (pidfd < 0)
		return pidfd;
	if (epoll_ctl(watch->epoll, EPOLL_CTL_ADD, pidfd, &event) < 0) {
		err = -errno;
		close(pidfd);
		return err;
	}
	entry->pidfd = pidfd;
	return 0;
}

/* Adds the entry as watched, or as left. Caller holds the mutex. */
static void entry_enter(struct watch *watch, struct watched *entry, bool left)
{
	if (left) {
		entry_leave(watch, entry);
	} else {
		LIST_INSERT_HEAD(bucket_of(watch, entry->pid), entry, link);
		watch->count++;
	}
}

/* The user's count, if one more is within the user's share. Caller holds the mutex. */
static int user_take(struct watch *watch, uid_t uid, struct user **out)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	struct user *user;

	*out = NULL;
	if (uid == WATCH_ANY)
		return 0;
	SLIST_FOREACH(user, &watch->users[uid % USER_BUCKETS], link)
		if (user->uid == uid)
			break;
	if (user == NULL) {
		user = calloc(1, sizeof(*user));
		if (user == NULL)
			return -ENOMEM;
		user->uid = uid;
		SLIST_INSERT_HEAD(&watch->users[uid % USER_BUCKETS], user, link);
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && user->count >= limit.rlim_cur / USER_PART)
		return -EDQUOT;
	*out = user;
	return 0;
}

/* With `bound`, a process that cannot be watched is added as left. Caller holds the mutex. */
static int watched_make(struct watch *watch, pid_t pid, uint64_t start, uid_t uid, bool bound)
{
	struct watched *entry;
	struct user *user;
	int err = user_take(watch, uid, &user);

	if (err < 0)
		return err;
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL)
		return -ENOMEM;
	*entry = (struct watched){ .pid = pid, .start = start, .pidfd = -1 };
	err = entry_watch(watch, entry);
	if (err == 0 && user != NULL) {
		entry->user = user;
		user->count++;
	}
	if (err < 0 && !bound)
		free(entry);
	else
		entry_enter(watch, entry, err < 0);
	return err;
}

static int entry_add(struct watch *watch, pid_t pid, uint64_t start, uid_t uid, bool bound)
{
	int err = 0;

	pthread_mutex_lock(&watch->mutex);
	if (watched_find(watch, pid, start) == NULL)
		err = watched_make(watch, pid, start, uid, bound);
	pthread_mutex_unlock(&watch->mutex);
	return err;
}

int watch_add(struct watch *watch, pid_t pid, uint64_t start, uid_t uid)
{
	return entry_add(watch, pid, start, uid, false);
}

int watch_bind(struct watch *watch, pid_t pid, uint64_t start)
{
	return entry_add(watch, pid, start, WATCH_ANY, true);
}

bool watch_has(struct watch *watch, pid_t pid, uint64_t start)
{
	bool has;

	pthread_mutex_lock(&watch->mutex);
	has = watched_find(watch, pid, start) != NULL;
	pthread_mutex_unlock(&watch->mutex);
	return has;
}

bool watch_empty(struct watch *watch)
{
	bool empty;

	pthread_mutex_lock(&watch->mutex);
	empty = watch->count == 0;
	pthread_mutex_unlock(&watch->mutex);
	return empty;
}

int watch_fd(const struct watch *watch)
{
	return watch->epoll;
}

int watch_reap(struct watch *watch, pid_t *pid, uint64_t *start)
{
	struct epoll_event event;
	int outcome = 1;

	pthread_mutex_lock(&watch->mutex);
	if (epoll_wait(watch->epoll, &event, 1, 0) > 0) {
		struct watched *entry = event.data.ptr;

		*pid = entry->pid;
		*start = entry->start;
		entry_remove(watch, entry);
		entry_leave(watch, entry);
		outcome = 0;
	}
	pthread_mutex_unlock(&watch->mutex);
	return outcome;
}

int watch_left(struct watch *watch, pid_t *pid, uint64_t *start)
{
	struct watched *entry;
	size_t turns;
	int err = 0;

	pthread_mutex_lock(&watch->mutex);
	for (turns = watch->left_count; turns > 0 && err != -ESRCH; turns--) {
		entry = TAILQ_FIRST(&watch->left);
		entry_unleave(watch, entry);
		err = entry_watch(watch, entry);
		entry_enter(watch, entry, err < 0);
		*pid = entry->pid;
		*start = entry->start;
	}
	pthread_mutex_unlock(&watch->mutex);
	return err != -ESRCH;
}

/* Searches from the end, where watch_reap() and watch_left() put the entries that they return. */
void watch_forget(struct watch *watch, pid_t pid, uint64_t start)
{
	struct watched *entry;

	pthread_mutex_lock(&watch->mutex);
	TAILQ_FOREACH_REVERSE(entry, &watch->left, left_list, left_link)
		if (entry->pid == pid && entry->start == start)
			break;
	if (entry != NULL) {
		entry_unleave(watch, entry);
		free(entry);
	}
	pthread_mutex_unlock(&watch->mutex);
}

size_t watch_left_count(struct watch *watch)
{
	size_t count;

	pthread_mutex_lock(&watch->mutex);
	count = watch->left_count;
	pthread_mutex_unlock(&watch->mutex);
	return count;
}
