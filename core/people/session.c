#include "session.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "process.h"

struct slot {
	pthread_mutex_t mutex;
	pid_t sid; /* mutex, as all below; 0: free */
	uint64_t start;
	int pidfd; /* of the leader; -1: it has exited, or no descriptor was left */
};

struct sessions {
	struct slot slots[SESSION_SLOTS];
};

int sessions_new(struct sessions **out)
{
	struct sessions *sessions = calloc(1, sizeof(*sessions));

	if (sessions == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < SESSION_SLOTS; i++) {
		pthread_mutex_init(&sessions->slots[i].mutex, NULL);
		sessions->slots[i].pidfd = -1;
	}
	*out = sessions;
	return 0;
}

static void slot_close(struct slot *slot)
{
	if (slot->pidfd >= 0)
		close(slot->pidfd);
	slot->pidfd = -1;
}

void sessions_free(struct sessions *sessions)
{
	if (sessions == NULL)
		return;
	for (size_t i = 0; i < SESSION_SLOTS; i++) {
		slot_close(&sessions->slots[i]);
		pthread_mutex_destroy(&sessions->slots[i].mutex);
	}
	free(sessions);
}

/* True for a zombie: it still has the number. */
static bool has_number(int pidfd)
{
	return pidfd >= 0 && (pidfd_send_signal(pidfd, 0, NULL, 0) == 0 || errno == EPERM);
}

/*
 * Looks the leader up. The start time from /proc belongs to the process of the descriptor if that still has the number
 * afterwards.
 */
static void slot_load(struct slot *slot, pid_t sid)
{
	int pidfd = pidfd_open(sid, 0);
	uint64_t start = 0;
	int err = process_start(sid, &start);

	slot_close(slot);
	if (err == 0 || slot->sid != sid)
		slot->start = err == 0 ? start : 0;
	slot->sid = sid;
	slot->pidfd = pidfd;
	if (err < 0 || !has_number(pidfd))
		slot_close(slot);
}

uint64_t sessions_start(struct sessions *sessions, pid_t sid)
{
	struct slot *slot = &sessions->slots[(unsigned int)sid % SESSION_SLOTS];
	uint64_t start;

	pthread_mutex_lock(&slot->mutex);
	if (slot->sid != sid || !has_number(slot->pidfd))
		slot_load(slot, sid);
	start = slot->start;
	pthread_mutex_unlock(&slot->mutex);
	return start;
}
