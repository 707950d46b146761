#include "op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dir_path.h"
#include "holder.h"
#include "log.h"
#include "space.h"
#include "table.h"
#include "tally.h"
#include "why.h"

/*
 * Numbers that a synced commit reserves when commits are not synced: so a lost tail never causes a number to be used
 * twice.
 */
#define NUMBER_RESERVE 65536

static void *pile_add(struct op *op, struct pile *pile, size_t size)
{
	void *at;

	if (pile->len + size > pile->cap) {
		size_t cap = pile->cap * 2 + size;
		unsigned char *data = malloc(cap);

		if (data == NULL) {
			op->failure = -ENOMEM;
			return NULL;
		}
		memcpy(data, pile->data, pile->len);
		if (pile->data != pile->small)
			free(pile->data);
		pile->data = data;
		pile->cap = cap;
	}
	at = pile->data + pile->len;
	pile->len += size;
	return at;
}

static void pile_init(struct pile *pile)
{
	pile->data = pile->small;
	pile->cap = sizeof(pile->small);
	pile->len = 0;
}

static void pile_free(struct pile *pile)
{
	if (pile->data != pile->small)
		free(pile->data);
	pile_init(pile);
}

void *op_new(size_t size, atlock_end_fn *told, void *arg, struct atlock_why *why)
{
	struct op *op = malloc(size);

	if (op == NULL) {
		told(arg, why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory"));
		return NULL;
	}
	op->told = told;
	op->told_arg = arg;
	return op;
}

void op_tell_end(struct op *op, int rc)
{
	atlock_end_fn *told = op->told;
	void *arg = op->told_arg;

	free(op);
	told(arg, rc);
}

void op_init(struct op *op, struct atlock *al, const struct atlock_caller *caller, struct atlock_why *why)
{
	const struct config *config = state_config(al);

	op->al = al;
	op->options = &config->options;
	op->policy = caller != NULL && !caller->admin ? config->policy : NULL;
	if (op->policy != NULL)
		policy_user_find(op->policy, al->users, caller->owner, caller->uid, &op->policy_user);
	op->caller = caller;
	op->holder = NULL;
	op->request = NULL;
	op->why = why;
	op->arg = NULL;
	op->random = 0;
	op->wait = 0;
	op->claimed = 0;
	op->call = METRICS_NONE;
	op->tallied.count = 0;
	pile_init(&op->notices);
	pile_init(&op->changes);
	pile_init(&op->bound);
	pile_init(&op->marks);
	pile_init(&op->charges);
	pile_init(&op->texts);
	op->circle = 0;
	op->late = 0;
	why_clear(why);
}

static void op_reset(struct op *op, struct store_txn *txn)
{
	op->txn = txn;
	state_host(op->al);
	clock_read(&op->al->clock, &op->now, &op->wall);
	op->refusal = 0;
	op->failure = 0;
	op->counter_loaded = op->counter_dirty = false;
	op->tail_loaded = op->tail_dirty = false;
	op->ended = op->sweeps = false;
	op->dir_known = false;
	op->due = ATLOCK_NEVER;
	op->positions.noted = 0;
	op->notices.len = 0;
	op->changes.len = 0;
	op->bound.len = 0;
	op->marks.len = 0;
	op->charges.len = 0;
	op->texts.len = 0;
	op->circle = 0;
	op->late = 0;
	why_clear(op->why);
}

int key_corrupt(struct atlock_why *why, struct slice key, int err)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *bytes = key.data;
	char text[3 * 96 + 1];
	size_t at = 0;
	size_t i;

	for (i = 0; i < key.len && at + 4 < sizeof(text); i++) {
		if (bytes[i] > ' ' && bytes[i] < 0x7f && bytes[i] != '\\') {
			text[at++] = (char)bytes[i];
		} else {
			text[at++] = '\\';
			text[at++] = hex[bytes[i] >> 4];
			text[at++] = hex[bytes[i] & 15];
		}
	}
	text[at] = '\0';
	return why_set(why, -EIO, ATLOCK_BACKEND_ERROR,
		       err == -EPROTONOSUPPORT ? "the record at key %s was written by a newer version: upgrade"
		       : err == -ENOKEY ? "the text at key %s is sealed with a key that was not given: mount with it"
					: "the record at key %s is damaged: restore a backup of the store",
		       text);
}

