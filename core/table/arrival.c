#include "arrival.h"

#include <errno.h>
#include <string.h>

#include "table.h"

#define TICKET_END 10 /* bytes of a ticket's key after the lock: NUL, rank, number */

static const struct slice counts_key = { "fcounts", 7 };

struct counts {
	uint64_t held;
	uint64_t waiting;
};

static unsigned char table_of(struct slice key)
{
	return key.len == 0 ? 0 : *(const unsigned char *)key.data;
}

bool arrival_is_local(struct slice key)
{
	switch (table_of(key)) {
	case TABLE_HELD:
	case TABLE_ID:
	case TABLE_WAITS:
	case TABLE_DUE: return true;
	default: return slice_equal(key, counts_key);
	}
}

/* --- Instants --- */

static void instant_shift(int64_t *instant, int64_t by)
{
	if (*instant != ATLOCK_NEVER && *instant != 0)
		*instant += by;
}

static void grant_shift(struct record_grant *grant, int64_t by)
{
	instant_shift(&grant->acquired, by);
	instant_shift(&grant->renewed, by);
	instant_shift(&grant->expires, by);
	instant_shift(&grant->claim_by, by);
}

static void ticket_shift(struct record_ticket *ticket, int64_t by)
{
	instant_shift(&ticket->since, by);
	instant_shift(&ticket->deadline, by);
}

/*
 * Sets what instants that were set at `stamp` are worth here. Those that this process set are by its own clock, and were set before they were
 * committed. Of another host's it knows an instant at which they were not committed; if not even that, only when it first saw them.
 */
static void times_set(struct record_times *times, int64_t stamp, const struct store_arrival *arrival)
{
	int64_t before = arrival->own ? stamp : arrival->before;

	if (before == STORE_UNKNOWN || before > arrival->seen) {
		times->shift = arrival->seen - stamp;
		times->late = RECORD_UNSURE;
	} else {
		times->shift = before - stamp;
		times->late = arrival->seen - before;
	}
}

/* A record from a store of one host has no stamp. */
static int64_t grant_stamp(const struct record_grant *grant)
{
	return grant->times.stamp != 0 ? grant->times.stamp : grant->renewed;
}

static void lock_arrive(struct record_lock *lock, const struct record_lock *old, const struct store_arrival *arrival)
{
	struct record_grant *grant = &lock->grant;
	struct record_times *times = &grant->times;

	if (old != NULL && old->grant.token == grant->token && old->grant.state == grant->state &&
	    old->grant.times.stamp == times->stamp)
		*times = old->grant.times;
	else
		times_set(times, grant_stamp(grant), arrival);
	grant_shift(grant, times->shift);
}

static void ticket_arrive(struct record_ticket *ticket, const struct record_ticket *old,
			  const struct store_arrival *arrival)
{
	struct record_times *times = &ticket->times;

	if (old != NULL && old->times.stamp == times->stamp)
		*times = old->times;
	else
		times_set(times, times->stamp != 0 ? times->stamp : ticket->since, arrival);
	ticket_shift(ticket, times->shift);
}

/* What an app says is as old as it can be: that it is down must not be believed for too long. */
static void app_arrive(struct record_app *app, const struct record_app *old, const struct store_arrival *arrival)
{
	int64_t before = arrival->own ? app->written : arrival->before;

	if (old != NULL && old->written - old->shift == app->written)
		app->shift = old->shift;
	else
		app->shift = (before == STORE_UNKNOWN ? 1 : before) - app->written;
	app->written += app->shift;
}

/* --- Indexes and counts --- */

static int index_set(struct store_arrival *arrival, bool had, const struct record_key *before, bool has,
		     const struct record_key *after, struct slice value)
{
	static const struct slice none = { NULL, 0 };
	int rc = 0;

	if (had && has && slice_equal(record_key_slice(before), record_key_slice(after)))
		return 0;
	if (had)
		rc = arrival->put(arrival, record_key_slice(before), none);
	if (rc >= 0 && has)
		rc = arrival->put(arrival, record_key_slice(after), value);
	return rc < 0 ? rc : 0;
}

