/* Reads the chain, and finds changes made to it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event_day.h"
#include "event_log.h"
#include "why.h"

#define EVENT_KEY 11 /* bytes: table, chain, sequence */

static uint16_t key_chain(struct slice key)
{
	const unsigned char *bytes = key.data;

	return (uint16_t)(bytes[1] << 8 | bytes[2]);
}

static int event_decode(struct op *op, struct slice key, struct slice value, struct event *out)
{
	struct record_released released;
	size_t len;
	bool ends;
	int rc;

	rc = key.len == EVENT_KEY ? record_decode(RECORD_EVENT, value, &out->record) : -EBADMSG;
	if (rc == 0 && (out->record.prev.len != EVENT_HASH || out->record.type >= ATLOCK_EVENTS ||
			out->record.code >= ATLOCK_CODES))
		rc = -EBADMSG;
	ends = rc == 0 && out->record.released.len > 0;
	if (ends)
		rc = record_decode(RECORD_RELEASED, out->record.released, &released);
	if (rc < 0)
		return op_corrupt(op, key, rc);
	out->chain = key_chain(key);
	out->seq = record_number((const unsigned char *)key.data + 3);
	len = event_line(&out->record, ends ? &released : NULL, (struct event_number){ out->chain, out->seq },
			 out->line);
	sha256(out->line, len, out->hash);
	out->len = event_line_end(out->line, len, out->hash);
	return 0;
}

int event_get_of(struct op *op, struct event_number number, struct event *out)
{
	struct record_key key = record_key_event(number.chain, number.seq);
	struct slice value;
	int rc = store_get(op->txn, record_key_slice(&key), &value);

	return rc == 0 ? event_decode(op, record_key_slice(&key), value, out) : rc;
}

int event_get(struct op *op, uint64_t seq, struct event *out)
{
	return event_get_of(op, (struct event_number){ op->al->chain, seq }, out);
}

static int event_seek(struct op *op, uint64_t seq, struct slice *key, struct slice *value)
{
	struct record_key from = record_key_event(op->al->chain, seq);

	return store_next(op->txn, record_key_slice(&from), (struct slice){ from.data, 3 }, key, value);
}

int event_next(struct op *op, uint64_t seq, struct event *out)
{
	struct slice key;
	struct slice value;
	int rc = event_seek(op, seq, &key, &value);

	return rc == 0 ? event_decode(op, key, value, out) : rc;
}

int event_first(struct op *op, uint64_t seq, uint64_t *out)
{
	struct slice key;
	int rc = event_seek(op, seq, &key, NULL);

	if (rc == 0 && key.len != EVENT_KEY)
		return op_corrupt(op, key, -EBADMSG);
	if (rc == 0)
		*out = record_number((const unsigned char *)key.data + 3);
	return rc;
}

int event_remove(struct op *op, uint64_t seq, uint64_t end)
{
	struct slice value;
	struct slice key;
	uint64_t bytes;
	int rc = op_tail(op);

	if (rc == 0)
		rc = event_seek(op, seq, &key, &value);
	if (rc != 0)
		return rc;
	if (key.len != EVENT_KEY)
		return op_corrupt(op, key, -EBADMSG);
	if (record_number((const unsigned char *)key.data + 3) >= end)
		return 1;
	bytes = event_bytes(value.len);
	op->tail.events -= bytes < op->tail.events ? bytes : op->tail.events;
	op->tail_dirty = true;
	return store_del(op->txn, key);
}

int event_count_bytes(struct op *op, uint64_t *out)
{
	uint64_t seq = 0;
	struct slice value;
	struct slice key;
	int rc;

	*out = 0;
	while ((rc = event_seek(op, seq, &key, &value)) == 0) {
		if (key.len != EVENT_KEY)
			return op_corrupt(op, key, -EBADMSG);
		*out += event_bytes(value.len);
		seq = record_number((const unsigned char *)key.data + 3) + 1;
	}
	return rc < 0 ? rc : 0;
}

