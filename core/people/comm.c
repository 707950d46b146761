#include "comm.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "process.h"

struct slot {
	pthread_mutex_t mutex;
	pid_t tid; /* mutex, as all below */
	int fd;    /* -1: none */
	struct session_id session;
};

struct comms {
	struct slot slots[COMM_SLOTS];
};

int comms_new(struct comms **out)
{
	struct comms *comms = calloc(1, sizeof(*comms));

	if (comms == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < COMM_SLOTS; i++) {
		pthread_mutex_init(&comms->slots[i].mutex, NULL);
		comms->slots[i].fd = -1;
	}
	*out = comms;
	return 0;
}

static void slot_close(struct slot *slot)
{
	if (slot->fd >= 0)
		close(slot->fd);
	slot->fd = -1;
}

void comms_free(struct comms *comms)
{
	if (comms == NULL)
		return;
	for (size_t i = 0; i < COMM_SLOTS; i++) {
		slot_close(&comms->slots[i]);
		pthread_mutex_destroy(&comms->slots[i].mutex);
	}
	free(comms);
}

/* A failed read means that the process of the open file has exited; another process may have its number now. */
static int slot_read(struct slot *slot, pid_t tid, char out[16])
{
	if (slot->fd >= 0 && slot->tid == tid && process_comm(slot->fd, out) == 0)
		return 0;
	slot_close(slot);
	slot->session = (struct session_id){ 0 };
	slot->tid = tid;
	slot->fd = process_comm_open(tid);
	return slot->fd < 0 ? slot->fd : process_comm(slot->fd, out);
}

int comms_read(struct comms *comms, pid_t tid, char out[16], struct session_id *session)
{
	struct slot *slot = &comms->slots[(unsigned int)tid % COMM_SLOTS];
	int err;

	pthread_mutex_lock(&slot->mutex);
	err = slot_read(slot, tid, out);
	*session = err == 0 ? slot->session : (struct session_id){ 0 };
	pthread_mutex_unlock(&slot->mutex);
	return err;
}

void comms_remember(struct comms *comms, pid_t tid, const struct session_id *session)
{
	struct slot *slot = &comms->slots[(unsigned int)tid % COMM_SLOTS];

	pthread_mutex_lock(&slot->mutex);
	if (slot->tid == tid && slot->fd >= 0)
		slot->session = *session;
	pthread_mutex_unlock(&slot->mutex);
}
