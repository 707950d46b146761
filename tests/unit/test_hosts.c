/* Several managers on one shared store: the realm in memory, and clocks that are hours apart. */
#include "hosts_fixture.h"
#include "op.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>
#include <cmocka.h>

#define LOCK "global/a"

static void a_lock_is_one_for_all_hosts(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *b = h->stages[1];
	uint64_t token;

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	token = a->grant.token;
	assert_string_equal(stage_holder(b, LOCK), "alice@1");
	assert_int_equal(stage_acquire(b, LOCK, "alice@2", 60), -EBUSY);
	/* A holder with a name is the same on every host. */
	assert_int_equal(stage_acquire(b, LOCK, "alice@1", 60), 1);
	assert_int_equal(stage_release(b, LOCK, "alice@1"), 0);
	assert_string_equal(stage_holder(a, LOCK), "free");
	assert_int_equal(stage_acquire(b, LOCK, "bob@1", 60), 0);
	assert_true(b->grant.token > token);
	token = b->grant.token;
	assert_int_equal(stage_release(b, LOCK, "bob@1"), 0);
	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	assert_true(a->grant.token > token);
}

static void sessions_of_two_hosts_are_two_holders(void **state)
{
	struct hosts *h = *state;

	assert_int_equal(stage_acquire(h->stages[0], LOCK, "alice@sid:7", 60), 0);
	assert_int_equal(stage_acquire(h->stages[1], LOCK, "alice@sid:7", 60), -EBUSY);
	assert_int_equal(stage_release(h->stages[1], LOCK, "alice@sid:7"), -EPERM);
	assert_int_equal(stage_acquire(h->stages[0], LOCK, "alice@sid:7", 60), 1);
}

static void a_wait_is_granted_by_another_host(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *b = h->stages[1];
	struct told *told = stage_told(b);

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_wait(b, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	assert_string_equal(stage_queue(a, LOCK), "bob@1");
	assert_int_equal(stage_release(a, LOCK, "alice@1"), 0);
	/* A does not know whether that call still waits. */
	assert_string_equal(stage_holder(a, LOCK), "bob@1 pending");
	assert_int_equal(told->times, 0);
	hosts_follow(h, 1);
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, 0);
	assert_string_equal(stage_holder(a, LOCK), "bob@1");
	hosts_follow(h, 1);
	assert_int_equal(told->times, 1);
}

static void a_wait_that_another_host_ended_is_told(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *b = h->stages[1];
	struct told *told = stage_told(b);
	struct atlock_ticket ticket = { .ticket = 0 };
	struct atlock_request *req;

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_wait(b, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	req = stage_ask(a, LOCK, "bob@1");
	assert_int_equal(atlock_ticket_get(a->al, req->name, 0, "bob", "1", &ticket), 0);
	assert_int_equal(atlock_cancel(a->al, req, ticket.ticket, &a->why), 0);
	atlock_ticket_clear(&ticket);
	hosts_follow(h, 1);
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, -ECANCELED);
}

/* Another host's search chose it, or its sweep came first: the call is told why, as if its own host had ended it. */
static void a_wait_that_another_host_ended_is_told_why(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *b = h->stages[1];
	struct told *told = stage_told(b);
	struct told *second = stage_told(b);

	stage_configure(a, "deadlock_policy", "fifo");
	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_acquire(b, "global/b", "bob@1", 60), 0);
	assert_int_equal(stage_wait(b, LOCK, "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	/* It closes the circle, and the older wait gives way. */
	assert_int_equal(stage_wait(a, "global/b", "alice@1", ATLOCK_NORMAL, stage_told(a), NULL), 1);
	hosts_follow(h, 1);
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, -EDEADLK);

	stage_configure(b, "queue_timeout", "5s");
	assert_int_equal(stage_wait(b, LOCK, "carol@1", ATLOCK_NORMAL, second, NULL), 1);
	hosts_run(h, 8, 1);
	hosts_follow(h, 1);
	assert_int_equal(second->times, 1);
	assert_int_equal(second->err, -ETIMEDOUT);
}

