#include "after.h"

#include "alarm.h"
#include "background.h"
#include "ends.h"
#include "hook.h"
#include "publish.h"
#include "refusal.h"
#include "table.h"
#include "waits.h"

static void announce(const struct op *op, enum atlock_change what, struct slice key)
{
	const struct atlock_request *req = op->request;
	struct atlock_name name;

	if (req != NULL && req->own != NULL && what != ATLOCK_CHANGE_DIR && slice_equal(key, name_slice(req->name))) {
		++*req->own;
		return;
	}
	name_from_key(&name, key);
	op->al->on_change(op->al->change_arg, what, &name);
}

static void answer(const struct op *op, struct notice notice)
{
	if (notice.text != 0)
		notice.reason = (const char *)op->texts.data + notice.text - 1;
	waits_finish(op->al, &notice);
}

static void deliver(const struct op *op)
{
	const struct notice *notices = (const struct notice *)(const void *)op->notices.data;
	const struct bound *bound = (const struct bound *)(const void *)op->bound.data;
	const struct metrics_mark *marks = (const struct metrics_mark *)(const void *)op->marks.data;
	size_t at;
	size_t i;

	for (i = 0; i < op->marks.len / sizeof(*marks); i++)
		metrics_mark(&op->al->metrics, &marks[i]);
	if (op->marks.len > 0) {
		hook_wake(op->al);
		publish_wake(op->al);
	}
	for (i = 0; i < op->bound.len / sizeof(*bound); i++)
		background_bind(op->al, bound[i].pid, bound[i].start);
	if (op->due != ATLOCK_NEVER)
		alarm_due(op->al, op->due);
	for (i = 0; i < op->notices.len / sizeof(*notices); i++)
		answer(op, notices[i]);
	for (at = 0; at < op->changes.len;) {
		const unsigned char *change = op->changes.data + at;
		struct slice key = { change + 3, (size_t)change[1] << 8 | change[2] };

		announce(op, (enum atlock_change)change[0], key);
		at += 3 + key.len;
	}
}

void after_op(struct op *op, bool committed, int rc)
{
	if (committed)
		deliver(op);
	if (op->claimed != 0)
		ends_claimed(op, rc >= 0);
	/* A refusal that nevertheless wrote something has an event of its own. */
	if (op->refusal == 0)
		refusal_note(op, rc);
}