static int counts_load(struct slice value, struct counts *out)
{
	if (value.len != sizeof(*out))
		return -EBADMSG;
	memcpy(out, value.data, sizeof(*out));
	return 0;
}

static int counts_add(struct store_arrival *arrival, int held, int waiting)
{
	struct counts counts = { 0, 0 };
	struct slice value;
	int rc = held == 0 && waiting == 0 ? 0 : arrival->get(arrival, counts_key, &value);

	if (held == 0 && waiting == 0)
		return 0;
	if (rc == 0)
		rc = counts_load(value, &counts);
	if (rc < 0)
		return rc;
	counts.held += (uint64_t)(int64_t)held;
	counts.waiting += (uint64_t)(int64_t)waiting;
	return arrival->put(arrival, counts_key, (struct slice){ &counts, sizeof(counts) });
}

static int lock_index(struct store_arrival *arrival, const struct record_lock *old, const struct record_lock *new)
{
	static const enum record_table tables[] = { TABLE_HELD, TABLE_ID, TABLE_DUE };
	struct slice lock = { (const unsigned char *)arrival->key.data + 1, arrival->key.len - 1 };
	bool was = old != NULL && old->grant.state != RECORD_DELAYED;
	bool is = new != NULL &&new->grant.state != RECORD_DELAYED;
	int rc = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == 0; i++) {
		struct record_key before;
		struct record_key after;
		bool had = old != NULL && table_grant_index(&old->grant, tables[i], &before);
		bool has = new != NULL &&table_grant_index(&new->grant, tables[i], &after);

		rc = index_set(arrival, had, &before, has, &after, lock);
	}
	return rc < 0 ? rc : counts_add(arrival, is - was, 0);
}

static int ticket_index(struct store_arrival *arrival, const struct record_ticket *old, const struct record_ticket *new)
{
	static const enum record_table tables[] = { TABLE_WAITS, TABLE_DUE };
	const unsigned char *key = arrival->key.data;
	struct slice lock = { key + 1, arrival->key.len - 1 - TICKET_END };
	struct ticket before = { .number = record_number(key + arrival->key.len - 8) };
	struct ticket after = before;
	unsigned char place[1 + ATLOCK_KEY_MAX];
	int rc = 0;

	if (old != NULL)
		before.record = *old;
	if (new != NULL)
		after.record = *new;
	place[0] = key[arrival->key.len - 9];
	memcpy(place + 1, lock.data, lock.len);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == 0; i++) {
		struct record_key from;
		struct record_key to;
		bool had = old != NULL && table_ticket_index(&before, tables[i], &from);
		bool has = new != NULL &&table_ticket_index(&after, tables[i], &to);

		rc = index_set(arrival, had, &from, has, &to, (struct slice){ place, 1 + lock.len });
	}
	return rc < 0 ? rc : counts_add(arrival, 0, (new != NULL) - (old != NULL));
}

int arrival_counts(struct op *op, uint64_t *held, uint64_t *waiting)
{
	struct counts counts = { 0, 0 };
	struct slice value;
	int rc = op_tail(op);

	if (rc == 0 && op->al->shared) {
		rc = store_get(op->txn, counts_key, &value);
		if (rc == 0)
			rc = counts_load(value, &counts);
		*held = counts.held;
		*waiting = counts.waiting;
	} else if (rc == 0) {
		*held = op->tail.held;
		*waiting = op->tail.waiting;
	}
	return rc < 0 ? rc : 0;
}

/* --- By table --- */

/* A record that may be there, of any of the kinds below. */
struct any {
	bool is;
	union {
		struct record_lock lock;
		struct record_ticket ticket;
		struct record_app app;
	};
};

static enum record_kind kind_of(struct slice key)
{
	switch (table_of(key)) {
	case TABLE_LOCK: return key.len > 1 && key.len <= ATLOCK_KEY_MAX + 1 ? RECORD_LOCK : 0;
	case TABLE_TICKET:
		return key.len > 1 + TICKET_END && key.len <= ATLOCK_KEY_MAX + 1 + TICKET_END ? RECORD_TICKET : 0;
	case TABLE_APP: return RECORD_APP;
	default: return 0;
	}
}