int op_corrupt(struct op *op, struct slice key, int err)
{
	struct atlock_why unasked = { .text = "" };
	struct atlock_why *why = op->why != NULL ? op->why : &unasked;
	int rc = key_corrupt(why, key, err);

	log_limited(op->al, &op->al->log_store, ATLOCK_LOG_ERROR, "%s", why->text);
	return rc;
}

int op_get(struct op *op, enum record_kind kind, const struct record_key *key, void *record)
{
	struct slice at = record_key_slice(key);
	struct slice value;
	int rc;

	rc = store_get(op->txn, at, &value);
	if (rc != 0)
		return rc;
	rc = record_decode(kind, value, record);
	return rc < 0 ? op_corrupt(op, at, rc) : 0;
}

int op_put(struct op *op, enum record_kind kind, const struct record_key *key, const void *record)
{
	unsigned char buf[RECORD_MAX];
	int len;

	len = record_encode(kind, record, buf);
	if (len < 0)
		return len;
	return store_put(op->txn, record_key_slice(key), (struct slice){ buf, (size_t)len });
}

int op_tail(struct op *op)
{
	int rc;

	if (op->tail_loaded)
		return 0;
	struct record_key key = record_key_tail(op->al->chain);
	rc = op_get(op, RECORD_TAIL, &key, &op->tail);
	if (rc < 0)
		return rc;
	if (rc == 1)
		memset(&op->tail, 0, sizeof(op->tail));
	memset(op->tail_hash, 0, sizeof(op->tail_hash));
	if (op->tail.hash.len == sizeof(op->tail_hash))
		memcpy(op->tail_hash, op->tail.hash.data, sizeof(op->tail_hash));
	op->tail.hash = (struct slice){ op->tail_hash, sizeof(op->tail_hash) };
	op->events_before = space_events_all(&op->tail);
	op->tail_loaded = true;
	return 0;
}

bool op_is_full(const struct op *op)
{
	size_t limit = store_limit(op->al->store);

	return limit != 0 && store_txn_keys(op->txn) >= limit / 2;
}

static int op_counter(struct op *op)
{
	int rc;

	if (op->counter_loaded)
		return 0;
	rc = op_get(op, RECORD_COUNTER, &record_key_counter, &op->counter);
	if (rc < 0)
		return rc;
	if (rc == 1)
		op->counter = (struct record_counter){ .next = 1 };
	op->counter_loaded = true;
	return 0;
}

/* A shared store has numbers by path, since the ids of directories change. 1: the store is not shared. */
static int number_shared(struct op *op, struct slice lock, uint64_t *out)
{
	char path[ATLOCK_PATH_MAX];
	int rc;

	if (!op->al->shared)
		return 1;
	rc = dir_path(op, lock, path, sizeof(path));
	return rc < 0 ? rc : store_number(op->al->store, op->txn, (struct slice){ path, (size_t)rc }, out);
}

int op_number(struct op *op, struct slice lock, uint64_t *out)
{
	int rc = number_shared(op, lock, out);

	if (rc != 1)
		return rc;
	rc = op_counter(op);
	if (rc < 0)
		return rc;
	if (!store_durable(op->al->store) && op->counter.next >= op->counter.ceiling) {
		op->counter.ceiling = op->counter.next + NUMBER_RESERVE;
		store_txn_sync(op->txn);
	}
	*out = op->counter.next++;
	op->counter_dirty = true;
	return 0;
}

int op_skip(struct op *op, uint64_t count)
{
	int rc = op_counter(op);

	if (rc < 0)
		return rc;
	op->counter.next += count;
	op->counter_dirty = true;
	store_txn_sync(op->txn);
	return 0;
}

/* Writes back the numbers and the tail that the operation changed. */
static int op_flush(struct op *op)
{
	int rc = 0;

	if (op->tail_dirty) {
		struct record_key key = record_key_tail(op->al->chain);

		op->tail.time = op->now;
		op->tail.offset = op->wall - op->now;
		rc = op_put(op, RECORD_TAIL, &key, &op->tail);
		if (!op->al->shared)
			store_promise(op->al->store, op->tail.owed);
	}
	if (rc == 0 && op->counter_dirty)
		rc = op_put(op, RECORD_COUNTER, &record_key_counter, &op->counter);
	return rc;
}

static int op_update_txn(struct store_txn *txn, void *arg)
{
	struct op *op = arg;
	int rc;
	int flushed;

	op_reset(op, txn);
	tally_undo(op);
	op->decided = false;
	rc = op->fn(op);
	if (rc >= 0) {
		op->decided = true;
		flushed = op_flush(op);
		if (flushed == 0)
			flushed = op->failure;
		rc = flushed < 0 ? flushed : rc;
	}
	if (rc < 0)
		tally_undo(op);
	return rc;
}

