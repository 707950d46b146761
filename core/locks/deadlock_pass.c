/*
 * The periodic pass over the wait-for graph. It searches on a snapshot, which delays no change, from every holder that waits and
 * however long the way is. Only for a circle that it found it makes a change: from a holder of the circle it searches once more,
 * since the snapshot may be old by then, and cancels a wait.
 */
#include <errno.h>
#include <string.h>

#include "atlock/manual.h"
#include "deadlock.h"

/* A holder in a circle, copied out of the snapshot that it was found in. */
struct found {
	struct actor actor; /* its texts are those below */
	char owner[256];
	char who[256];
	char repo[STORE_KEY_MAX];
};

struct pass {
	struct record_key from; /* where to go on in the table of waits */
	struct found found;
};

static struct slice slice_copy(struct slice text, char *out, size_t size)
{
	size_t len = text.len < size ? text.len : size;

	if (len > 0)
		memcpy(out, text.data, len);
	return (struct slice){ out, len };
}

static void found_set(struct found *found, const struct actor *actor)
{
	found->actor = *actor;
	found->actor.owner = slice_copy(actor->owner, found->owner, sizeof(found->owner));
	found->actor.who = slice_copy(actor->who, found->who, sizeof(found->who));
	found->actor.repo = slice_copy(actor->repo, found->repo, sizeof(found->repo));
}

/*
 * Reads the waiter of an entry of the table of waits: 0, or 1 if its ticket is gone. A damaged ticket is an error: a request that
 * needs it reports it.
 */
static int start_of(struct op *op, struct slice key, struct slice value, struct actor *out)
{
	const unsigned char *place = value.data;
	struct ticket ticket;
	struct slice lock;
	int rc;

	if (key.len < 11 || value.len < 2)
		return op_corrupt(op, key, -EBADMSG);
	lock = (struct slice){ place + 1, value.len - 1 };
	rc = table_ticket_get(op, lock, place[0], record_number((const unsigned char *)key.data + key.len - 8),
			      &ticket);
	if (rc == 0)
		*out = actor_of(lock, &ticket.record.holder);
	return rc == 1 ? op_corrupt(op, key, -EBADMSG) : rc;
}

/* Searches from every waiting holder behind `from`: 1 and a holder of the first circle found, or 0. */
static int pass_look(struct op *op)
{
	struct pass *pass = op->arg;
	const struct slice prefix = { pass->from.data, 1 };
	struct waitfor graph = { .op = op };
	struct slice value = { NULL, 0 };
	struct slice key = { NULL, 0 };
	struct actor start;
	size_t first = 0;
	int rc;

	while ((rc = store_next(op->txn, record_key_slice(&pass->from), prefix, &key, &value)) == 0) {
		rc = start_of(op, key, value, &start);
		if (rc == 0)
			rc = waitfor_from(&graph, &start, true, &first);
		if (rc != 0)
			break;
		pass->from = record_key_after(key);
	}
	rc = rc < 0 ? rc : graph.depth > first;
	if (rc == 1)
		found_set(&pass->found, &graph.steps[first].actor);
	waitfor_free(&graph);
	return rc;
}

/* Cancels a wait of the circle, if it is still there: 1 or 0. */
static int pass_resolve(struct op *op)
{
	const struct pass *pass = op->arg;
	struct waitfor graph = { .op = op };
	size_t first = 0;
	int rc = waitfor_from(&graph, &pass->found.actor, true, &first);

	if (rc == 1)
		rc = deadlock_resolve(&graph, first);
	waitfor_free(&graph);
	return rc < 0 ? rc : rc > 0;
}

int atlock_run_deadlock(struct atlock *al)
{
	struct pass pass = { .from = record_key_of(TABLE_WAITS, (struct slice){ NULL, 0 }) };
	struct op op;
	int victims = 0;
	int rc;

	if (al == NULL)
		return -EINVAL;
	if (state_options(al)->deadlock_policy == ATLOCK_DEADLOCK_OFF)
		return 0;
	while ((rc = op_look(al, pass_look, &pass, NULL)) == 1) {
		op_init(&op, al, NULL, NULL);
		op.arg = &pass;
		rc = op_run(&op, pass_resolve);
		if (rc < 0)
			break;
		victims += rc;
		if (rc == 0) /* it has ended by itself */
			pass.from = record_key_after(record_key_slice(&pass.from));
	}
	return rc < 0 ? rc : victims;
}