/* One that is damaged is kept as it is, and has no index: who reads it is told. */
static void any_decode(enum record_kind kind, struct slice value, struct any *out)
{
	out->is = value.data != NULL && record_decode(kind, value, &out->lock) == 0;
}

static int any_encode(enum record_kind kind, const struct any *any, unsigned char *buf, struct slice *value)
{
	int len = record_encode(kind, &any->lock, buf);

	*value = (struct slice){ buf, len < 0 ? 0 : (size_t)len };
	return len < 0 ? len : 0;
}

int arrival_arrive(void *arg, struct store_arrival *arrival, struct slice *value)
{
	enum record_kind kind = kind_of(arrival->key);
	struct any old;
	struct any new;
	int rc = 0;

	(void)arg;
	*value = arrival->new;
	if (kind == 0)
		return 0;
	any_decode(kind, arrival->old, &old);
	any_decode(kind, arrival->new, &new);
	if (new.is && kind == RECORD_LOCK)
		lock_arrive(&new.lock, old.is ? &old.lock : NULL, arrival);
	else if (new.is && kind == RECORD_TICKET)
		ticket_arrive(&new.ticket, old.is ? &old.ticket : NULL, arrival);
	else if (new.is)
		app_arrive(&new.app, old.is ? &old.app : NULL, arrival);
	if (new.is)
		rc = any_encode(kind, &new, arrival->buf, value);
	if (rc == 0 && kind == RECORD_LOCK)
		rc = lock_index(arrival, old.is ? &old.lock : NULL, new.is ? &new.lock : NULL);
	else if (rc == 0 && kind == RECORD_TICKET)
		rc = ticket_index(arrival, old.is ? &old.ticket : NULL, new.is ? &new.ticket : NULL);
	return rc;
}

int arrival_leave(void *arg, struct slice key, struct slice *value, unsigned char *buf)
{
	enum record_kind kind = kind_of(key);
	struct any any;

	(void)arg;
	if (kind == 0)
		return 0;
	any_decode(kind, *value, &any);
	if (!any.is)
		return 0;
	if (kind == RECORD_LOCK) {
		grant_shift(&any.lock.grant, -any.lock.grant.times.shift);
		any.lock.grant.times = (struct record_times){ .stamp = any.lock.grant.times.stamp };
	} else if (kind == RECORD_TICKET) {
		ticket_shift(&any.ticket, -any.ticket.times.shift);
		any.ticket.times = (struct record_times){ .stamp = any.ticket.times.stamp };
	} else {
		any.app.written -= any.app.shift;
		any.app.shift = 0;
	}
	return any_encode(kind, &any, buf, value);
}

/* --- Moving --- */

/* Of the host that joins a realm first, before its first life. */
#define BOOT_BEFORE (UINT32_C(1) << STATE_LIFE_BITS)

int arrival_unbind(struct slice key, struct slice *value, unsigned char *buf)
{
	enum record_kind kind = kind_of(key);
	struct any any;

	if (kind != RECORD_LOCK && kind != RECORD_TICKET)
		return 0;
	any_decode(kind, *value, &any);
	if (!any.is)
		return -EBADMSG;
	if (kind == RECORD_LOCK)
		any.lock.grant.holder.boot = BOOT_BEFORE;
	else
		any.ticket.holder.boot = BOOT_BEFORE;
	return any_encode(kind, &any, buf, value);
}

int arrival_settle(struct slice key, struct slice *value, int64_t now, unsigned char *buf)
{
	const struct store_arrival arrival = { .before = now, .seen = now };
	enum record_kind kind = kind_of(key);
	struct any any;

	if (kind == 0)
		return 0;
	any_decode(kind, *value, &any);
	if (!any.is)
		return -EBADMSG;
	if (kind == RECORD_LOCK) {
		lock_arrive(&any.lock, NULL, &arrival);
		any.lock.grant.times = (struct record_times){ .stamp = 0 };
	} else if (kind == RECORD_TICKET) {
		ticket_arrive(&any.ticket, NULL, &arrival);
		any.ticket.times = (struct record_times){ .stamp = 0 };
	} else {
		app_arrive(&any.app, NULL, &arrival);
		any.app.shift = 0;
	}
	return any_encode(kind, &any, buf, value);
}