/* The view that this thread is running, if any. */
struct viewing {
	const struct store *store;
	struct store_txn *txn;
};

static _Thread_local struct viewing op_viewing;

static int op_view_txn(struct store_txn *txn, void *arg)
{
	struct op *op = arg;
	struct viewing outer = op_viewing;
	int rc;

	op_viewing = (struct viewing){ op->al->store, txn };
	op_reset(op, txn);
	rc = op->fn(op);
	op_viewing = outer;
	return rc;
}

/* What the error means for later calls. */
static const char *store_prospect(struct op *op)
{
	struct store_stats stats;

	store_stats(op->al->store, &stats);
	if (stats.changed)
		return "; its files were moved, removed or written to by another program: nothing is answered until the "
		       "daemon is started again";
	return stats.dead ? "; nothing works any more until the daemon is started again" : "";
}

/* Whether `rc` is a failure of the store, not a refusal whose caller passed no `why`. */
static bool is_trouble(int rc)
{
	return rc == -EIO || rc == -ENOSPC || rc == -EROFS || rc == -ENOMEM || rc == -EBADMSG;
}

/* An error without an explanation comes from the store. */
static int op_explain(struct op *op, int rc)
{
	if (rc >= 0 || (op->why != NULL && op->why->code != ATLOCK_OK))
		return rc;
	if (is_trouble(rc))
		log_limited(op->al, &op->al->log_store, ATLOCK_LOG_ERROR, "the store failed: %s%s", strerror(-rc),
			    store_prospect(op));
	if (rc == -ENOSPC)
		return why_set(op->why, rc, ATLOCK_BACKEND_ERROR,
			       "no room left on the disk of the store: make room and try again");
	if (rc == -E2BIG && store_limit(op->al->store) != 0)
		return why_set(
			op->why, -EDQUOT, ATLOCK_QUOTA,
			"this is too much for one step: a store that several hosts share takes %zu keys at once, "
			"and a lock has about ten. Ask for fewer locks at a time",
			store_limit(op->al->store));
	if (rc == -EROFS)
		return why_set(op->why, rc, ATLOCK_BACKEND_ERROR, "the store is open for reading only");
	return why_set(op->why, rc == -EBADMSG ? -EIO : rc, ATLOCK_BACKEND_ERROR, "the store failed: %s%s",
		       strerror(-rc), store_prospect(op));
}

static void op_begin(struct op *op, op_fn *fn)
{
	op->fn = fn;
	op->decided = false;
	op->began = op->call != METRICS_NONE ? steady_now() : 0;
	op->random = state_random(op->al);
}

/* Ends the operation after the store returned `rc`. */
static int op_end(struct op *op, int rc)
{
	bool committed = rc >= 0;

	if (committed) {
		position_committed(op);
		space_charge(op);
		if (op->refusal < 0)
			rc = op->refusal;
	} else if (op->decided) {
		tally_forget(op);
		why_clear(op->why);
	}
	rc = op_explain(op, rc);
	op->al->after(op, committed, rc);
	pile_free(&op->notices);
	pile_free(&op->changes);
	pile_free(&op->bound);
	pile_free(&op->marks);
	pile_free(&op->charges);
	pile_free(&op->texts);
	return metrics_count(&op->al->metrics, op->call, op->began, rc, op->why);
}

int op_run(struct op *op, op_fn *fn)
{
	op_begin(op, fn);
	return op_end(op, store_update(op->al->store, op_update_txn, op));
}

static void op_job_done(struct store_job *job, int result)
{
	struct op *op = (struct op *)job;

	op->end(op, op_end(op, result));
}

void op_submit(struct op *op, op_fn *fn, op_end_fn *end)
{
	op_begin(op, fn);
	op->end = end;
	op->job = (struct store_job){ .fn = op_update_txn, .arg = op, .done = op_job_done };
	store_submit(op->al->store, &op->job);
}

int op_view(struct op *op, op_fn *fn)
{
	op->fn = fn;
	/* A callback inside a listing reads the same snapshot as the listing. */
	if (op_viewing.store == op->al->store)
		return op_explain(op, op_view_txn(op_viewing.txn, op));
	return op_explain(op, store_view(op->al->store, op_view_txn, op));
}

bool op_is_view(const struct op *op)
{
	return op->txn == op_viewing.txn;
}