/* The holder stops to rely on a lease before another host may take the lock, however their clocks stand. */
static void a_lease_ends_for_its_holder_before_another_host_takes_it(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *b = h->stages[1];

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	assert_string_equal(stage_holder(b, LOCK), "alice@1");
	hosts_run(h, 59, 3);
	assert_int_equal(stage_acquire(b, LOCK, "bob@1", 60), -EACCES);
	assert_int_equal(stage_renew(a, LOCK, "alice@1", 60), 0);
	hosts_run(h, 59, 3);
	assert_int_equal(stage_acquire(b, LOCK, "bob@1", 60), -EACCES);
	/* A's time is over, B's is not. */
	hosts_run(h, 1, 3);
	assert_false(hosts_is_sure(a, LOCK, "1"));
	assert_int_equal(stage_acquire(b, LOCK, "bob@1", 60), -EACCES);
	hosts_run(h, 3, 3);
	assert_int_equal(stage_acquire(b, LOCK, "bob@1", 60), 0);
	assert_string_equal(stage_holder(a, LOCK), "bob@1");
}

/* A change that is no renewal leaves the time as it is, also one that another host makes. */
static void a_chmod_elsewhere_is_no_renewal(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *b = h->stages[1];

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	hosts_run(h, 50, 3);
	assert_int_equal(atlock_chmod(b->al, stage_ask(b, LOCK, "alice@1"), 0600, &b->why), 0);
	hosts_run(h, 9, 3);
	assert_true(hosts_is_sure(a, LOCK, "1"));
	hosts_run(h, 3, 3);
	assert_false(hosts_is_sure(a, LOCK, "1"));
	assert_false(hosts_is_sure(b, LOCK, "1"));
	hosts_run(h, 2, 3);
	assert_int_equal(stage_acquire(b, LOCK, "bob@1", 60), 0);
}

/* A host that starts knows of no lease how much of it is left: it waits all of it out, and lets its holder renew. */
static void a_host_that_starts_waits_a_lease_out(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *b = h->stages[1];

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	hosts_run(h, 30, 3);
	hosts_forget(h, 1);
	assert_false(hosts_is_sure(b, LOCK, "1"));
	assert_string_equal(stage_holder(b, LOCK), "alice@1");
	assert_int_equal(stage_acquire(b, LOCK, "bob@1", 60), -EACCES);
	hosts_run(h, 50, 2);
	assert_int_equal(stage_acquire(b, LOCK, "bob@1", 60), -EACCES);
	assert_int_equal(stage_renew(b, LOCK, "alice@1", 60), 0);
	assert_true(hosts_is_sure(b, LOCK, "1"));
}

/* The answer of atlock_holds(), which is what the mount asks for a holder. */
static int holds(struct stage *s, const char *lock, const char *as)
{
	struct atlock_request *req = stage_ask(s, lock, as);

	return atlock_holds(s->al, req->name, req->caller, NULL, &s->why);
}

/* Whether the lock is that who's, for a lease that the host does not know. */
static bool is_unsure(struct stage *s, const char *lock, const char *who)
{
	struct atlock_name name = stage_name(lock);
	struct atlock_view view = { .owner = NULL };

	assert_true(strlcpy(name.who, who, sizeof(name.who)) < sizeof(name.who));
	int rc = atlock_get(s->al, &name, &view);
	bool unsure = view.unsure;
	atlock_view_clear(&view);
	assert_true(!unsure || rc == 1);
	return unsure;
}

/* A holder that asks there renews by that, with a commit that fails if another has the lock by then. */
static void a_holder_on_a_host_that_starts_still_has_its_lock(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	uint64_t token;

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	token = a->grant.token;
	hosts_run(h, 30, 3);
	hosts_forget(h, 0);
	assert_true(is_unsure(a, LOCK, "1"));
	assert_false(is_unsure(a, LOCK, "2"));
	assert_int_equal(holds(a, LOCK, "bob@1"), -EACCES);
	assert_true(is_unsure(a, LOCK, "1"));
	assert_int_equal(holds(a, LOCK, "alice@1"), 0);
	assert_true(hosts_is_sure(a, LOCK, "1"));
	/* That was one renewal: asking again is none. */
	hosts_run(h, 59, 3);
	assert_int_equal(holds(a, LOCK, "alice@1"), 0);
	hosts_run(h, 1, 3);
	assert_int_equal(holds(a, LOCK, "alice@1"), 1);
	assert_false(is_unsure(a, LOCK, "1"));
	hosts_run(h, 3, 3);
	assert_int_equal(stage_acquire(h->stages[1], LOCK, "bob@1", 60), 0);
	assert_true(h->stages[1]->grant.token > token);
}

