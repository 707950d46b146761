/*
 * Bad requests: whatever is wrong with one, every call refuses it with an error and a reason, and changes nothing.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Which part of a request a call looks at. */
enum part { PART_ALL = 1, PART_LEASE = 2, PART_TEXT = 4, PART_WAIT = 8 };

/* --- What can be wrong; one line each --- */
/* clang-format off */

static char long_text[ATLOCK_META_BYTES + 64];
static char many_keys[(ATLOCK_META_KEYS + 1) * 8];

static void spoil_no_name(struct ask *ask) { ask->req.name = NULL; }
static void spoil_empty_name(struct ask *ask) { ask->name.len = 0; }
static void spoil_no_tree(struct ask *ask) { ask->name.key[0] = 'X'; }
static void spoil_tree_alone(struct ask *ask) { ask->name.len = 1; }
static void spoil_huge_name(struct ask *ask) { ask->name.len = UINT16_MAX; }
static void spoil_no_caller(struct ask *ask) { ask->req.caller = NULL; }
static void spoil_empty_owner(struct ask *ask) { ask->caller.owner[0] = '\0'; }
static void spoil_empty_who(struct ask *ask) { ask->caller.who[0] = '\0'; }
static void spoil_endless_owner(struct ask *ask) { memset(ask->caller.owner, 'x', sizeof(ask->caller.owner)); }
static void spoil_endless_who(struct ask *ask) { memset(ask->caller.who, 'x', sizeof(ask->caller.who)); }
static void spoil_control_owner(struct ask *ask) { memcpy(ask->caller.owner, "a\nb", 4); }
static void spoil_control_who(struct ask *ask) { memcpy(ask->caller.who, "a\033[2J", 6); }
static void spoil_delete_who(struct ask *ask) { memcpy(ask->caller.who, "a\177", 3); }
static void spoil_process_without_start(struct ask *ask) { memcpy(ask->caller.who, "pid:1", 6); }
static void spoil_text_without_bytes(struct ask *ask) { ask->req.text_len = 5; }
static void spoil_priority(struct ask *ask) { ask->req.priority = ATLOCK_PRIORITIES; }
static void spoil_huge_priority(struct ask *ask) { ask->req.priority = (enum atlock_priority)INT32_MAX; }
static void spoil_negative_priority(struct ask *ask) { ask->req.priority = (enum atlock_priority)-1; }
static void spoil_negative_ttl(struct ask *ask) { ask->req.ttl = -1; }
static void spoil_least_ttl(struct ask *ask) { ask->req.ttl = INT64_MIN; }
static void spoil_long_ttl(struct ask *ask) { ask->req.ttl = 7201 * ATLOCK_SECOND; }
static void spoil_huge_ttl(struct ask *ask) { ask->req.ttl = ATLOCK_NEVER - 1; }
static void spoil_endless_ttl(struct ask *ask) { ask->req.ttl = ATLOCK_NEVER; }
static void spoil_negative_timeout(struct ask *ask) { ask->req.timeout = -1; }
static void spoil_least_timeout(struct ask *ask) { ask->req.timeout = INT64_MIN; }

static void spoil_text(struct ask *ask, const char *text, size_t len)
{
	ask->req.text = text;
	ask->req.text_len = len;
}

static void spoil_control_text(struct ask *ask) { spoil_text(ask, "a=1\nb=\033[2J\n", 11); }
static void spoil_nul_text(struct ask *ask) { spoil_text(ask, "a=\0b\n", 5); }
static void spoil_bad_key(struct ask *ask) { spoil_text(ask, "a b=1\n", 6); }
static void spoil_own_key(struct ask *ask) { spoil_text(ask, "token=1\n", 8); }
static void spoil_ttl_text(struct ask *ask) { spoil_text(ask, "ttl=-5s\n", 8); }
static void spoil_huge_ttl_text(struct ask *ask) { spoil_text(ask, "ttl=99999999999999d\n", 20); }
static void spoil_long_ttl_text(struct ask *ask) { spoil_text(ask, "ttl=3h\n", 7); }
static void spoil_priority_text(struct ask *ask) { spoil_text(ask, "priority=urgent\n", 16); }
static void spoil_long_text(struct ask *ask) { spoil_text(ask, long_text, sizeof(long_text)); }
static void spoil_many_keys(struct ask *ask) { spoil_text(ask, many_keys, strlen(many_keys)); }

