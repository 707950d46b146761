/*
 * The life of one lock, moment by moment: the table of docs/DESIGN.md ("Expiry as a timeline"), row by row. A lease, a
 * rest or a claim that ends at an instant is over one nanosecond later.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCK "global/a"
#define LEASE 60
#define AT(seconds, ns) ((seconds)*ATLOCK_SECOND + (ns))

enum call { LOOK, SWEEP, ACQUIRE, RENEW, JOIN };

static const struct row {
	int64_t at;
	enum call call;
	int result;
	const char *as;
	const char *holder; /* afterwards */
	const char *events; /* written by the call */
} rows[] = {
	{ AT(0, 0), ACQUIRE, 0, "alice@1", "alice@1", "acquired" },
	{ AT(20, 0), RENEW, 0, "alice@1", "alice@1", "renewed" }, /* until 80 s */
	{ AT(30, 0), JOIN, 0, "bob@1", "alice@1", "queued" },
	{ AT(31, 0), JOIN, 0, "carol@1", "alice@1", "queued" },
	{ AT(80, 0), SWEEP, 0, NULL, "alice@1", "" },
	{ AT(80, 1), LOOK, 0, NULL, "free", "" },
	{ AT(80, 1), RENEW, -ENOENT, "alice@1", "free", "" },
	{ AT(80, 1), ACQUIRE, -EBUSY, "dave@1", "free", "" },
	{ AT(80, 1), SWEEP, 1, NULL, "free", "expired" }, /* rests until 90 s and 1 ns */
	{ AT(90, 1), SWEEP, 0, NULL, "free", "" },
	{ AT(90, 2), SWEEP, 1, NULL, "bob@1 pending", "granted" },
	{ AT(100, 0), ACQUIRE, 1, "bob@1", "bob@1", "claimed" }, /* until 160 s */
	{ AT(160, 1), SWEEP, 1, NULL, "free", "expired" },
	{ AT(170, 2), SWEEP, 1, NULL, "carol@1 pending", "granted" }, /* to be taken up until 200 s and 2 ns */
	{ AT(200, 2), LOOK, 0, NULL, "carol@1 pending", "" },
	{ AT(200, 3), ACQUIRE, 0, "dave@1", "dave@1", "unclaimed acquired" },
};

static int row_call(struct stage *s, const struct row *row)
{
	struct atlock_request *req;
	uint64_t ticket;

	switch (row->call) {
	case SWEEP: return atlock_run_due(s->al);
	case ACQUIRE: return stage_acquire(s, LOCK, row->as, row->at == 0 ? LEASE : 0);
	case RENEW: return stage_renew(s, LOCK, row->as, 0);
	case JOIN:
		req = stage_ask(s, LOCK, row->as);
		req->ttl = LEASE * ATLOCK_SECOND;
		return atlock_enqueue(s->al, req, &ticket, NULL, &s->why);
	case LOOK: break;
	}
	return 0;
}

static void one_lock_from_hand_to_hand(void **state)
{
	struct stage *s = *state;
	int64_t begun;

	stage_configure(s, "lock_delay", "10s");
	stage_configure(s, "claim_timeout", "30s");
	(void)stage_events(s);
	begun = atlock_now(s->al);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		stage_advance_ns(s, begun + rows[i].at - atlock_now(s->al));
		print_message("row %zu\n", i);
		assert_int_equal(row_call(s, &rows[i]), rows[i].result);
		assert_string_equal(stage_holder(s, LOCK), rows[i].holder);
		assert_string_equal(stage_events(s), rows[i].events);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(one_lock_from_hand_to_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
