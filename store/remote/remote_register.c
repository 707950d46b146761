#include "remote_register.h"

#include "remote_commit.h"
#include "remote_engine.h"
#include "remote_feed.h"
#include "remote_watchdog.h"

#include <bsd/string.h>
#include <errno.h>

#define TRIES 64

/* What the mirror has of the chain's box; with chain -1, which chain is free. */
struct look {
	int chain;
	uint64_t version;
	struct box box;
};

static int look_fn(struct store_txn *txn, void *arg)
{
	struct look *look = arg;
	bool any = look->chain < 0;
	struct slice value;

	for (int chain = any ? 1 : look->chain; chain < REMOTE_CHAINS; chain++) {
		struct box_key key = box_key((uint16_t)chain);

		int rc = mirror_get(txn, box_key_slice(&key), &value, &look->version);
		look->chain = chain;
		if (rc < 0)
			return rc;
		if (rc == 1) {
			look->box = (struct box){ .incarnation = 0 };
			return 0;
		}
		if (!any)
			return box_decode(value, &look->box);
	}
	return -ENOSPC;
}

/* One try: 0, 1 (look again), REMOTE_HELLO as 2, or a negative errno. */
static int register_try(struct engine *engine, struct look *look, const struct remote_at *base)
{
	struct remote_reply *reply = &(struct remote_reply){ .box_len = 0 };

	engine->chain = (uint16_t)look->chain;
	engine->box_version = look->version;
	engine->box.incarnation = look->box.incarnation + 1;
	if (engine->box.commit < look->box.commit)
		engine->box.commit = look->box.commit;
	int rc = commit_send(engine, base, NULL, 0, reply);
	if (rc == REMOTE_FENCED || rc == COMMIT_LOST)
		return 1;
	if (rc != REMOTE_DONE)
		return rc;
	engine->incarnation = engine->box.incarnation;
	watchdog_renewed(engine);
	return mirror_set_host(engine->mirror,
			       &(struct mirror_host){ .chain = engine->chain, .incarnation = engine->box.incarnation });
}

/* Whether the box is still as this process wrote it, and its life goes on. */
static bool box_is_ours(struct engine *engine, const struct look *look)
{
	return !watchdog_cut(engine) && look->version != 0 && look->box.instance == engine->box.instance &&
	       !look->box.gone && look->box.incarnation == engine->box.incarnation;
}

static int catch_up(struct engine *engine)
{
	struct remote_at base = mirror_at(engine->mirror);
	struct remote_at at;
	int rc = engine->adapter->ops->barrier(engine->adapter, REMOTE_LINE_COMMIT, &base, &at);

	return rc == 0 ? feed_catch_up(engine, REMOTE_LINE_COMMIT, at.revision) : rc;
}

int register_host(struct engine *engine)
{
	struct mirror_host host;
	struct remote_at base;
	struct look look;
	int rc = mirror_host(engine->mirror, &host);
	bool has_chain = rc == 0 && (host.incarnation != 0 || engine->joined);

	for (int i = 0; rc >= 0 && i < TRIES; i++) {
		look.chain = !has_chain ? -1 : engine->joined ? engine->chain : host.chain;
		rc = mirror_view(engine->mirror, look_fn, &look, &base);
		if (rc < 0)
			return rc;
		if (box_is_ours(engine, &look)) {
			engine->chain = (uint16_t)look.chain;
			engine->box_version = look.version;
			engine->incarnation = engine->box.incarnation;
			engine->joined = true;
			return 0;
		}
		/* Another process of this chain is alive, or was: this one is a copy. A box that is only out of date is its own. */
		if (engine->joined && look.version != 0 && look.box.instance != engine->box.instance) {
			engine->joined = has_chain = false;
			continue;
		}
		if (watchdog_cut(engine))
			watchdog_tell(engine);
		rc = register_try(engine, &look, &base);
		if (rc == 0)
			engine->joined = true;
		if (rc != 1)
			return rc;
		rc = catch_up(engine);
		if (rc != 0)
			return rc;
	}
	return rc < 0 ? rc : -EAGAIN;
}
