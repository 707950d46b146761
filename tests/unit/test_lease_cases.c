/*
 * The cases that the backends of the lease service share, as a table: each case is a few calls at given seconds on fresh
 * locks, with what the service answers. It knows yes and no where the manager has more to say.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum call { END, ACQUIRE, RENEW, RELEASE, LOOK };

struct step {
	int64_t at; /* seconds since the case began */
	enum call call;
	const char *as; /* owner@instance */
	const char *lock;
	int64_t seconds; /* the lease, or what is added to it */
	bool yes;
	int64_t lease;  /* afterwards, where yes; 0: does not matter */
	int64_t expiry; /* in seconds since the case began */
};

#define A "global/name_a"
#define B "global/name_b"

static const struct {
	const char *name;
	struct step steps[10];
} cases[] = {
	{ "acquire, renew, release",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 30, RENEW, "own@ins", A, 60, true, 120, 120 },
	    { 60, RELEASE, "own@ins", A, 0, true, 0, 0 },
	    { 60, LOOK, "", A, 0, false, 0, 0 } } },
	{ "another owner at the same instant fails",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 0, ACQUIRE, "other@ins", A, 60, false, 0, 0 },
	    { 0, LOOK, "own@ins", A, 0, true, 60, 60 } } },
	{ "another instance at the same instant fails",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 0, ACQUIRE, "own@other", A, 60, false, 0, 0 },
	    { 0, LOOK, "own@ins", A, 0, true, 60, 60 } } },
	{ "at its expiry it is still held",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 60, ACQUIRE, "own@other", A, 60, false, 0, 0 },
	    { 60, LOOK, "own@ins", A, 0, true, 60, 60 } } },
	{ "another instance takes an expired one",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 61, LOOK, "", A, 0, false, 0, 0 },
	    { 61, ACQUIRE, "own@other", A, 60, true, 60, 121 } } },
	{ "another owner takes an expired one",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 }, { 61, ACQUIRE, "other@ins", A, 60, true, 60, 121 } } },
	{ "the same holder again replaces the lease",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 }, { 10, ACQUIRE, "own@ins", A, 60, true, 60, 70 } } },
	{ "the same holder again may shorten it",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 10, ACQUIRE, "own@ins", A, 5, true, 5, 15 },
	    { 16, ACQUIRE, "other@ins", A, 60, true, 60, 76 } } },
	{ "the same holder takes its own expired one",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 }, { 90, ACQUIRE, "own@ins", A, 60, true, 60, 150 } } },
	{ "renewing what is absent fails", { { 0, RENEW, "own@ins", A, 60, false, 0, 0 } } },
	{ "renewing another owner's fails",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 30, RENEW, "other@ins", A, 60, false, 0, 0 },
	    { 30, LOOK, "own@ins", A, 0, true, 60, 60 } } },
	{ "renewing another instance's fails",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 30, RENEW, "own@other", A, 60, false, 0, 0 },
	    { 30, LOOK, "own@ins", A, 0, true, 60, 60 } } },
	{ "renewing at the expiry succeeds, after it fails",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 60, RENEW, "own@ins", A, 10, true, 70, 70 },
	    { 71, RENEW, "own@ins", A, 60, false, 0, 0 } } },
	{ "renewing adds each time",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 1, RENEW, "own@ins", A, 1, true, 61, 61 },
	    { 2, RENEW, "own@ins", A, 1, true, 62, 62 } } },
	{ "releasing what is absent succeeds", { { 0, RELEASE, "own@ins", A, 0, true, 0, 0 } } },
	{ "releasing twice succeeds",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 1, RELEASE, "own@ins", A, 0, true, 0, 0 },
	    { 2, RELEASE, "own@ins", A, 0, true, 0, 0 } } },
	{ "releasing another's fails",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 1, RELEASE, "other@ins", A, 0, false, 0, 0 },
	    { 1, RELEASE, "own@other", A, 0, false, 0, 0 },
	    { 1, LOOK, "own@ins", A, 0, true, 60, 60 } } },
	{ "releasing an expired one succeeds whoever asks",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 }, { 61, RELEASE, "other@other", A, 0, true, 0, 0 } } },
	{ "two names are independent",
	  { { 0, ACQUIRE, "own@ins", A, 60, true, 60, 60 },
	    { 0, ACQUIRE, "other@ins", B, 30, true, 30, 30 },
	    { 1, RELEASE, "own@ins", A, 0, true, 0, 0 },
	    { 1, LOOK, "other@ins", B, 0, true, 30, 30 } } },
	{ "the shortest and the longest lease",
	  { { 0, ACQUIRE, "own@ins", A, 1, true, 1, 1 }, { 0, ACQUIRE, "own@ins", B, 86400, true, 86400, 86400 } } },
	{ "more than the longest lease fails", { { 0, ACQUIRE, "own@ins", A, 86401, false, 0, 0 } } },
};

static int step_run(struct stage *s, const struct step *step)
{
	struct atlock_request *req;

	switch (step->call) {
	case ACQUIRE: return stage_acquire(s, step->lock, step->as, step->seconds);
	case RELEASE: return stage_release(s, step->lock, step->as);
	case RENEW:
		req = stage_ask(s, step->lock, step->as);
		req->ttl = step->seconds * ATLOCK_SECOND;
		req->add = true;
		return atlock_renew(s->al, req, &s->grant, &s->why);
	default: return strcmp(stage_holder(s, step->lock), "free") == 0 ? -ENOENT : 0;
	}
}

static void case_run(struct stage *s, const struct step *steps)
{
	int64_t start = atlock_now(s->al);

	for (const struct step *step = steps; step->call != END; step++) {
		stage_advance_ns(s, start + step->at * ATLOCK_SECOND - atlock_now(s->al));
		assert_int_equal(step_run(s, step) >= 0, step->yes);
		if (step->lease == 0)
			continue;
		struct atlock_view view = stage_view(s, step->lock);
		assert_int_equal(view.ttl, step->lease * ATLOCK_SECOND);
		assert_int_equal(view.expires_at - start, step->expiry * ATLOCK_SECOND);
		atlock_view_clear(&view);
		assert_string_equal(stage_holder(s, step->lock), step->as);
	}
}

static void case_holds(void **state)
{
	const struct step *steps = *state;
	struct stage *s;

	(void)stage_setup((void **)&s);
	stage_configure(s, "max_ttl", "1d");
	case_run(s, steps);
	(void)stage_teardown((void **)&s);
}

int main(void)
{
	struct CMUnitTest tests[sizeof(cases) / sizeof(cases[0])];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		tests[i] = (struct CMUnitTest){
			.name = cases[i].name,
			.test_func = case_holds,
			.initial_state = (void *)(uintptr_t)cases[i].steps,
		};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