/* An event with NUL-terminated strings, as in the public header. */
struct event_copy {
	struct event from;
	struct atlock_event event;
	char owner[256], who[256], actor[256], comm[256], host[256], old[256], new[256], lock[RECORD_MAX];
};

static const char *text_copy(char *out, struct slice text)
{
	if (text.len > 0)
		memcpy(out, text.data, text.len);
	out[text.len] = '\0';
	return out;
}

static void copy_fill(struct event_copy *copy)
{
	const struct record_event *record = &copy->from.record;

	copy->event = (struct atlock_event){
		.seq = copy->from.seq,
		.type = (enum atlock_event_type)record->type,
		.code = (enum atlock_code)record->code,
		.wall = record->wall,
		.token = record->token,
		.ticket = record->ticket,
		.skipped = record->skipped,
		.lock = text_copy(copy->lock, record->lock),
		.owner = text_copy(copy->owner, record->owner),
		.who = text_copy(copy->who, record->who),
		.old = text_copy(copy->old, record->old),
		.new = text_copy(copy->new, record->new),
		.actor = text_copy(copy->actor, record->actor),
		.comm = text_copy(copy->comm, record->comm),
		.host = text_copy(copy->host, record->host),
		.actor_uid = (uid_t)record->actor_uid,
		.actor_pid = (pid_t)record->actor_pid,
		.session = (pid_t)record->session,
		.line = copy->from.line,
		.line_len = copy->from.len - 1,
	};
	copy->from.line[copy->from.len - 1] = '\0';
	memcpy(copy->event.prev, record->prev.data, sizeof(copy->event.prev));
	memcpy(copy->event.hash, copy->from.hash, sizeof(copy->event.hash));
}

struct event_walk {
	uint64_t from;
	atlock_event_fn *fn;
	void *arg;
	struct event_copy copy;
};

static int events_in_txn(struct op *op)
{
	struct event_walk *walk = op->arg;
	uint64_t seq = walk->from;
	int rc;

	while ((rc = event_next(op, seq, &walk->copy.from)) == 0) {
		copy_fill(&walk->copy);
		if (walk->fn(walk->arg, &walk->copy.event) != 0 || walk->copy.from.seq == UINT64_MAX)
			return 0;
		seq = walk->copy.from.seq + 1;
	}
	return rc < 0 ? rc : 0;
}

int atlock_events(struct atlock *al, uint64_t from, atlock_event_fn *fn, void *arg)
{
	struct event_walk *walk;
	int rc;

	if (al == NULL || fn == NULL)
		return -EINVAL;
	walk = malloc(sizeof(*walk));
	if (walk == NULL)
		return -ENOMEM;
	walk->from = from;
	walk->fn = fn;
	walk->arg = arg;
	rc = op_look(al, events_in_txn, walk, NULL);
	free(walk);
	return rc;
}

struct event_chain {
	uint64_t next; /* the current or expected event; 0: any first one */
	unsigned char hash[EVENT_HASH];
	uint64_t offset;          /* expected offset of its line within the same segment */
	struct segment *segments; /* in the order of their events */
	size_t count;
	size_t at;     /* index of its expected segment */
	bool anchored; /* the log has an anchor: the next two */
	uint64_t anchor;
	unsigned char anchor_hash[EVENT_HASH];
	uint64_t cut; /* the first event, if the one before it is unknown; else 0 */
	struct event event;
};

/*
 * Whether the line of an event is where the segments say. Records of segments before the first may be pruned already.
 */
static bool chain_places(struct event_chain *chain, bool first)
{
	const struct event *event = &chain->event;
	const struct segment *segment;
	bool begins;

	while (chain->at < chain->count && chain->segments[chain->at].last < event->seq)
		chain->at++;
	if (chain->at == chain->count)
		return false;
	segment = &chain->segments[chain->at];
	if (event->seq < segment->first)
		return chain->at == 0;
	begins = event->seq == segment->first;
	if (begins || !first) {
		if (event->record.offset != (begins ? segment->offset : chain->offset))
			return false;
	}
	chain->offset = event->record.offset + event->len;
	return event->seq != segment->last || chain->offset == segment->end;
}

