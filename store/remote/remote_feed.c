#include "remote_feed.h"

#include "remote_engine.h"
#include "remote_entry.h"
#include "remote_hosts.h"
#include "remote_watchdog.h"

#include <errno.h>

#define FEED_WAIT 1000 /* ms */
#define FEED_PAUSE 100 /* ms, after an error */

void feed_tell(struct engine *engine, struct slice key)
{
	if (engine->options.changed != NULL)
		engine->options.changed(engine->options.changed_arg, key);
}

/* Whether this process made the entry: a commit ends with the box of its host. */
static bool entry_is_own(const struct engine *engine, struct slice entry)
{
	struct entry_head head;
	struct txn_write write;
	struct box box;
	bool own = false;

	(void)entry_head_take(&entry, &head);
	while (entry_write_take(&entry, &write) == 0)
		own = box_chain(write.key) == (int)engine->chain && write.value.data != NULL &&
		      box_decode(write.value, &box) == 0 && box.instance == engine->box.instance;
	return own;
}

/* Tells of each write, but of boxes, which every commit writes: remote_hosts.c looks at them. */
static void entry_tell(struct engine *engine, struct slice entry)
{
	struct entry_head head;
	struct txn_write write;

	(void)entry_head_take(&entry, &head);
	while (entry_write_take(&entry, &write) == 0)
		if (box_chain(write.key) < 0)
			feed_tell(engine, write.key);
}

int feed_apply(struct engine *engine, struct slice entry)
{
	struct slice rest = entry;
	struct entry_head head;

	if (!entry_head_take(&rest, &head))
		return -EBADMSG;
	const struct mirror_when when = {
		.own = entry_is_own(engine, entry),
		.before = asked_before(&engine->asked, mirror_at(engine->mirror).epoch, head.revision),
		.seen = remote_clock(engine),
	};
	/* Others may have ended what this host held, while it was paused: the core must hear of that as long as it knows what it was. */
	if (!when.own)
		(void)watchdog_cut(engine);
	int rc = mirror_apply(engine->mirror, entry, &when);
	if (rc == 0 && !when.own)
		entry_tell(engine, entry);
	return rc;
}

int feed_entry(void *arg, struct slice entry)
{
	int rc = feed_apply(arg, entry);

	return rc == -ESTALE ? REMOTE_HELLO : rc < 0 ? rc : 0;
}

int feed_catch_up(struct engine *engine, enum remote_line line, uint64_t revision)
{
	struct remote_at at = mirror_at(engine->mirror);
	int rc = 0;

	while (rc == 0 && at.revision < revision) {
		struct remote_at before = at;

		rc = engine->adapter->ops->entries(engine->adapter, line, &before, 0, feed_entry, engine);
		at = mirror_at(engine->mirror);
		/* The engine has said that there is more: it was trimmed, or is of another history. */
		if (rc == 0 && at.revision == before.revision)
			rc = REMOTE_HELLO;
	}
	return rc;
}

int remote_follow(struct engine *engine, int wait)
{
	struct remote_at at = mirror_at(engine->mirror);

	if (at.revision == 0)
		return -EAGAIN;
	int rc = engine->adapter->ops->entries(engine->adapter, REMOTE_LINE_FEED, &at, wait, feed_entry, engine);
	if (rc == REMOTE_HELLO)
		atomic_store(&engine->strange, true);
	return rc;
}

void *feed_thread(void *engine)
{
	int rc = 0;

	while (!hosts_pause(engine, rc == 0 ? 0 : FEED_PAUSE))
		rc = remote_follow(engine, FEED_WAIT);
	return NULL;
}
