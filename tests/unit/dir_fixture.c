#include "dir_fixture.h"

#include "lock_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <bsd/string.h>
#include <cmocka.h>

static void count_change(void *arg, enum atlock_change what, const struct atlock_name *name)
{
	struct fixture *f = arg;

	if (what != ATLOCK_CHANGE_DIR)
		return;
	f->changes++;
	f->changed = *name;
}

void fixture_open(struct fixture *f)
{
	stage_open(f->stage);
	f->al = f->stage->al;
}

void fixture_close(struct fixture *f)
{
	stage_close(f->stage);
	f->al = NULL;
}

int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->stage = stage_new();
	f->stage->on_change = count_change;
	f->stage->change_arg = f;
	f->alice = stage_caller("alice@build-1");
	f->bob = stage_caller("bob@build-2");
	fixture_open(f);
	*state = f;
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *f = *state;
	int rc = stage_teardown((void **)&f->stage);

	free(f);
	return rc;
}

void fixture_advance(struct fixture *f, int64_t seconds)
{
	stage_advance(f->stage, seconds);
}

uint64_t fixture_make(struct fixture *f, uint64_t parent, const char *name)
{
	struct atlock_dir dir;

	assert_int_equal(atlock_dir_make(f->al, parent, name, &f->alice, 0755, 1000, &dir, &f->why), 0);
	return dir.id;
}

int fixture_acquire(struct fixture *f, uint64_t dir, const char *leaf, int64_t ttl, struct atlock_grant *out)
{
	struct atlock_name name;
	struct atlock_request req = { .name = &name, .caller = &f->alice, .ttl = ttl * ATLOCK_SECOND };

	assert_int_equal(atlock_name_custom(dir, leaf, &name, &f->why), 0);
	return atlock_acquire(f->al, &req, out, &f->why);
}

int fixture_release(struct fixture *f, uint64_t dir, const char *leaf)
{
	struct atlock_name name;
	struct atlock_request req = { .name = &name, .caller = &f->alice };

	assert_int_equal(atlock_name_custom(dir, leaf, &name, &f->why), 0);
	return atlock_release(f->al, &req, NULL, &f->why);
}

struct listing {
	unsigned int left;
	char *out;
	size_t len;
};

static int list_one(void *arg, const struct atlock_dir *dir, const struct atlock_view *lock)
{
	const size_t before = 1 + sizeof(uint64_t); /* of a key: the tree's byte and the directory's number */
	struct listing *listing = arg;

	assert_true((dir == NULL) != (lock == NULL));
	if (dir != NULL) {
		strlcat(listing->out, dir->name, listing->len);
		strlcat(listing->out, "/ ", listing->len);
	}
	if (lock != NULL) {
		size_t used = strlen(listing->out);

		assert_int_equal(atlock_name_tree(&lock->name), ATLOCK_CUSTOM);
		(void)snprintf(listing->out + used, listing->len - used, "%.*s ", (int)(lock->name.len - before),
			       (const char *)lock->name.key + before);
	}
	return --listing->left == 0;
}

int fixture_list(struct fixture *f, uint64_t dir, unsigned int most, char *out, size_t len)
{
	struct listing listing = { most, out, len };

	out[0] = '\0';
	return atlock_dir_list(f->al, dir, NULL, list_one, &listing);
}

struct last_event {
	enum atlock_event_type type;
	char path[ATLOCK_PATH_MAX];
};

static int keep_event(void *arg, const struct atlock_event *event)
{
	struct last_event *last = arg;

	last->type = event->type;
	strlcpy(last->path, event->lock, sizeof(last->path));
	return 0;
}

void fixture_event_is(struct fixture *f, enum atlock_event_type type, const char *path)
{
	struct last_event last = { .path = "" };

	assert_int_equal(atlock_events(f->al, 0, keep_event, &last), 0);
	assert_int_equal(last.type, type);
	assert_string_equal(last.path, path);
}
