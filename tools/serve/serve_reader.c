#include "serve_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "moment.h"
#include "reading_thread.h"
#include "serve_tail.h"
#include "source.h"

#define PAUSE (200 * ATLOCK_SECOND / 1000)
#define FRESH (300 * ATLOCK_SECOND / 1000)
#define RENEW (2 * ATLOCK_SECOND) /* the longest time between two whole readings while there is demand */
#define SHARE 5                   /* between two readings pass so many times the length of one */

/* What a reading may want. */
enum { WANTS_CHANGES = 1, WANTS_ALL = 2 };

struct serve_reader {
	struct mount mount;
	void (*ready)(void *arg);
	void *arg;
	struct reading_thread *thread;
	struct serve_tail tail; /* the thread's */
	int64_t whole;          /* the thread's: when the last whole reading began */
	pthread_mutex_t mutex;
	int64_t fresh;   /* mutex; until when the last reading is as new as can be had; 0: there was none */
	int64_t changed; /* mutex; what was read before this moment is known to be old */
	uint64_t done;   /* mutex; readings that have ended */
	struct serve_snapshot *newest; /* mutex */
	struct serve_ring ring;        /* mutex */
};

/* --- Snapshots --- */

static pthread_mutex_t refs_mutex = PTHREAD_MUTEX_INITIALIZER;

struct serve_snapshot *serve_snapshot_ref(struct serve_snapshot *snapshot)
{
	pthread_mutex_lock(&refs_mutex);
	snapshot->refs++;
	pthread_mutex_unlock(&refs_mutex);
	return snapshot;
}

void serve_snapshot_put(struct serve_snapshot *snapshot)
{
	unsigned left;

	pthread_mutex_lock(&refs_mutex);
	left = --snapshot->refs;
	pthread_mutex_unlock(&refs_mutex);
	if (left > 0)
		return;
	json_decref(snapshot->locks);
	json_decref(snapshot->waiters);
	json_decref(snapshot->apps);
	json_decref(snapshot->hosts);
	free(snapshot->health);
	free(snapshot->metrics);
	free(snapshot);
}

static struct serve_snapshot *snapshot_new(void)
{
	struct serve_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (snapshot == NULL)
		return NULL;
	*snapshot = (struct serve_snapshot){ .refs = 1,
					     .locks = json_array(),
					     .waiters = json_array(),
					     .apps = json_array(),
					     .hosts = json_array(),
					     .health = strdup(""),
					     .metrics = strdup("") };
	if (snapshot->locks != NULL && snapshot->waiters != NULL && snapshot->apps != NULL && snapshot->hosts != NULL &&
	    snapshot->health != NULL && snapshot->metrics != NULL)
		return snapshot;
	serve_snapshot_put(snapshot);
	return NULL;
}

/* What was there the last time, with the error that keeps it from being read now. */
static struct serve_snapshot *snapshot_stale(const struct serve_snapshot *last, int err)
{
	struct serve_snapshot *snapshot = snapshot_new();

	if (snapshot == NULL)
		return NULL;
	json_array_extend(snapshot->locks, last->locks);
	json_array_extend(snapshot->waiters, last->waiters);
	json_array_extend(snapshot->apps, last->apps);
	json_array_extend(snapshot->hosts, last->hosts);
	snapshot->read_at = last->read_at;
	snapshot->err = err;
	return snapshot;
}

/* --- One reading --- */

static int object_take(void *arg, char *line, size_t len)
{
	struct serve_snapshot *snapshot = arg;
	json_t *object = json_loadb(line, len, 0, NULL);

	if (object == NULL)
		return -EBADMSG;
	return json_array_append_new(source_is_waiter(object) ? snapshot->waiters : snapshot->locks, object) == 0
		       ? 0
		       : -ENOMEM;
}

/* A host that this program does not understand is left out. */
static int host_take(void *arg, char *line, size_t len)
{
	struct serve_snapshot *snapshot = arg;
	json_t *object = json_loadb(line, len, 0, NULL);

	return object == NULL || json_array_append_new(snapshot->hosts, object) == 0 ? 0 : -ENOMEM;
}

static int text_take(void *arg, char *line, size_t len)
{
	return fwrite(line, 1, len, arg) == len ? 0 : -ENOMEM;
}

