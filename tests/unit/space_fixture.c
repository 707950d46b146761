#include "space_fixture.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

int space_setup(void **state)
{
	struct space_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->scratch = scratch_new();
	(void)snprintf(f->dir, sizeof(f->dir), "%s/disk/store", f->scratch);
	(void)snprintf(f->junk, sizeof(f->junk), "%s/disk/junk", f->scratch);
	*state = f;
	return 0;
}

int space_teardown(void **state)
{
	struct space_fixture *f = *state;
	char disk[128];

	store_close(f->store);
	(void)snprintf(disk, sizeof(disk), "%s/disk", f->scratch);
	if (f->mounted && umount2(disk, MNT_DETACH) < 0)
		perror(disk);
	scratch_remove(f->scratch);
	free(f);
	return 0;
}

void space_open(struct space_fixture *f, uint64_t max_bytes)
{
	struct store_options options = { .sync = STORE_SYNC_OFF, .max_bytes = max_bytes };
	char why[512];

	store_close(f->store);
	if (store_open(&f->store, f->dir, &options, why, sizeof(why)) != 0)
		fail_msg("%s", why);
}

bool space_is_low(struct space_fixture *f)
{
	struct store_space space;

	store_space(f->store, &space);
	assert_int_equal(space.free == 0, space.low);
	return space.low;
}

void space_key(unsigned int i, char key[SPACE_KEY])
{
	(void)snprintf(key, SPACE_KEY, "%08x", i * 2654435761U);
}

static int event_add(struct store_txn *txn, const char *what, unsigned int i)
{
	char key[24];

	(void)snprintf(key, sizeof(key), "event/%s/%08x", what, i);
	return store_put(txn, slice_of(key), slice_of("a line of a hundred bytes or so, as a log of events has it"));
}

static int event_drop(struct store_txn *txn)
{
	struct slice key;
	int rc = store_next(txn, slice_of("event/"), slice_of("event/"), &key, NULL);

	return rc == 0 ? store_del(txn, key) : rc;
}

static const char value[300] = "x";

/* As a lock is acquired: a record, and a line about it. */
static int add_fn(struct store_txn *txn, void *arg)
{
	unsigned int i = *(unsigned int *)arg;
	char key[SPACE_KEY];

	space_key(i, key);
	int rc = event_add(txn, "a", i);
	return rc < 0 ? rc : store_put(txn, slice_of(key), (struct slice){ .data = value, .len = sizeof(value) });
}

/* As one is released while space is low: the record goes, and the new line makes the two oldest go. */
static int remove_fn(struct store_txn *txn, void *arg)
{
	unsigned int i = *(unsigned int *)arg;
	char key[SPACE_KEY];

	space_key(i, key);
	if (event_add(txn, "r", i) < 0 || event_drop(txn) < 0 || event_drop(txn) < 0)
		return -EIO;
	return store_del(txn, slice_of(key));
}

unsigned int space_fill(struct space_fixture *f, unsigned int from)
{
	unsigned int i = from;

	for (; !space_is_low(f); i++) {
		assert_true(i < 100000);
		assert_int_equal(store_update(f->store, add_fn, &i), 0);
	}
	return i;
}

int space_remove(struct space_fixture *f, unsigned int i)
{
	return store_update(f->store, remove_fn, &i);
}

void space_drain(struct space_fixture *f, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++)
		assert_int_equal(space_remove(f, i), 0);
}

static int has_fn(struct store_txn *txn, void *arg)
{
	char key[SPACE_KEY];
	struct slice found;

	space_key(*(unsigned int *)arg, key);
	return store_get(txn, slice_of(key), &found) == 0 && found.len == sizeof(value);
}

bool space_has(struct space_fixture *f, unsigned int i)
{
	return store_view(f->store, has_fn, &i) == 1;
}

void space_disk(struct space_fixture *f, const char *size)
{
	char disk[128];

	(void)snprintf(disk, sizeof(disk), "%s/disk", f->scratch);
	assert_int_equal(mkdir(disk, 0700), 0);
	if (mount("tmpfs", disk, "tmpfs", 0, size) < 0)
		skip();
	f->mounted = true;
}

void space_disk_fill(struct space_fixture *f)
{
	static const char zeros[4096];
	int fd = open(f->junk, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}
