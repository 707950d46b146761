#include "remote_hello.h"

#include "remote_bytes.h"
#include "remote_engine.h"
#include "remote_entry.h"
#include "remote_feed.h"
#include "remote_number.h"
#include "remote_register.h"

#include <errno.h>

#define REVISION_LEAP (UINT64_C(1) << 24)
#define STEPS 8 /* each is followed by another look at the engine */

static int look(struct engine *engine, const struct remote_report *report, const struct remote_at *distrust)
{
	return engine->adapter->ops->hello(engine->adapter, report, distrust, &engine->welcome);
}

static int scanned(void *arg, struct slice key, uint64_t version, struct slice value)
{
	struct engine *engine = arg;

	return mirror_fill(engine->mirror, key, version, value, remote_clock(engine));
}

/* Fills the mirror from the engine. 0, REMOTE_HELLO (too much was trimmed meanwhile) or a negative errno. */
static int resync(struct engine *engine)
{
	struct remote_at begun = engine->welcome.at;
	int rc = mirror_fill_begin(engine->mirror, engine->welcome.id);

	if (rc == 0)
		rc = engine->adapter->ops->scan(engine->adapter, scanned, engine);
	if (rc == 0)
		rc = mirror_fill_end(engine->mirror, &begun);
	if (rc == 0)
		rc = look(engine, NULL, NULL);
	if (rc == 0)
		rc = feed_catch_up(engine, REMOTE_LINE_COMMIT, engine->welcome.at.revision);
	if (rc == 0)
		rc = mirror_fill_whole(engine->mirror);
	if (rc == 0)
		feed_tell(engine, (struct slice){ .data = "", .len = 0 });
	return rc;
}

static bool mirror_is_of_realm(struct engine *engine)
{
	unsigned char id[REMOTE_ID];

	return mirror_id(engine->mirror, id) == 0 && memcmp(id, engine->welcome.id, REMOTE_ID) == 0;
}

/* The mirror has entries that the engine does not have. */
static bool mirror_is_ahead(struct engine *engine, const struct remote_at *at)
{
	const struct remote_at *end = &engine->welcome.at;

	return mirror_is_of_realm(engine) &&
	       (at->revision > end->revision || (at->revision == end->revision && at->tag != end->tag));
}

/* Takes the mirror to where the engine is, by the history or by a scan. */
static int follow(struct engine *engine)
{
	struct remote_at at = mirror_at(engine->mirror);
	int rc = REMOTE_HELLO;

	if (mirror_is_of_realm(engine) && at.revision != 0 && !mirror_is_ahead(engine, &at) &&
	    !mirror_is_old(engine->mirror))
		rc = feed_catch_up(engine, REMOTE_LINE_COMMIT, engine->welcome.at.revision);
	return rc == REMOTE_HELLO ? resync(engine) : rc;
}

struct waiting {
	const struct remote_welcome *welcome;
	uint16_t self;
	bool missing; /* a live host has not reported */
};

static bool has_reported(const struct remote_welcome *welcome, int chain)
{
	for (size_t i = 0; i < welcome->count; i++)
		if (welcome->reports[i].chain == chain)
			return true;
	return false;
}

static int waiting_fn(struct store_txn *txn, void *arg)
{
	struct waiting *waiting = arg;
	struct slice value;
	struct box box;

	for (int chain = 1; chain < REMOTE_CHAINS; chain++) {
		struct box_key key = box_key((uint16_t)chain);
		int rc = mirror_get(txn, box_key_slice(&key), &value, NULL);

		if (rc == 0)
			rc = box_decode(value, &box);
		if (rc < 0)
			return rc;
		if (rc == 0 && !box.gone && chain != waiting->self && !has_reported(waiting->welcome, chain))
			waiting->missing = true;
	}
	return 0;
}

/* Whether this host is the one to open the realm: the farthest, or of several the one with the lowest chain. */
static bool is_farthest(const struct remote_welcome *welcome, const struct remote_report *own)
{
	for (size_t i = 0; i < welcome->count; i++) {
		const struct remote_report *report = &welcome->reports[i];

		if (report->base.revision > own->base.revision ||
		    (report->base.revision == own->base.revision && report->chain < own->chain))
			return false;
	}
	return true;
}

struct replay {
	struct engine *engine;
	struct remote_at before;
};

static int replay_entry(void *arg, struct slice entry)
{
	struct replay *replay = arg;
	struct slice rest = entry;
	struct entry_head head;
	int rc = replay->engine->adapter->ops->append(replay->engine->adapter, &replay->before, entry, 0);

	if (rc == 0 && entry_head_take(&rest, &head)) {
		replay->before.revision = head.revision;
		replay->before.tag = head.tag;
	}
	return rc;
}

static int floor_fn(struct store_txn *txn, void *arg)
{
	return number_floor_next(txn, arg);
}