/* clang-format on */

static const struct {
	const char *what;
	enum part part;
	void (*spoil)(struct ask *ask);
} spoils[] = {
	{ "no name", PART_ALL, spoil_no_name },
	{ "an empty name", PART_ALL, spoil_empty_name },
	{ "a name in no tree", PART_ALL, spoil_no_tree },
	{ "a tree without a name", PART_ALL, spoil_tree_alone },
	{ "a name longer than names are", PART_ALL, spoil_huge_name },
	{ "no caller", PART_ALL, spoil_no_caller },
	{ "an empty owner", PART_ALL, spoil_empty_owner },
	{ "an empty who", PART_ALL, spoil_empty_who },
	{ "an owner without an end", PART_ALL, spoil_endless_owner },
	{ "a who without an end", PART_ALL, spoil_endless_who },
	{ "a control byte in the owner", PART_ALL, spoil_control_owner },
	{ "a control byte in the who", PART_ALL, spoil_control_who },
	{ "a delete in the who", PART_ALL, spoil_delete_who },
	{ "a process without its start", PART_ALL, spoil_process_without_start },
	{ "a text that is not there", PART_ALL, spoil_text_without_bytes },
	{ "a priority that is none", PART_ALL, spoil_priority },
	{ "a huge priority", PART_ALL, spoil_huge_priority },
	{ "a negative priority", PART_ALL, spoil_negative_priority },
	{ "a negative lease", PART_LEASE, spoil_negative_ttl },
	{ "the least lease", PART_LEASE, spoil_least_ttl },
	{ "a lease above max_ttl", PART_LEASE, spoil_long_ttl },
	{ "a huge lease", PART_LEASE, spoil_huge_ttl },
	{ "a lease without end", PART_LEASE, spoil_endless_ttl },
	{ "a negative timeout", PART_WAIT, spoil_negative_timeout },
	{ "the least timeout", PART_WAIT, spoil_least_timeout },
	{ "a control byte in the text", PART_TEXT, spoil_control_text },
	{ "a NUL in the text", PART_TEXT, spoil_nul_text },
	{ "a key that is none", PART_TEXT, spoil_bad_key },
	{ "a key of the file system", PART_TEXT, spoil_own_key },
	{ "a negative lease in the text", PART_TEXT, spoil_ttl_text },
	{ "a huge lease in the text", PART_TEXT, spoil_huge_ttl_text },
	{ "a lease above max_ttl in the text", PART_TEXT, spoil_long_ttl_text },
	{ "a priority that is none in the text", PART_TEXT, spoil_priority_text },
	{ "too long a text", PART_TEXT, spoil_long_text },
	{ "too many keys", PART_TEXT, spoil_many_keys },
};

/* --- The calls --- */

typedef int call_fn(struct stage *s, struct atlock *al, const struct atlock_request *req);

static int call_acquire(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	return atlock_acquire(al, req, &s->grant, &s->why);
}

static int call_acquire_all(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	struct atlock_request reqs[2] = { *stage_ask(s, "global/free", "alice@1") };

	if (req == NULL)
		return atlock_acquire_all(al, NULL, 1, NULL, NULL, &s->why);
	reqs[1] = *req;
	return atlock_acquire_all(al, reqs, 2, NULL, NULL, &s->why);
}

static int call_release(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	return atlock_release(al, req, NULL, &s->why);
}

static int call_renew(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	return atlock_renew(al, req, &s->grant, &s->why);
}

static int call_transfer(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	struct atlock_caller to = stage_caller("carol@1");

	return atlock_transfer(al, req, &to, &s->why);
}

static int call_write(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	return atlock_write(al, req, &s->why);
}

static int call_chmod(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	return atlock_chmod(al, req, 0600, &s->why);
}

static int call_chgrp(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	return atlock_chgrp(al, req, 7, &s->why);
}