int op_look(struct atlock *al, op_fn *fn, void *arg, struct atlock_why *why)
{
	struct op op;

	op_init(&op, al, NULL, why);
	op.arg = arg;
	return op_view(&op, fn);
}

int op_list(struct atlock *al, op_fn *fn, void *arg)
{
	struct op op;

	op_init(&op, al, NULL, NULL);
	op.arg = arg;
	op.fn = fn;
	if (op_viewing.store == al->store)
		return op_view(&op, fn);
	return op_explain(&op, store_list(al->store, op_view_txn, &op));
}

int op_peek(struct atlock *al, op_fn *fn, void *arg)
{
	struct op op;

	op_init(&op, al, NULL, NULL);
	op.arg = arg;
	op.fn = fn;
	return store_peek(al->store, op_view_txn, &op);
}

static int nothing_in_txn(struct op *op)
{
	(void)op;
	return 0;
}

int op_catch_up(struct atlock *al, struct atlock_why *why)
{
	return al->shared ? op_look(al, nothing_in_txn, NULL, why) : 0;
}

int op_call(struct atlock *al, const struct atlock_caller *caller, enum metrics_call call, op_fn *fn, void *arg,
	    struct atlock_why *why)
{
	struct op op;

	op_init(&op, al, caller, why);
	op.call = call;
	op.arg = arg;
	return op_run(&op, fn);
}

bool op_tells(const struct op *op, const struct record_ticket *ticket)
{
	/* The call that runs this operation gets its result as the return value. */
	return ticket->wait != 0 && ticket->wait != op->wait && ticket->instance == op->al->instance;
}

void op_tell(struct op *op, const struct record_ticket *ticket, int err, enum atlock_code code,
	     const struct record_grant *granted)
{
	struct notice *notice;

	if (!op_tells(op, ticket))
		return;
	notice = pile_add(op, &op->notices, sizeof(*notice));
	if (notice == NULL)
		return;
	memset(notice, 0, sizeof(*notice));
	notice->wait = ticket->wait;
	notice->err = err;
	notice->code = code;
	notice->text = err == -EDEADLK ? op->circle : err == -ETIMEDOUT ? op->late : 0;
	if (granted != NULL)
		table_grant_fill(&notice->grant, granted);
}

/* Keeps a text until after the commit: 1 + its offset, 0 without memory. */
static size_t text_keep(struct op *op, const char *text)
{
	size_t at = op->texts.len;
	char *copy = pile_add(op, &op->texts, strlen(text) + 1);

	if (copy == NULL)
		return 0;
	memcpy(copy, text, strlen(text) + 1);
	return at + 1;
}

void op_circle(struct op *op, const char *text)
{
	size_t at = text_keep(op, text);

	if (at != 0)
		op->circle = at;
}

void op_late(struct op *op, const char *text)
{
	op->late = text_keep(op, text);
}

const char *op_circle_text(const struct op *op)
{
	return op->circle != 0 ? (const char *)op->texts.data + op->circle - 1 : NULL;
}

void op_changed(struct op *op, enum atlock_change what, struct slice lock)
{
	unsigned char *at;

	if (op->al->on_change == NULL)
		return;
	at = pile_add(op, &op->changes, 3 + lock.len);
	if (at == NULL)
		return;
	at[0] = (unsigned char)what;
	at[1] = (unsigned char)(lock.len >> 8);
	at[2] = (unsigned char)lock.len;
	memcpy(at + 3, lock.data, lock.len);
}

void op_bound(struct op *op, struct slice who, uint64_t start)
{
	char text[ATLOCK_WHO_MAX + 1] = "";
	struct bound *bound;
	pid_t pid;

	if (start == 0 || who.len >= sizeof(text))
		return;
	memcpy(text, who.data, who.len);
	if (!holder_pid(text, &pid))
		return;
	bound = pile_add(op, &op->bound, sizeof(*bound));
	if (bound != NULL)
		*bound = (struct bound){ pid, start };
}

void op_due(struct op *op, int64_t instant)
{
	if (instant < op->due)
		op->due = instant;
}

void op_charge(struct op *op, uid_t uid, int64_t bytes)
{
	struct op_charge *charge = pile_add(op, &op->charges, sizeof(*charge));

	if (charge != NULL)
		*charge = (struct op_charge){ uid, bytes };
}

void op_mark(struct op *op, enum metrics_mark_kind kind, unsigned int label, int64_t value)
{
	struct metrics_mark *mark = pile_add(op, &op->marks, sizeof(*mark));

	if (mark != NULL)
		*mark = (struct metrics_mark){ kind, label, value };
}