static void a_lock_taken_again_on_a_host_that_starts_is_sure(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	hosts_forget(h, 0);
	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 0), 1);
	assert_true(hosts_is_sure(a, LOCK, "1"));
	assert_int_equal(stage_release(a, LOCK, "alice@1"), 0);
	assert_string_equal(stage_holder(a, LOCK), "free");
}

/* Between the grant to a ticket and its claim, the waiter's host fetches the realm again. */
static void a_grant_is_claimed_after_the_mirror_was_filled_again(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *c = h->stages[2];

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_enqueue(c, LOCK, "carol@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_release(a, LOCK, "alice@1"), 0);
	hosts_refill(h, 2);
	assert_true(is_unsure(c, LOCK, "1"));
	assert_int_equal(holds(c, LOCK, "carol@1"), 0);
	assert_true(hosts_is_sure(c, LOCK, "1"));
	assert_string_equal(stage_holder(a, LOCK), "carol@1");
	assert_int_equal(stage_release(c, LOCK, "carol@1"), 0);
	assert_string_equal(stage_holder(a, LOCK), "free");
}

static void a_blocked_call_is_answered_after_the_mirror_was_filled_again(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *c = h->stages[2];
	struct told *told = stage_told(c);

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_wait(c, LOCK, "carol@1", ATLOCK_NORMAL, told, NULL), 1);
	assert_int_equal(stage_release(a, LOCK, "alice@1"), 0);
	hosts_refill(h, 2);
	hosts_follow(h, 2);
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, 0);
	assert_true(hosts_is_sure(c, LOCK, "1"));
}

/* While its host does not know the lease, another takes the lock: the holder is not told that it has it. */
static void a_lease_that_is_over_elsewhere_is_not_renewed(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *b = h->stages[1];

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
	hosts_run(h, 50, 3);
	hosts_forget(h, 0);
	hosts_run(h, 14, 2);
	assert_int_equal(stage_acquire(b, LOCK, "bob@1", 60), 0);
	assert_int_equal(holds(a, LOCK, "alice@1"), -EACCES);
	assert_string_equal(stage_holder(a, LOCK), "bob@1");
}

/* A and B are alive, C is silent for longer than its time-out. */
static void what_is_bound_to_a_silent_host_passes_on(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *c = h->stages[2];
	struct told *told = stage_told(a);

	assert_int_equal(stage_acquire(c, LOCK, "carol@sid:7", 3600), 0);
	assert_int_equal(stage_acquire(c, "global/b", "carol@job", 3600), 0);
	assert_int_equal(stage_wait(a, LOCK, "alice@1", ATLOCK_NORMAL, told, NULL), 1);
	hosts_run(h, 10, 3);
	assert_string_equal(stage_holder(a, LOCK), "carol@sid:7");
	hosts_run(h, 10, 3);
	assert_int_equal(told->times, 1);
	assert_int_equal(told->err, 0);
	assert_string_equal(stage_holder(a, LOCK), "alice@1");
	/* A name is not bound to the host. */
	assert_string_equal(stage_holder(a, "global/b"), "carol@job");
	/* C comes back in another life: its session has lost the lock, and cannot give back what is another's. */
	assert_int_equal(stage_release(c, LOCK, "carol@sid:7"), -EACCES);
	assert_string_equal(stage_holder(c, LOCK), "alice@1");
}

/* REMOTE.md's case 8. */
static void a_grant_to_a_silent_host_is_taken_back(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *c = h->stages[2];
	struct told *first = stage_told(c);
	struct told *second = stage_told(a);

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 3600), 0);
	assert_int_equal(stage_wait(c, LOCK, "carol@1", ATLOCK_NORMAL, first, NULL), 1);
	assert_int_equal(stage_wait(a, LOCK, "alice@2", ATLOCK_NORMAL, second, NULL), 1);
	hosts_run(h, 1, 7);
	assert_int_equal(stage_release(a, LOCK, "alice@1"), 0);
	assert_string_equal(stage_holder(a, LOCK), "carol@1 pending");
	/* C is paused; its grant is not claimed. */
	hosts_run(h, 70, 3);
	assert_int_equal(second->times, 1);
	assert_int_equal(second->err, 0);
	assert_string_equal(stage_holder(a, LOCK), "alice@2");
	hosts_run(h, 2, 7);
	assert_int_equal(first->times, 1);
	assert_int_equal(first->err, -ECANCELED);
	assert_string_equal(stage_holder(c, LOCK), "alice@2");
}

