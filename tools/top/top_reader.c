#include "top_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "moment.h"
#include "reading_thread.h"

void top_gone_print(int err, char *out, size_t len)
{
	if (err == -ENOTCONN || err == -ECONNABORTED)
		(void)snprintf(out, len, "the daemon is dead");
	else if (err == -ENOENT)
		(void)snprintf(out, len, "no atlockfs is mounted there");
	else
		(void)snprintf(out, len, "it cannot be read: %s", strerror(-err));
}

/* --- One reading --- */

struct reading {
	struct mount mount;
	const struct filter *filter;
	const atomic_bool *stop;
	struct top_model *model;
};

/* A waiter is wanted if its lock is. The filter compares fields of locks only, so the lock is looked up in the model. */
static bool is_wanted(const struct reading *reading, const json_t *object)
{
	const char *lock = source_text(object, "lock");

	if (!source_is_waiter(object))
		return filter_wants(reading->filter, object);
	return filter_wants_path(reading->filter, lock) &&
	       (!filter_has_fields(reading->filter) || top_model_has(reading->model, lock));
}

static int row_take(void *arg, char *line, size_t len)
{
	struct reading *reading = arg;
	json_t *object;
	int err = 0;

	if (atomic_load(reading->stop))
		return -ECANCELED;
	object = json_loadb(line, len, 0, NULL);
	if (object == NULL)
		return -EBADMSG;
	if (is_wanted(reading, object))
		err = top_model_add(reading->model, object);
	json_decref(object);
	return err;
}

static int metric_take(void *arg, char *line, size_t len)
{
	struct reading *reading = arg;
	(void)len;
	top_counts_take(&reading->model->counts, line);
	return 0;
}

static int reading_run(struct reading *reading)
{
	struct top_model *model = reading->model;
	int err = mount_reopen(&reading->mount);

	if (err == 0)
		err = mount_lines(&reading->mount, "locks.jsonl", row_take, reading);
	model->counts.at = moment_steady();
	if (err == 0)
		err = mount_lines(&reading->mount, "metrics/atlockfs.prom", metric_take, reading);
	/* A store that fails shows no locks, but its health can be read. */
	if (err == 0 || err == -EIO) {
		int sick = mount_line(&reading->mount, "health", model->health, sizeof(model->health));

		err = err == 0 ? sick : err;
	}
	mount_close(&reading->mount);
	return err;
}

struct top_model *top_read(const struct mount *mount, const struct filter *filter, const atomic_bool *stop)
{
	struct reading reading = { .mount = *mount, .filter = filter, .stop = stop, .model = top_model_new() };
	struct top_model *model = reading.model;
	int64_t began = moment_steady();

	if (model == NULL)
		return NULL;
	reading.mount.fd = -1;
	model->err = reading_run(&reading);
	model->took = moment_steady() - began;
	if (model->err < 0)
		top_gone_print(model->err, model->said, sizeof(model->said));
	return model;
}

/* --- The thread --- */

struct top_reader {
	struct mount mount;
	struct filter filter;
	struct reading_thread *thread;
	int ready; /* an eventfd */
	pthread_mutex_t mutex;
	struct top_model *model; /* mutex; read, and not taken yet */
	unsigned asked;          /* mutex; how many readings */
	unsigned answered;       /* mutex; of these, how many the last model answers */
};

static int64_t reader_read(void *arg, unsigned wants, const atomic_bool *stop)
{
	struct top_reader *reader = arg;
	struct top_model *model;
	unsigned asked;

	(void)wants;
	pthread_mutex_lock(&reader->mutex);
	asked = reader->asked;
	pthread_mutex_unlock(&reader->mutex);
	model = top_read(&reader->mount, &reader->filter, stop);
	pthread_mutex_lock(&reader->mutex);
	top_model_free(reader->model);
	reader->model = model;
	reader->answered = asked;
	(void)eventfd_write(reader->ready, 1);
	pthread_mutex_unlock(&reader->mutex);
	return 0;
}

static void reader_free(struct top_reader *reader)
{
	pthread_mutex_destroy(&reader->mutex);
	top_model_free(reader->model);
	if (reader->ready >= 0)
		close(reader->ready);
	free(reader);
}

int top_reader_start(struct top_reader **out, const struct mount *mount, const struct filter *filter)
{
	struct top_reader *reader = calloc(1, sizeof(*reader));
	int err;

	*out = NULL;
	if (reader == NULL)
		return -ENOMEM;
	reader->mount = *mount;
	reader->filter = *filter;
	pthread_mutex_init(&reader->mutex, NULL);
	reader->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = reader->ready < 0 ? -errno : reading_thread_start(&reader->thread, reader_read, reader);
	if (err < 0) {
		reader_free(reader);
		return err;
	}
	*out = reader;
	return 0;
}

void top_reader_ask(struct top_reader *reader)
{
	pthread_mutex_lock(&reader->mutex);
	reader->asked++;
	pthread_mutex_unlock(&reader->mutex);
	reading_thread_ask(reader->thread, 1);
}

int top_reader_fd(const struct top_reader *reader)
{
	return reader->ready;
}

struct top_model *top_reader_take(struct top_reader *reader, bool *last)
{
	struct top_model *model;
	eventfd_t count;

	pthread_mutex_lock(&reader->mutex);
	(void)eventfd_read(reader->ready, &count);
	model = reader->model;
	reader->model = NULL;
	*last = reader->answered == reader->asked;
	pthread_mutex_unlock(&reader->mutex);
	return model;
}

int64_t top_reader_busy(struct top_reader *reader)
{
	return reading_thread_busy(reader->thread);
}

bool top_reader_stop(struct top_reader *reader)
{
	bool ended = reading_thread_stop(reader->thread);

	if (ended)
		reader_free(reader);
	return ended;
}
