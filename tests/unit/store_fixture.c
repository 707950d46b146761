#include "store_fixture.h"

#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

void store_fixture_init(struct store_fixture *f)
{
	static const char *const files[STORE_FILES] = { "data.mdb", "commit.log", "lock.mdb" };

	*f = (struct store_fixture){ .dir = scratch_new() };
	for (size_t i = 0; i < STORE_FILES; i++)
		(void)snprintf(f->path[i], sizeof(f->path[i]), "%s/%s", f->dir, files[i]);
}

void store_fixture_fini(struct store_fixture *f)
{
	store_fixture_close(f);
	scratch_remove(f->dir);
}

int store_fixture_setup(void **state)
{
	struct store_fixture *f = malloc(sizeof(*f));

	assert_non_null(f);
	store_fixture_init(f);
	*state = f;
	return 0;
}

int store_fixture_teardown(void **state)
{
	store_fixture_fini(*state);
	free(*state);
	return 0;
}

int store_fixture_open(struct store_fixture *f, bool readonly)
{
	struct store_options options = { .readonly = readonly, .sync = f->sync };

	f->store = NULL;
	return store_open(&f->store, f->dir, &options, f->why, sizeof(f->why));
}

void store_fixture_close(struct store_fixture *f)
{
	store_close(f->store);
	f->store = NULL;
}