/* The call that it was granted to is gone with that life of its host: nothing is left to wait for. */
static void a_grant_to_a_call_of_an_earlier_life_passes_on_at_once(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *c = h->stages[2];
	struct told *second = stage_told(a);

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 3600), 0);
	assert_int_equal(stage_wait(c, LOCK, "carol@1", ATLOCK_NORMAL, stage_told(c), NULL), 1);
	assert_int_equal(stage_wait(a, LOCK, "alice@2", ATLOCK_NORMAL, second, NULL), 1);
	assert_int_equal(stage_release(a, LOCK, "alice@1"), 0);
	assert_string_equal(stage_holder(a, LOCK), "carol@1 pending");
	hosts_kill(h, 2);
	hosts_run(h, 1, 7);
	assert_int_equal(second->times, 1);
	assert_int_equal(second->err, 0);
	assert_string_equal(stage_holder(c, LOCK), "alice@2");
}

/* A ticket that no call waits for is its name's, whatever becomes of the host. */
static void a_grant_to_a_name_of_an_earlier_life_stays(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *c = h->stages[2];

	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 3600), 0);
	assert_int_equal(stage_enqueue(c, LOCK, "carol@1", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_release(a, LOCK, "alice@1"), 0);
	hosts_kill(h, 2);
	hosts_run(h, 1, 7);
	assert_string_equal(stage_holder(a, LOCK), "carol@1 pending");
	assert_int_equal(holds(c, LOCK, "carol@1"), 0);
	assert_string_equal(stage_holder(a, LOCK), "carol@1");
}

/* The answer is lost: the caller is told that it failed, and the lock is given back. */
static void an_acquire_in_doubt_is_undone(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];

	h->faults[0].lose_reply_in = 1;
	h->faults[0].before_commit = hosts_cut_after;
	h->faults[0].before_arg = &h->faults[0];
	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), -EIO);
	h->faults[0].before_commit = NULL;
	h->faults[0].cut = false;
	hosts_run(h, 5, 7);
	assert_true(atlock_run_ends(a->al) >= 0);
	assert_string_equal(stage_holder(a, LOCK), "free");
	assert_int_equal(stage_acquire(h->stages[1], LOCK, "bob@1", 60), 0);
}

/* The same of a wait: its ticket is removed; one that was granted meanwhile is given back. */
static void a_wait_in_doubt_leaves_no_ticket(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct stage *b = h->stages[1];
	struct told *told = stage_told(a);

	for (int granted = 0; granted < 2; granted++) {
		assert_int_equal(stage_acquire(b, LOCK, "bob@1", 60), 0);
		hosts_follow(h, 0);
		h->faults[0].lose_reply_in = 1;
		h->faults[0].before_commit = hosts_cut_after;
		h->faults[0].before_arg = &h->faults[0];
		assert_int_equal(stage_wait(a, LOCK, "alice@1", ATLOCK_NORMAL, told, NULL), -EIO);
		assert_string_equal(stage_queue(b, LOCK), "alice@1");
		h->faults[0].before_commit = NULL;
		if (granted == 1) {
			assert_int_equal(stage_release(b, LOCK, "bob@1"), 0);
			assert_string_equal(stage_holder(b, LOCK), "alice@1 pending");
		}
		h->faults[0].cut = false;
		hosts_run(h, 3, 7);
		assert_true(atlock_run_ends(a->al) >= 0);
		assert_string_equal(stage_queue(b, LOCK), "");
		assert_string_equal(stage_holder(b, LOCK), granted == 1 ? "free" : "bob@1");
		if (granted == 0)
			assert_int_equal(stage_release(b, LOCK, "bob@1"), 0);
	}
	assert_int_equal(told->times, 0);
}

