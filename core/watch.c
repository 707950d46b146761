#include "watch.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "process.h"

#define BUCKETS 1024

struct watched {
	LIST_ENTRY(watched) link;
	pid_t pid;
	uint64_t start;
	int pidfd;
};

LIST_HEAD(watched_list, watched);

struct watch {
	int epoll;
	pthread_mutex_t mutex;
	struct watched_list
		buckets[BUCKETS]; /* mutex; no event is taken without it either, so none outlives its entry */
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
	*out = watch;
	return 0;
}

/* Caller holds the mutex. */
static void entry_drop(struct watch *watch, struct watched *entry)
{
	LIST_REMOVE(entry, link);
	/* Closing alone would not do it if a child that was forked meanwhile still has the descriptor. */
	epoll_ctl(watch->epoll, EPOLL_CTL_DEL, entry->pidfd, NULL);
	close(entry->pidfd);
	free(entry);
}

void watch_free(struct watch *watch)
{
	if (watch == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		struct watched *entry;
		struct watched *next;

		LIST_FOREACH_SAFE(entry, &watch->buckets[i], link, next)
			entry_drop(watch, entry);
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
static struct watched *entry_find(struct watch *watch, pid_t pid, uint64_t start)
{
	struct watched *entry;

	LIST_FOREACH(entry, bucket_of(watch, pid), link)
		if (entry->pid == pid && entry->start == start)
			return entry;
	return NULL;
}

/* Caller holds the mutex. */
static int entry_make(struct watch *watch, pid_t pid, uint64_t start)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct watched *entry = calloc(1, sizeof(*entry));
	int err;

	if (entry == NULL)
		return -ENOMEM;
	entry->pid = pid;
	entry->start = start;
	entry->pidfd = process_pidfd(pid, start);
	if (entry->pidfd < 0) {
		err = entry->pidfd;
		goto fail;
	}
	event.data.ptr = entry;
	if (epoll_ctl(watch->epoll, EPOLL_CTL_ADD, entry->pidfd, &event) < 0) {
		err = -errno;
		close(entry->pidfd);
		goto fail;
	}
	LIST_INSERT_HEAD(bucket_of(watch, pid), entry, link);
	return 0;
fail:
	free(entry);
	return err;
}

int watch_add(struct watch *watch, pid_t pid, uint64_t start)
{
	int err = 0;

	pthread_mutex_lock(&watch->mutex);
	if (entry_find(watch, pid, start) == NULL)
		err = entry_make(watch, pid, start);
	pthread_mutex_unlock(&watch->mutex);
	return err;
}

int watch_remove(struct watch *watch, pid_t pid, uint64_t start)
{
	struct watched *entry;
	int outcome = 1;

	pthread_mutex_lock(&watch->mutex);
	entry = entry_find(watch, pid, start);
	if (entry != NULL) {
		entry_drop(watch, entry);
		outcome = 0;
	}
	pthread_mutex_unlock(&watch->mutex);
	return outcome;
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
		entry_drop(watch, entry);
		outcome = 0;
	}
	pthread_mutex_unlock(&watch->mutex);
	return outcome;
}