static int call_claim(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	return atlock_claim(al, req, &s->why);
}

static int call_wait(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	return atlock_wait(al, req, told_done, stage_told(s), NULL, NULL, &s->why);
}

static int call_enqueue(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	return atlock_enqueue(al, req, NULL, NULL, &s->why);
}

/* The number of alice's ticket: the third that was given out, after those of the two locks. */
#define TICKET 3

static int call_cancel(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	return atlock_cancel(al, req, TICKET, &s->why);
}

static int call_reprioritise(struct stage *s, struct atlock *al, const struct atlock_request *req)
{
	return atlock_reprioritise(al, req, TICKET, &s->why);
}

static const struct {
	const char *name;
	call_fn *call;
	const char *lock;
	unsigned int parts;
} calls[] = {
	{ "acquire", call_acquire, "global/a", PART_ALL | PART_LEASE | PART_TEXT },
	{ "acquire_all", call_acquire_all, "global/a", PART_ALL | PART_LEASE | PART_TEXT },
	{ "release", call_release, "global/a", PART_ALL },
	{ "renew", call_renew, "global/a", PART_ALL | PART_LEASE },
	{ "transfer", call_transfer, "global/a", PART_ALL },
	{ "write", call_write, "global/a", PART_ALL | PART_TEXT },
	{ "chmod", call_chmod, "global/a", PART_ALL },
	{ "chgrp", call_chgrp, "global/a", PART_ALL },
	{ "claim", call_claim, "global/a", PART_ALL },
	{ "wait", call_wait, "global/b", PART_ALL | PART_LEASE | PART_TEXT | PART_WAIT },
	{ "enqueue", call_enqueue, "global/b", PART_ALL | PART_LEASE | PART_TEXT | PART_WAIT },
	{ "cancel", call_cancel, "global/b", PART_ALL },
	{ "reprioritise", call_reprioritise, "global/b", PART_ALL },
};

/* Alice holds a, bob holds b, and she waits for it: something for every call to change. */
static int setup(void **state)
{
	struct stage *s;
	uint64_t ticket;
	size_t at = 0;

	memset(long_text, 'x', sizeof(long_text));
	for (int i = 0; i <= ATLOCK_META_KEYS; i++)
		at += (size_t)snprintf(many_keys + at, sizeof(many_keys) - at, "k%d=1\n", i);
	(void)stage_setup(state);
	s = *state;
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), 0);
	assert_int_equal(stage_enqueue(s, "global/b", "alice@1", ATLOCK_NORMAL, &ticket), 0);
	assert_int_equal(ticket, TICKET);
	return 0;
}

/* A request that is good for the call. */
static struct ask ask_good(struct stage *s, size_t call)
{
	struct ask ask;

	ask.req = *stage_ask(s, calls[call].lock, "alice@1");
	ask.req.priority = ATLOCK_HIGH;
	ask.name = *ask.req.name;
	ask.caller = *ask.req.caller;
	return ask;
}

static void refused(struct stage *s, int rc, uint64_t before, const char *call, const char *what)
{
	if (rc >= 0 || rc == -EIO || stage_commits(s) != before)
		fail_msg("%s with %s: %d", call, what, rc);
	if (s->why.code == ATLOCK_OK || s->why.text[0] == '\0')
		fail_msg("%s with %s: no reason is given", call, what);
	for (const char *c = s->why.text; *c != '\0'; c++)
		assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
}

/* Otherwise the tests below would show nothing. */
static void good_requests_are_not_refused(void **state)
{
	(void)state;
	for (size_t c = 0; c < LENGTH(calls); c++) {
		struct stage *s;

		(void)setup((void **)&s);
		struct ask ask = ask_good(s, c);
		ask.req.name = &ask.name;
		ask.req.caller = &ask.caller;
		if (calls[c].call(s, s->al, &ask.req) < 0)
			fail_msg("%s: %s", calls[c].name, s->why.text);
		(void)stage_teardown((void **)&s);
	}
}

