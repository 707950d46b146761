#include "event_chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TAIL_NAME "tail"
#define TAIL_KEY (1 + sizeof(TAIL_NAME) - 1 + 2) /* bytes: table, name, chain */
#define EVENT_KEY 11

int event_chain_next(struct op *op, uint16_t *chain, struct record_tail *tail)
{
	struct record_key prefix = record_key_meta(TAIL_NAME);
	struct record_key from = record_key_tail(*chain);
	const unsigned char *bytes;
	struct slice value;
	struct slice key;
	int rc = store_next(op->txn, record_key_slice(&from), record_key_slice(&prefix), &key, &value);

	if (rc != 0)
		return rc;
	rc = key.len == TAIL_KEY ? record_decode(RECORD_TAIL, value, tail) : -EBADMSG;
	if (rc < 0)
		return op_corrupt(op, key, rc);
	bytes = key.data;
	*chain = (uint16_t)(bytes[TAIL_KEY - 2] << 8 | bytes[TAIL_KEY - 1]);
	return 0;
}

int event_chain_first(struct op *op, uint16_t chain, uint64_t *seq, struct slice *value)
{
	struct record_key from = record_key_event(chain, *seq);
	struct slice key;
	int rc = store_next(op->txn, record_key_slice(&from), (struct slice){ from.data, 3 }, &key, value);

	if (rc == 0 && key.len != EVENT_KEY)
		return op_corrupt(op, key, -EBADMSG);
	if (rc == 0)
		*seq = record_number((const unsigned char *)key.data + 3);
	return rc;
}

/* --- What they are, for readers --- */

struct chains {
	struct atlock_chain *all;
	size_t count;
};

static struct slice hash_of(const struct record_tail *tail)
{
	static const unsigned char none[EVENT_HASH] = { 0 };

	return tail->hash.len == EVENT_HASH ? tail->hash : (struct slice){ none, EVENT_HASH };
}

static int chain_anchor(struct op *op, uint16_t chain, struct atlock_chain *out)
{
	struct record_key key = record_key_anchor(chain);
	struct record_anchor anchor;
	int rc = op_get(op, RECORD_ANCHOR, &key, &anchor);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (anchor.hash.len != EVENT_HASH)
		return op_corrupt(op, record_key_slice(&key), -EBADMSG);
	out->anchor = anchor.seq;
	event_hash_print(anchor.hash.data, out->anchor_hash);
	return 0;
}

/* The name of the host, from its last event, as a string of JSON may have it. */
static int chain_host(struct op *op, uint16_t chain, uint64_t last, struct atlock_chain *out)
{
	struct record_key key = record_key_event(chain, last);
	struct record_event event;
	int rc = last == 0 ? 1 : op_get(op, RECORD_EVENT, &key, &event);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	for (size_t i = 0; i < event.host.len && i < sizeof(out->host) - 1; i++) {
		char c = ((const char *)event.host.data)[i];

		out->host[i] = '?';
		if (c > ' ' && c < 0x7f && c != '"' && c != '\\')
			out->host[i] = c;
	}
	return 0;
}

static int chains_add(struct op *op, struct chains *chains, uint16_t chain, const struct record_tail *tail)
{
	struct atlock_chain *all = reallocarray(chains->all, chains->count + 1, sizeof(*all));
	struct atlock_chain *added;
	int rc;

	if (all == NULL)
		return -ENOMEM;
	chains->all = all;
	added = &all[chains->count++];
	*added = (struct atlock_chain){ .chain = chain, .own = chain == op->al->chain, .last = tail->seq };
	event_hash_print(hash_of(tail).data, added->hash);
	rc = chain_anchor(op, chain, added);
	return rc < 0 ? rc : chain_host(op, chain, tail->seq, added);
}

static int chains_in_txn(struct op *op)
{
	struct chains *chains = op->arg;
	struct record_tail tail = { .seq = 0 };
	uint16_t chain = 0;
	int rc;

	chains->count = 0;
	while ((rc = event_chain_next(op, &chain, &tail)) == 0) {
		rc = chains_add(op, chains, chain, &tail);
		if (rc < 0 || chain == UINT16_MAX)
			return rc;
		chain++;
	}
	return rc < 0 ? rc : 0;
}

int atlock_chains(struct atlock *al, atlock_chain_fn *fn, void *arg)
{
	struct chains chains = { .all = NULL };
	int rc;

	if (al == NULL || fn == NULL)
		return -EINVAL;
	rc = al->chains ? op_look(al, chains_in_txn, &chains, NULL) : 1;
	for (size_t i = 0; rc == 0 && i < chains.count; i++)
		if (fn(arg, &chains.all[i]) != 0)
			break;
	free(chains.all);
	return rc;
}

static int look_in_txn(struct op *op)
{
	struct record_tail tail;
	uint16_t chain = 1;

	return event_chain_next(op, &chain, &tail);
}

int event_chains_look(struct atlock *al, struct atlock_why *why)
{
	int rc = al->shared ? 0 : op_look(al, look_in_txn, NULL, why);

	al->chains = rc == 0;
	return rc < 0 ? rc : 0;
}