/* Opens the next epoch behind `before`, which the mirror has. */
static int epoch_open(struct engine *engine, const struct remote_at *before)
{
	const struct entry_head head = {
		.revision = before->revision + REVISION_LEAP,
		.tag = remote_random(engine),
		.before = before->tag,
	};
	unsigned char entry[ENTRY_HEAD + 64];
	unsigned char value[8];
	struct remote_at at;
	uint64_t floor;
	int rc = mirror_view(engine->mirror, floor_fn, &floor, &at);

	if (rc < 0)
		return rc;
	(void)bytes_put(value, floor, sizeof(value));
	const struct txn_write write = {
		.key = number_floor_key(),
		.value = { .data = value, .len = sizeof(value) },
	};
	unsigned char *end = entry_write_put(entry_head_put(entry, &head), &write);
	return engine->adapter->ops->append(engine->adapter, before,
					    (struct slice){ .data = entry, .len = (size_t)(end - entry) },
					    before->epoch + 1);
}

/* Gives back what the engine lost, if the mirror continues its history, and opens it. */
static int restore(struct engine *engine)
{
	struct replay replay = { .engine = engine, .before = engine->welcome.at };
	struct remote_at at = mirror_at(engine->mirror);
	int rc = 0;

	if (mirror_is_ahead(engine, &at)) {
		rc = mirror_since(engine->mirror, engine->welcome.at.tag, replay_entry, &replay);
		/* Another history: what the engine has is kept. */
		if (rc == -ENODATA)
			rc = resync(engine);
	}
	return rc == 0 ? epoch_open(engine, &replay.before) : rc;
}

/* Milliseconds since this process was first met. */
static int64_t gathered_for(struct engine *engine)
{
	int64_t now = remote_clock(engine);

	if (engine->gather_process != engine->welcome.process) {
		engine->gather_process = engine->welcome.process;
		engine->gather_since = now;
	}
	return (now - engine->gather_since) / 1000000;
}

/* In a process that the realm is not open in: 0 if it is worth looking again, -EHOSTDOWN if others must act first. */
static int gather(struct engine *engine)
{
	struct remote_at at = mirror_at(engine->mirror);
	struct waiting waiting = { .welcome = &engine->welcome };
	struct mirror_host host;
	int64_t timeout = engine->options.host_timeout;
	int rc = mirror_host(engine->mirror, &host);

	if (rc == 0 && !mirror_is_ahead(engine, &at))
		rc = follow(engine);
	if (rc != 0 || engine->welcome.opened)
		return rc;
	struct remote_report own = { .chain = host.chain, .base = mirror_at(engine->mirror) };
	rc = look(engine, host.incarnation != 0 ? &own : NULL, NULL);
	if (rc != 0 || engine->welcome.opened)
		return rc;
	waiting.self = host.chain;
	int64_t gathered = gathered_for(engine);
	rc = mirror_view(engine->mirror, waiting_fn, &waiting, &at);
	if (rc < 0)
		return rc;
	bool complete = !waiting.missing || gathered >= timeout;
	bool opens = is_farthest(&engine->welcome, &own) || gathered >= 2 * timeout;
	return complete && opens ? restore(engine) : -EHOSTDOWN;
}

/* Continues the mirror in a process that the realm is open in, and registers. REMOTE_HELLO: look again. */
static int join(struct engine *engine)
{
	struct remote_at at = mirror_at(engine->mirror);

	/* The engine has lost something in the middle of an epoch. */
	if (mirror_is_ahead(engine, &at) && at.epoch == engine->welcome.at.epoch) {
		int rc = look(engine, NULL, &at);
		return rc == 0 ? REMOTE_HELLO : rc;
	}
	int rc = follow(engine);
	if (rc == 0)
		rc = mirror_set_epoch(engine->mirror, engine->welcome.at.epoch);
	if (rc != 0)
		return rc;
	if (engine->doubt.epoch != engine->welcome.at.epoch)
		engine->doubt.open = false;
	return register_host(engine);
}

/* The realm must be the one that was joined first: another one would have none of the locks that are held. */
static bool realm_is_same(struct engine *engine)
{
	static const unsigned char none[REMOTE_ID];

	if (memcmp(engine->id, none, REMOTE_ID) == 0)
		memcpy(engine->id, engine->welcome.id, REMOTE_ID);
	return memcmp(engine->id, engine->welcome.id, REMOTE_ID) == 0;
}

int hello_join(struct engine *engine)
{
	int rc = REMOTE_HELLO;

	atomic_store(&engine->strange, false);
	engine->ready = false;
	for (int i = 0; i < STEPS && (rc == REMOTE_HELLO || rc == REMOTE_FENCED); i++) {
		rc = look(engine, NULL, NULL);
		if (rc < 0)
			return rc;
		if (!realm_is_same(engine))
			return -EHOSTDOWN;
		bool opened = engine->welcome.opened;
		rc = opened ? join(engine) : gather(engine);
		if (rc == 0 && opened)
			engine->ready = true;
		else if (rc == 0)
			rc = REMOTE_HELLO;
	}
	return rc > 0 ? -EHOSTDOWN : rc;
}
