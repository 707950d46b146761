#include "publish.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"

#define BATCH 64        /* events that are read at a time */
#define AGAIN_SECONDS 1 /* after a failure */

struct message {
	uint64_t seq;
	enum atlock_event_type type;
	char *text;
	size_t len;
};

struct publisher {
	pthread_t thread;
	uint64_t next; /* the thread's: the next event to publish */
	struct log_limit log_failed;

	pthread_mutex_t mutex; /* a leaf: protects the rest */
	pthread_cond_t told;
	bool awake;
	bool stop;
};

struct batch {
	struct message messages[BATCH];
	size_t count;
};

static int message_take(void *arg, const struct atlock_event *event)
{
	struct batch *batch = arg;
	struct message *message = &batch->messages[batch->count];

	*message = (struct message){ event->seq, event->type, malloc(event->line_len), event->line_len };
	if (message->text == NULL)
		return 1;
	memcpy(message->text, event->line, event->line_len);
	return ++batch->count == BATCH;
}

/* After a rollback of the engine, or in another chain, the log may end before what was published last. */
static int position(struct atlock *al, struct publisher *publisher)
{
	struct atlock_status status;
	int rc = atlock_status(al, &status);

	if (rc < 0)
		return rc;
	if (publisher->next > status.events + 1)
		publisher->next = status.events + 1;
	if (status.events > publisher->next + PUBLISH_BACKLOG) {
		log_write(al, ATLOCK_LOG_WARNING, "%" PRIu64 " events were not published: the store was away too long",
			  status.events - PUBLISH_BACKLOG - publisher->next);
		publisher->next = status.events - PUBLISH_BACKLOG;
	}
	return 0;
}

/* Publishes what there is: 0, or a negative errno. */
static int publish_new(struct atlock *al, struct publisher *publisher)
{
	struct batch batch = { .count = BATCH };
	int rc = position(al, publisher);

	while (rc == 0 && batch.count == BATCH) {
		batch.count = 0;
		rc = atlock_events(al, publisher->next, message_take, &batch);
		for (size_t i = 0; i < batch.count; i++) {
			const struct message *message = &batch.messages[i];

			if (rc == 0)
				rc = store_publish(al->store, atlock_event_name(message->type),
						   (struct slice){ message->text, message->len });
			if (rc == 0)
				publisher->next = message->seq + 1;
			free(message->text);
		}
	}
	return rc;
}

/* Waits to be woken, after a failure for a second at most. Returns whether to end. */
static bool publish_sleep(struct publisher *publisher, bool failed)
{
	struct timespec until;
	bool stop;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += AGAIN_SECONDS;
	pthread_mutex_lock(&publisher->mutex);
	while (rc == 0 && !publisher->stop && (failed || !publisher->awake))
		rc = failed ? pthread_cond_timedwait(&publisher->told, &publisher->mutex, &until)
			    : pthread_cond_wait(&publisher->told, &publisher->mutex);
	publisher->awake = false;
	stop = publisher->stop;
	pthread_mutex_unlock(&publisher->mutex);
	return stop;
}

static void *publish_main(void *arg)
{
	struct atlock *al = arg;
	struct publisher *publisher = al->publisher;
	bool stop = false;

	for (;;) {
		int rc = publish_new(al, publisher);

		if (rc < 0 && !stop)
			log_limited(al, &publisher->log_failed, ATLOCK_LOG_WARNING, "events cannot be published: %s",
				    strerror(-rc));
		if (stop)
			return NULL;
		stop = publish_sleep(publisher, rc < 0);
	}
}

int publish_start(struct atlock *al)
{
	struct publisher *publisher;
	struct atlock_status status;
	pthread_condattr_t attr;
	sigset_t all;
	sigset_t old;
	int rc;

	if (store_publish(al->store, NULL, (struct slice){ NULL, 0 }) != 0)
		return 0;
	publisher = calloc(1, sizeof(*publisher));
	if (publisher == NULL)
		return -ENOMEM;
	publisher->next = atlock_status(al, &status) < 0 ? 1 : status.events;
	pthread_mutex_init(&publisher->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&publisher->told, &attr);
	pthread_condattr_destroy(&attr);
	al->publisher = publisher;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&publisher->thread, NULL, publish_main, al);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc < 0) {
		al->publisher = NULL;
		free(publisher);
	}
	return rc;
}

static void publish_tell(struct publisher *publisher, bool stop)
{
	pthread_mutex_lock(&publisher->mutex);
	publisher->awake = true;
	publisher->stop = publisher->stop || stop;
	pthread_cond_signal(&publisher->told);
	pthread_mutex_unlock(&publisher->mutex);
}

void publish_wake(struct atlock *al)
{
	if (al->publisher != NULL)
		publish_tell(al->publisher, false);
}

void publish_stop(struct atlock *al)
{
	struct publisher *publisher = al->publisher;

	if (publisher == NULL)
		return;
	publish_tell(publisher, true);
	(void)pthread_join(publisher->thread, NULL);
	al->publisher = NULL;
	pthread_mutex_destroy(&publisher->mutex);
	pthread_cond_destroy(&publisher->told);
	free(publisher);
}
