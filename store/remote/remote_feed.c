#include "remote_feed.h"

#include "remote_engine.h"
#include "remote_entry.h"
#include "remote_hosts.h"

#include <errno.h>

#define FEED_WAIT 1000 /* ms */
#define FEED_PAUSE 100 /* ms, after an error */

/* Tells of each write of another host's commit, which ends with that host's box. */
static void tell(struct engine *engine, struct slice entry)
{
	struct slice rest = entry;
	struct entry_head head;
	struct txn_write write;
	bool own = false;

	if (engine->options.changed == NULL)
		return;
	(void)entry_head_take(&rest, &head);
	struct slice writes = rest;
	while (entry_write_take(&rest, &write) == 0)
		own = box_chain(write.key) == (int)engine->chain;
	while (!own && entry_write_take(&writes, &write) == 0)
		engine->options.changed(engine->options.changed_arg, &write);
}

int feed_entry(void *arg, struct slice entry)
{
	struct engine *engine = arg;
	int rc = mirror_apply(engine->mirror, entry);

	if (rc == 0)
		tell(engine, entry);
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