static void whatever_is_wrong_is_refused_and_changes_nothing(void **state)
{
	struct stage *s = *state;
	uint64_t before = stage_commits(s);

	for (size_t c = 0; c < LENGTH(calls); c++) {
		for (size_t i = 0; i < LENGTH(spoils); i++) {
			if ((calls[c].parts & spoils[i].part) == 0)
				continue;
			struct ask ask = ask_good(s, c);
			ask.req.name = &ask.name;
			ask.req.caller = &ask.caller;
			spoils[i].spoil(&ask);
			s->why = (struct atlock_why){ .code = ATLOCK_OK };
			refused(s, calls[c].call(s, s->al, &ask.req), before, calls[c].name, spoils[i].what);
		}
	}
	assert_string_equal(stage_holder(s, "global/a"), "alice@1");
	assert_string_equal(stage_queue(s, "global/b"), "alice@1");
}

static void no_manager_and_no_request_are_refused(void **state)
{
	struct stage *s = *state;
	uint64_t before = stage_commits(s);

	for (size_t c = 0; c < LENGTH(calls); c++) {
		struct ask ask = ask_good(s, c);

		ask.req.name = &ask.name;
		ask.req.caller = &ask.caller;
		assert_int_equal(calls[c].call(s, NULL, &ask.req), -EINVAL);
		assert_int_equal(calls[c].call(s, s->al, NULL), -EINVAL);
		assert_int_equal(calls[c].call(s, NULL, NULL), -EINVAL);
	}
	assert_int_equal(stage_commits(s), before);
}

static void transfer_to_nobody_is_refused(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, "global/a", "alice@1");
	uint64_t before = stage_commits(s);

	assert_int_equal(atlock_transfer(s->al, req, NULL, &s->why), -EINVAL);
	for (size_t i = 0; i < LENGTH(spoils); i++) {
		struct ask ask = ask_good(s, 0);
		struct atlock_caller good = ask.caller;

		spoils[i].spoil(&ask);
		if (memcmp(good.owner, ask.caller.owner, sizeof(good.owner)) == 0 &&
		    memcmp(good.who, ask.caller.who, sizeof(good.who)) == 0)
			continue;
		assert_int_equal(atlock_transfer(s->al, req, &ask.caller, &s->why), -EINVAL);
	}
	assert_int_equal(stage_commits(s), before);
}

static void numbers_nobody_has_find_nothing(void **state)
{
	static const uint64_t numbers[] = { 0, 1, 1000, INT64_MAX, UINT64_MAX };
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, "global/b", "alice@1");
	struct atlock_name name = stage_name("global/b");
	struct atlock_ticket ticket;
	uint64_t before = stage_commits(s);

	for (size_t i = 0; i < LENGTH(numbers); i++) {
		assert_int_equal(atlock_cancel(s->al, req, numbers[i], &s->why), 1);
		assert_int_equal(atlock_reprioritise(s->al, req, numbers[i], &s->why), 1);
		assert_int_equal(atlock_wait_cancel(s->al, numbers[i]), 1);
		if (numbers[i] != 0)
			assert_int_equal(atlock_ticket_get(s->al, &name, numbers[i], "alice", "1", &ticket), 1);
	}
	req->version = UINT64_MAX;
	req->name = &name;
	assert_int_equal(atlock_renew(s->al, req, NULL, &s->why), -EACCES);
	req = stage_ask(s, "global/a", "alice@1");
	req->version = UINT64_MAX;
	assert_int_equal(atlock_renew(s->al, req, NULL, &s->why), -EAGAIN);
	req->version = 0;
	req->token = UINT64_MAX;
	assert_int_equal(atlock_renew(s->al, req, NULL, &s->why), -ESTALE);
	assert_int_equal(atlock_chmod(s->al, req, (mode_t)-1, &s->why), -EINVAL);
	assert_int_equal(stage_commits(s), before);
}

#define SET(test) cmocka_unit_test_setup_teardown(test, setup, stage_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_requests_are_not_refused),
		SET(whatever_is_wrong_is_refused_and_changes_nothing),
		SET(no_manager_and_no_request_are_refused),
		SET(transfer_to_nobody_is_refused),
		SET(numbers_nobody_has_find_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