/*
 * Whether the first event is where the log should begin. An earlier one remains when a crash interrupted the removal;
 * for a later one, only its own `prev` names its predecessor.
 */
static bool chain_begins(struct event_chain *chain)
{
	const struct event *event = &chain->event;

	if (event->seq == 1 && !chain->anchored)
		return true;
	if (!chain->anchored || event->seq > chain->anchor + 1)
		chain->cut = event->seq;
	return !chain->anchored || event->seq != chain->anchor + 1 ||
	       memcmp(event->record.prev.data, chain->anchor_hash, EVENT_HASH) == 0;
}

static int chain_step(struct event_chain *chain)
{
	const struct event *event = &chain->event;
	bool first = chain->next == 0;

	if (first && !chain_begins(chain)) {
		chain->next = event->seq;
		return -EBADMSG;
	}
	if (!first && (event->seq != chain->next || memcmp(event->record.prev.data, chain->hash, EVENT_HASH) != 0))
		return -EBADMSG;
	chain->next = event->seq;
	if (chain->anchored && event->seq == chain->anchor && memcmp(event->hash, chain->anchor_hash, EVENT_HASH) != 0)
		return -EBADMSG;
	if (!chain_places(chain, first))
		return -EBADMSG;
	chain->next++;
	memcpy(chain->hash, event->hash, EVENT_HASH);
	return 0;
}

/* Walks the chain and compares its end with the tail, so that removal of the newest events is detected, too. */
static int chain_walk(struct op *op, struct event_chain *chain)
{
	uint64_t seq = 0;
	int rc;

	while ((rc = event_first(op, seq, &seq)) == 0) {
		if (chain->next == 0)
			rc = event_get(op, seq, &chain->event);
		else
			rc = event_next(op, chain->next, &chain->event);
		if (rc < 0 && chain->next == 0)
			chain->next = seq;
		if (rc < 0)
			return rc;
		rc = chain_step(chain);
		if (rc < 0)
			return rc;
		seq = chain->next;
	}
	if (rc < 0)
		return rc;
	if (chain->next == 0)
		chain->next = 1;
	if (op->tail.seq + 1 != chain->next || memcmp(op->tail_hash, chain->hash, EVENT_HASH) != 0)
		return -EBADMSG;
	return 0;
}

static int verify_in_txn(struct op *op)
{
	struct event_chain *chain = op->arg;
	struct anchor anchor = { .seq = 0 };
	int rc = event_anchor(op, &anchor);

	chain->anchored = rc == 0;
	if (rc == 0) {
		chain->anchor = anchor.seq;
		memcpy(chain->anchor_hash, anchor.hash, sizeof(anchor.hash));
	}
	if (rc >= 0)
		rc = event_segments(op, &chain->segments, &chain->count);
	return rc < 0 ? rc : chain_walk(op, chain);
}

int atlock_events_verify(struct atlock *al, uint64_t *bad, struct atlock_why *why)
{
	struct event_chain *chain;
	uint64_t cut;
	uint64_t at;
	int rc;

	if (al == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager given");
	chain = calloc(1, sizeof(*chain));
	if (chain == NULL)
		return why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory");
	rc = op_look(al, verify_in_txn, chain, why);
	at = chain->next;
	cut = chain->cut;
	free(chain->segments);
	free(chain);
	if (rc >= 0 && cut == 0)
		return 0;
	if (bad != NULL)
		*bad = rc >= 0 ? cut : at;
	if (rc >= 0) {
		why_set(why, 0, ATLOCK_BACKEND_ERROR,
			"the log was cut in front of event %ju, and nothing says what was there: it proves no more than that "
			"the events from there on follow on each other",
			(uintmax_t)cut);
		return 1;
	}
	return why_set(why, -EBADMSG, ATLOCK_BACKEND_ERROR, "the event log was changed at event %ju", (uintmax_t)at);
}