static void an_engine_out_of_reach_is_said_in_time(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct atlock_view view = { .owner = NULL };
	struct atlock_name name = stage_name(LOCK);

	h->faults[0].cut = true;
	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), -EHOSTDOWN);
	assert_int_equal(atlock_get(a->al, &name, &view), -EHOSTDOWN);
	h->faults[0].cut = false;
	hosts_run(h, 5, 7);
	assert_int_equal(stage_acquire(a, LOCK, "alice@1", 60), 0);
}

/* The indexes are each host's own, and follow from the records. */
static void a_mirror_that_is_filled_again_has_the_same_indexes(void **state)
{
	struct hosts *h = *state;
	struct atlock_status before;
	struct atlock_status after;

	assert_int_equal(stage_acquire(h->stages[0], LOCK, "alice@1", 60), 0);
	assert_int_equal(stage_acquire(h->stages[0], "global/b", "alice@2", 60), 0);
	assert_int_equal(stage_enqueue(h->stages[1], LOCK, "bob@1", ATLOCK_HIGH, NULL), 0);
	assert_int_equal(atlock_status(h->stages[1]->al, &before), 0);
	hosts_forget(h, 1);
	assert_int_equal(atlock_status(h->stages[1]->al, &after), 0);
	assert_int_equal(before.held, 2);
	assert_int_equal(after.held, 2);
	assert_int_equal(before.waiting, 1);
	assert_int_equal(after.waiting, 1);
	size_t released = 0;
	struct atlock_caller alice = stage_caller("alice@2");
	assert_int_equal(atlock_release_holder(h->stages[1]->al, &alice, &released, &h->stages[1]->why), 0);
	assert_int_equal(released, 1);
	assert_string_equal(stage_holder(h->stages[0], "global/b"), "free");
}

/* Case 12: a pull request is closed on B right after A has taken a lock for it. */
static void a_holder_that_leaves_on_another_host_leaves_all(void **state)
{
	struct hosts *h = *state;
	struct atlock_caller bob = stage_caller("bob@pr:5");
	size_t released = 0;

	assert_int_equal(stage_acquire(h->stages[0], LOCK, "bob@pr:5", 60), 0);
	assert_int_equal(atlock_release_holder(h->stages[1]->al, &bob, &released, &h->stages[1]->why), 0);
	assert_int_equal(released, 1);
}

#define MANY 1000

/* More than the engine takes in one commit: see tests/mem_realm.c. */
static void locks_take(struct stage *s, const char *as)
{
	char lock[64];

	for (int i = 0; i < MANY; i++) {
		(void)snprintf(lock, sizeof(lock), "repos/acme/infra/-/d%d/-/w", i);
		assert_int_equal(stage_acquire(s, lock, as, 600), 0);
	}
}

static void a_holder_of_many_locks_leaves_them_in_steps(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct atlock_caller alice = stage_caller("alice@1");
	size_t released = 0;

	locks_take(a, "alice@1");
	assert_int_equal(atlock_release_holder(h->stages[1]->al, &alice, &released, &h->stages[1]->why), 0);
	assert_int_equal(released, MANY);
	assert_string_equal(stage_holder(a, "repos/acme/infra/-/d999/-/w"), "free");
}

static void a_pull_request_with_many_locks_is_closed_in_steps(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct atlock_caller alice = stage_caller("alice@any");
	struct atlock_pull parts = { .host = "github.com", .repo = "acme/infra", .num = 5 };
	struct atlock_pull_name pull;
	size_t released = 0;

	locks_take(a, "alice@pr:5");
	assert_int_equal(atlock_pull_join(&parts, &pull, &a->why), 0);
	assert_int_equal(atlock_pull_close(a->al, &alice, &pull, &released, &a->why), 0);
	assert_int_equal(released, MANY);
	assert_string_equal(stage_holder(h->stages[1], "repos/acme/infra/-/d0/-/w"), "free");
}