/* Reads a small file whole into `*out`, which it replaces. */
static int text_read(const struct mount *mount, const char *path, char **out)
{
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len);
	int err;

	if (memory == NULL)
		return -ENOMEM;
	err = mount_lines(mount, path, text_take, memory);
	if (fclose(memory) != 0 && err == 0)
		err = -ENOMEM;
	if (err < 0) {
		free(text);
		return err;
	}
	free(*out);
	*out = text;
	return 0;
}

/* Calls `fn` with each entry of a directory below the root that does not begin with a dot. A directory that may not be read has none. */
static int entries_each(const struct mount *mount, const char *path, int (*fn)(void *arg, const char *name), void *arg)
{
	int fd = openat(mount->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int err = 0;

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (err == 0 && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			err = fn(arg, entry->d_name);
	closedir(dir);
	return err;
}

struct apps {
	const struct mount *mount;
	struct serve_snapshot *snapshot;
	const char *resource;
};

static int app_take(void *arg, const char *name)
{
	const struct apps *apps = arg;
	char path[ATLOCK_PATH_MAX];
	char status[32];
	json_t *app;

	(void)snprintf(path, sizeof(path), "shared/%s/apps/%s", apps->resource, name);
	if (mount_line(apps->mount, path, status, sizeof(status)) < 0)
		return 0;
	app = json_pack("{s:s, s:s, s:s}", "resource", apps->resource, "app", name, "status", status);
	return app == NULL ? 0 : json_array_append_new(apps->snapshot->apps, app) == 0 ? 0 : -ENOMEM;
}

static int resource_take(void *arg, const char *name)
{
	struct apps *apps = arg;
	char path[ATLOCK_PATH_MAX];

	apps->resource = name;
	(void)snprintf(path, sizeof(path), "shared/%s/apps", name);
	return entries_each(apps->mount, path, app_take, apps);
}

/* 1 if nothing is new and not all of it is wanted. */
static int snapshot_read(struct serve_reader *reader, struct serve_snapshot *snapshot, bool whole)
{
	struct mount *mount = &reader->mount;
	struct apps apps = { .mount = mount, .snapshot = snapshot };
	int err = mount_reopen(mount);

	if (err < 0)
		return err;
	err = serve_tail_read(&reader->tail, mount);
	if (err == 0 && !whole && reader->tail.count == 0 && moment_steady() - reader->whole < RENEW) {
		mount_close(mount);
		return 1;
	}
	reader->whole = moment_steady();
	if (err == 0)
		err = mount_lines(mount, "locks.jsonl", object_take, snapshot);
	if (err == 0)
		err = text_read(mount, "metrics/atlockfs.prom", &snapshot->metrics);
	if (err == 0)
		err = entries_each(mount, "shared", resource_take, &apps);
	if (err == 0)
		(void)mount_lines(mount, "events/chains", host_take, snapshot);
	/* A store that fails shows no locks, but its health can be read. */
	if (err == 0 || err == -EIO) {
		int sick = text_read(mount, "health", &snapshot->health);

		err = err == 0 ? sick : err;
	}
	snapshot->read_at = moment_wall();
	mount_close(mount);
	return err;
}

static bool same(const struct serve_snapshot *a, const struct serve_snapshot *b)
{
	return a->err == b->err && json_equal(a->locks, b->locks) && json_equal(a->waiters, b->waiters) &&
	       json_equal(a->apps, b->apps);
}

/* Makes what was read the newest; NULL: the one before stays. */
static void snapshot_publish(struct serve_reader *reader, struct serve_snapshot *snapshot, int64_t began, int64_t fresh)
{
	struct serve_snapshot *before = reader->newest;

	if (snapshot != NULL)
		snapshot->number = before->number + (same(before, snapshot) ? 0 : 1);
	pthread_mutex_lock(&reader->mutex);
	if (snapshot != NULL)
		reader->newest = snapshot;
	serve_ring_take(&reader->ring, &reader->tail);
	reader->fresh = began > reader->changed ? fresh : 0;
	reader->done++;
	pthread_mutex_unlock(&reader->mutex);
	if (snapshot != NULL)
		serve_snapshot_put(before);
	reader->ready(reader->arg);
}

static struct serve_snapshot *snapshot_make(struct serve_reader *reader, bool whole)
{
	struct serve_snapshot *snapshot = snapshot_new();
	struct serve_snapshot *stale;
	int err = snapshot == NULL ? -ENOMEM : snapshot_read(reader, snapshot, whole);

	if (err == 0 || snapshot == NULL)
		return snapshot;
	stale = err > 0 ? NULL : snapshot_stale(reader->newest, err);
	if (stale != NULL) {
		char *health = stale->health;

		stale->health = snapshot->health;
		snapshot->health = health;
	}
	serve_snapshot_put(snapshot);
	return stale;
}

/* --- The thread --- */

/* A reading that hung says nothing about how long the next takes. */
static int64_t rest_after(int64_t took)
{
	return SHARE * took < PAUSE ? PAUSE : SHARE * took < RENEW ? SHARE * took : RENEW;
}

static int64_t reader_read(void *arg, unsigned wants, const atomic_bool *stop)
{
	struct serve_reader *reader = arg;
	int64_t began = moment_steady();
	struct serve_snapshot *snapshot = snapshot_make(reader, (wants & WANTS_ALL) != 0);
	int64_t now = moment_steady();
	int64_t rest = rest_after(now - began);

	(void)stop;
	snapshot_publish(reader, snapshot, began, rest == PAUSE ? began + FRESH : now + rest);
	return rest;
}

static void reader_free(struct serve_reader *reader)
{
	if (reader->newest != NULL)
		serve_snapshot_put(reader->newest);
	serve_ring_free(&reader->ring);
	serve_tail_free(&reader->tail);
	pthread_mutex_destroy(&reader->mutex);
	free(reader);
}

int serve_reader_start(struct serve_reader **out, const struct mount *mount, void (*ready)(void *arg), void *arg)
{
	struct serve_reader *reader = calloc(1, sizeof(*reader));
	int err;

	*out = NULL;
	if (reader == NULL)
		return -ENOMEM;
	reader->mount = *mount;
	reader->mount.fd = -1;
	reader->ready = ready;
	reader->arg = arg;
	reader->newest = snapshot_new();
	pthread_mutex_init(&reader->mutex, NULL);
	err = reader->newest == NULL ? -ENOMEM : reading_thread_start(&reader->thread, reader_read, reader);
	if (err < 0) {
		reader_free(reader);
		return err;
	}
	*out = reader;
	return 0;
}

void serve_reader_ask(struct serve_reader *reader, bool changes)
{
	reading_thread_ask(reader->thread, changes ? WANTS_CHANGES : WANTS_ALL);
}

void serve_reader_changed(struct serve_reader *reader)
{
	pthread_mutex_lock(&reader->mutex);
	reader->changed = moment_steady();
	reader->fresh = 0;
	pthread_mutex_unlock(&reader->mutex);
}

struct serve_snapshot *serve_reader_take(struct serve_reader *reader)
{
	struct serve_snapshot *snapshot;

	pthread_mutex_lock(&reader->mutex);
	snapshot = serve_snapshot_ref(reader->newest);
	pthread_mutex_unlock(&reader->mutex);
	return snapshot;
}

uint64_t serve_reader_done(struct serve_reader *reader, bool *fresh)
{
	uint64_t done;

	pthread_mutex_lock(&reader->mutex);
	done = reader->done;
	*fresh = moment_steady() < reader->fresh;
	pthread_mutex_unlock(&reader->mutex);
	return done;
}

int64_t serve_reader_busy(struct serve_reader *reader)
{
	return reading_thread_busy(reader->thread);
}

char *serve_reader_event(struct serve_reader *reader, uint64_t *seq, bool *lost)
{
	char *line;

	pthread_mutex_lock(&reader->mutex);
	line = serve_ring_next(&reader->ring, seq, lost);
	pthread_mutex_unlock(&reader->mutex);
	return line;
}

void serve_reader_events(struct serve_reader *reader, uint64_t *first, uint64_t *last)
{
	pthread_mutex_lock(&reader->mutex);
	serve_ring_range(&reader->ring, first, last);
	pthread_mutex_unlock(&reader->mutex);
}

void serve_reader_stop(struct serve_reader *reader)
{
	if (reading_thread_stop(reader->thread))
		reader_free(reader);
}
