#include "shared_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void shared_setup(struct stage *s)
{
	struct atlock_caller alice = stage_caller("alice@x");
	struct atlock_caller bob = stage_caller("bob@x");

	assert_int_equal(atlock_shared_make(s->al, "db", &alice, &s->why), 0);
	assert_int_equal(atlock_app_add(s->al, "db", "a", &alice, false, &s->why), 0);
	assert_int_equal(atlock_app_add(s->al, "db", "b", &bob, false, &s->why), 0);
}

int shared_say(struct stage *s, const char *app, const char *as, const char *word)
{
	struct atlock_caller caller = stage_caller(as);

	return atlock_app_write(s->al, "db", app, &caller, word, word != NULL ? strlen(word) : 0, &s->why);
}

const char *shared_reads(struct stage *s, const char *app)
{
	struct atlock_app found;

	assert_int_equal(atlock_app_get(s->al, "db", app, &found), 0);
	return atlock_app_status_name(found.status);
}

int shared_stop(struct stage *s, const char *app, const char *as)
{
	char lock[64];

	(void)snprintf(lock, sizeof(lock), "shared/db/stop@%s", app);
	return stage_acquire(s, lock, as, 0);
}

void shared_verdict_is(struct stage *s, const char *app, const char *expected)
{
	char *text = NULL;
	size_t len = 0;

	assert_int_equal(atlock_verdict(s->al, "db", app, &text, &len), 0);
	assert_string_equal(text, expected);
	assert_int_equal(len, strlen(expected));
	free(text);
}