static void locks_that_are_too_many_for_one_step_are_refused(void **state)
{
	struct hosts *h = *state;
	struct stage *a = h->stages[0];
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_request reqs[MANY];
	struct atlock_name *names = calloc(MANY, sizeof(*names));
	char lock[64];

	for (int i = 0; i < MANY; i++) {
		(void)snprintf(lock, sizeof(lock), "repos/acme/infra/-/d%d/-/w", i);
		assert_int_equal(atlock_name_parse(lock, &names[i], NULL), 0);
		reqs[i] = (struct atlock_request){ .caller = &alice, .name = &names[i], .ttl = 60 * ATLOCK_SECOND };
	}
	assert_int_equal(atlock_acquire_all(a->al, reqs, MANY, NULL, NULL, &a->why), -EDQUOT);
	assert_int_equal(a->why.code, ATLOCK_QUOTA);
	assert_string_equal(stage_holder(a, "repos/acme/infra/-/d0/-/w"), "free");
	assert_int_equal(atlock_acquire_all(a->al, reqs, 100, NULL, NULL, &a->why), 0);
	assert_string_equal(stage_holder(h->stages[1], "repos/acme/infra/-/d99/-/w"), "alice@1");
	free(names);
}

static int setting_write(struct op *op)
{
	struct record_key key = record_key_of(TABLE_SETTING, slice_of("on_event"));
	struct record_setting record = { slice_of(op->arg) };

	return op_put(op, RECORD_SETTING, &key, &record);
}

/* As whoever can write to the realm would, or an earlier version did. */
static void a_command_in_the_realm_is_run_by_no_host(void **state)
{
	static char command[] = "touch /tmp/run-by-another";
	struct hosts *h = *state;
	struct atlock_options options;
	struct op op;

	assert_int_equal(atlock_configure(h->stages[0]->al, NULL, "on_event", command, NULL), -EPERM);
	assert_int_equal(atlock_configure(h->stages[0]->al, NULL, "max_queue", "77", NULL), 0);
	op_init(&op, h->stages[0]->al, NULL, NULL);
	op.arg = command;
	assert_int_equal(op_run(&op, setting_write), 0);
	hosts_run(h, 1, 7);
	hosts_forget(h, 2);
	for (int i = 1; i < HOSTS_COUNT; i++) {
		atlock_options_read(h->stages[i]->al, &options);
		assert_string_equal(options.on_event, "");
		assert_int_equal(options.max_queue, 77);
	}
}

#define HOSTED(test) cmocka_unit_test_setup_teardown(test, hosts_setup, hosts_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOSTED(a_lock_is_one_for_all_hosts),
		HOSTED(a_holder_of_many_locks_leaves_them_in_steps),
		HOSTED(a_pull_request_with_many_locks_is_closed_in_steps),
		HOSTED(locks_that_are_too_many_for_one_step_are_refused),
		HOSTED(sessions_of_two_hosts_are_two_holders),
		HOSTED(a_wait_is_granted_by_another_host),
		HOSTED(a_wait_that_another_host_ended_is_told),
		HOSTED(a_wait_that_another_host_ended_is_told_why),
		HOSTED(a_lease_ends_for_its_holder_before_another_host_takes_it),
		HOSTED(a_chmod_elsewhere_is_no_renewal),
		HOSTED(a_host_that_starts_waits_a_lease_out),
		HOSTED(a_holder_on_a_host_that_starts_still_has_its_lock),
		HOSTED(a_lock_taken_again_on_a_host_that_starts_is_sure),
		HOSTED(a_grant_is_claimed_after_the_mirror_was_filled_again),
		HOSTED(a_blocked_call_is_answered_after_the_mirror_was_filled_again),
		HOSTED(a_lease_that_is_over_elsewhere_is_not_renewed),
		HOSTED(what_is_bound_to_a_silent_host_passes_on),
		HOSTED(a_grant_to_a_silent_host_is_taken_back),
		HOSTED(a_grant_to_a_call_of_an_earlier_life_passes_on_at_once),
		HOSTED(a_grant_to_a_name_of_an_earlier_life_stays),
		HOSTED(an_acquire_in_doubt_is_undone),
		HOSTED(a_wait_in_doubt_leaves_no_ticket),
		HOSTED(an_engine_out_of_reach_is_said_in_time),
		HOSTED(a_mirror_that_is_filled_again_has_the_same_indexes),
		HOSTED(a_holder_that_leaves_on_another_host_leaves_all),
		HOSTED(a_command_in_the_realm_is_run_by_no_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
