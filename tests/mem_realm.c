#include "mem_realm.h"

#include "arena.h"
#include "remote_entry.h"

#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct item {
	struct slice key;
	struct slice value;
	uint64_t version;
	unsigned char bytes[]; /* key, then value */
};

/* One entry of the history. */
struct past {
	struct entry_head head;
	unsigned char *bytes;
	size_t len;
};

/* A request that is still on its way. */
struct late {
	STAILQ_ENTRY(late) link;
	struct arena arena;
	struct remote_commit commit;
};

struct mem_realm {
	pthread_mutex_t lock; /* of everything here */
	bool exists;
	unsigned char id[REMOTE_ID];
	struct remote_at at;
	uint64_t process;
	uint64_t opened;     /* in this process */
	struct item **items; /* in the order of their keys */
	size_t item_count;
	struct past *history;
	size_t history_count;
	size_t history_first; /* that was not trimmed */
	size_t report_count;
	struct remote_report reports[REMOTE_CHAINS];
	STAILQ_HEAD(, late) late;
	uint64_t made; /* realms so far */
};

struct mem_adapter {
	struct remote_adapter base;
	struct mem_realm *realm;
	struct mem_line_faults *faults;
};

static void *need(void *memory)
{
	if (memory == NULL)
		err(1, "mem_realm");
	return memory;
}

struct mem_realm *mem_realm_new(void)
{
	struct mem_realm *realm = need(calloc(1, sizeof(*realm)));

	pthread_mutex_init(&realm->lock, NULL);
	STAILQ_INIT(&realm->late);
	realm->process = 1;
	return realm;
}

static void items_clear(struct mem_realm *realm)
{
	while (realm->item_count > 0)
		free(realm->items[--realm->item_count]);
}

static void history_cut(struct mem_realm *realm, size_t count)
{
	while (realm->history_count > count)
		free(realm->history[--realm->history_count].bytes);
}

void mem_realm_free(struct mem_realm *realm)
{
	struct late *late;

	while ((late = STAILQ_FIRST(&realm->late)) != NULL) {
		STAILQ_REMOVE_HEAD(&realm->late, link);
		arena_free(&late->arena);
		free(late);
	}
	items_clear(realm);
	free(realm->items);
	history_cut(realm, 0);
	free(realm->history);
	pthread_mutex_destroy(&realm->lock);
	free(realm);
}

/* Index of the first item whose key is >= `key`. */
static size_t item_index(const struct mem_realm *realm, struct slice key, bool *same)
{
	size_t low = 0;
	size_t high = realm->item_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slice_compare(realm->items[middle]->key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*same = low < realm->item_count && slice_compare(realm->items[low]->key, key) == 0;
	return low;
}

static struct item *item_find(const struct mem_realm *realm, struct slice key)
{
	bool same;
	size_t i = item_index(realm, key, &same);

	return same ? realm->items[i] : NULL;
}

static struct item *item_new(const struct txn_write *write, uint64_t version)
{
	struct item *item = need(malloc(sizeof(*item) + write->key.len + write->value.len));

	memcpy(item->bytes, write->key.data, write->key.len);
	memcpy(item->bytes + write->key.len, write->value.data, write->value.len);
	item->key = (struct slice){ .data = item->bytes, .len = write->key.len };
	item->value = (struct slice){ .data = item->bytes + write->key.len, .len = write->value.len };
	item->version = version;
	return item;
}

static void item_set(struct mem_realm *realm, const struct txn_write *write, uint64_t version)
{
	bool same;
	size_t i = item_index(realm, write->key, &same);
	size_t behind = realm->item_count - i;

	if (same && write->value.data == NULL) {
		free(realm->items[i]);
		memmove(realm->items + i, realm->items + i + 1, (behind - 1) * sizeof(struct item *));
		realm->item_count--;
	} else if (same) {
		free(realm->items[i]);
		realm->items[i] = item_new(write, version);
	} else if (write->value.data != NULL) {
		realm->items = need(reallocarray(realm->items, realm->item_count + 1, sizeof(struct item *)));
		memmove(realm->items + i + 1, realm->items + i, behind * sizeof(struct item *));
		realm->items[i] = item_new(write, version);
		realm->item_count++;
	}
}

static void entry_apply(struct mem_realm *realm, struct slice entry)
{
	struct entry_head head;
	struct txn_write write;

	(void)entry_head_take(&entry, &head);
	while (entry_write_take(&entry, &write) == 0)
		item_set(realm, &write, head.revision);
	realm->at.revision = head.revision;
	realm->at.tag = head.tag;
}

/* Adds an entry to the history, and applies it. */
static void entry_add(struct mem_realm *realm, struct slice entry)
{
	struct slice rest = entry;
	struct past past = { .bytes = need(malloc(entry.len)), .len = entry.len };

	(void)entry_head_take(&rest, &past.head);
	memcpy(past.bytes, entry.data, entry.len);
	realm->history = need(reallocarray(realm->history, realm->history_count + 1, sizeof(past)));
	realm->history[realm->history_count++] = past;
	entry_apply(realm, entry);
}

void mem_realm_create(struct mem_realm *realm)
{
	unsigned char bytes[ENTRY_HEAD];
	const struct entry_head head = { .revision = 1, .tag = 77 + ++realm->made };

	(void)entry_head_put(bytes, &head);
	realm->exists = true;
	memset(realm->id, (int)realm->made, sizeof(realm->id));
	realm->at.epoch = 1;
	realm->opened = realm->process;
	entry_add(realm, (struct slice){ .data = bytes, .len = sizeof(bytes) });
}

void mem_realm_rollback(struct mem_realm *realm, size_t lost)
{
	pthread_mutex_lock(&realm->lock);
	history_cut(realm, realm->history_count - lost);
	items_clear(realm);
	for (size_t i = 0; i < realm->history_count; i++)
		entry_apply(realm, (struct slice){ .data = realm->history[i].bytes, .len = realm->history[i].len });
	pthread_mutex_unlock(&realm->lock);
}

void mem_realm_restart(struct mem_realm *realm, size_t lost)
{
	mem_realm_rollback(realm, lost);
	pthread_mutex_lock(&realm->lock);
	realm->process++;
	realm->report_count = 0;
	pthread_mutex_unlock(&realm->lock);
}

void mem_realm_flush(struct mem_realm *realm)
{
	pthread_mutex_lock(&realm->lock);
	items_clear(realm);
	history_cut(realm, 0);
	realm->exists = false;
	realm->at = (struct remote_at){ .revision = 0 };
	pthread_mutex_unlock(&realm->lock);
}

void mem_realm_trim(struct mem_realm *realm, size_t kept)
{
	pthread_mutex_lock(&realm->lock);
	realm->history_first = realm->history_count > kept ? realm->history_count - kept : 0;
	pthread_mutex_unlock(&realm->lock);
}

struct remote_at mem_realm_at(struct mem_realm *realm)
{
	pthread_mutex_lock(&realm->lock);
	struct remote_at at = realm->at;
	pthread_mutex_unlock(&realm->lock);
	return at;
}

static bool is_open(const struct mem_realm *realm)
{
	return realm->exists && realm->opened == realm->process;
}

/* Whether a host whose mirror is at `base` has this realm's history. */
static bool history_has(const struct mem_realm *realm, const struct remote_at *base)
{
	if (!is_open(realm) || base->epoch != realm->at.epoch)
		return false;
	for (size_t i = realm->history_count; i > realm->history_first; i--)
		if (realm->history[i - 1].head.revision == base->revision)
			return realm->history[i - 1].head.tag == base->tag;
	return false;
}

/* What the parts that were applied so far have written. */
struct deciding {
	struct mem_realm *realm;
	const struct remote_commit *commit;
	unsigned char *applied;
	size_t count;
};

static uint64_t version_of(const struct deciding *deciding, struct slice key)
{
	for (size_t i = deciding->count; i-- > 0;) {
		const struct remote_part *part = &deciding->commit->parts[i];

		for (size_t j = 0; deciding->applied[i] == '1' && j < part->write_count; j++)
			if (slice_compare(part->writes[j]->key, key) == 0)
				return REMOTE_PART_VERSION(i);
	}
	const struct item *item = item_find(deciding->realm, key);
	return item == NULL ? 0 : item->version;
}

static bool part_holds(const struct deciding *deciding, const struct remote_part *part)
{
	for (size_t i = 0; i < part->compare_count; i++)
		if (version_of(deciding, part->compares[i].key) != part->compares[i].version)
			return false;
	return true;
}

static unsigned char *write_append(unsigned char *bytes, size_t *len, const struct txn_write *write)
{
	bytes = need(realloc(bytes, *len + entry_write_size(write)));
	(void)entry_write_put(bytes + *len, write);
	*len += entry_write_size(write);
	return bytes;
}

static void commit_apply(struct mem_realm *realm, const struct remote_commit *commit, unsigned char *applied)
{
	const struct entry_head head = {
		.revision = realm->at.revision + 1,
		.tag = commit->tag,
		.before = realm->at.tag,
	};
	struct deciding deciding = { .realm = realm, .commit = commit, .applied = applied };
	unsigned char box[REMOTE_BOX_MAX];
	size_t len = ENTRY_HEAD;
	unsigned char *bytes = need(malloc(len));

	(void)entry_head_put(bytes, &head);
	for (; deciding.count < commit->count; deciding.count++) {
		const struct remote_part *part = &commit->parts[deciding.count];
		bool holds = part_holds(&deciding, part);

		applied[deciding.count] = holds ? '1' : '0';
		for (size_t j = 0; holds && j < part->write_count; j++)
			bytes = write_append(bytes, &len, part->writes[j]);
	}
	memcpy(box, commit->box.data, commit->box.len);
	memcpy(box + commit->box.len, applied, commit->count);
	bytes = write_append(bytes, &len,
			     &(struct txn_write){ .key = commit->box_key,
						  .value = { .data = box, .len = commit->box.len + commit->count } });
	entry_add(realm, (struct slice){ .data = bytes, .len = len });
	free(bytes);
}

static int commit_do(struct mem_realm *realm, const struct remote_commit *commit, struct remote_reply *reply)
{
	const struct item *box = item_find(realm, commit->box_key);
	uint64_t version = box == NULL ? 0 : box->version;

	if (!history_has(realm, &commit->base))
		return REMOTE_HELLO;
	if (version != commit->box_version) {
		reply->box_version = version;
		reply->box_len = box == NULL ? 0 : box->value.len;
		if (box != NULL)
			memcpy(reply->box, box->value.data, box->value.len);
		return REMOTE_FENCED;
	}
	commit_apply(realm, commit, reply->applied);
	reply->at = realm->at;
	return REMOTE_DONE;
}

static struct slice kept(struct arena *arena, struct slice from)
{
	struct slice to;

	if (from.data == NULL)
		return from;
	if (!arena_copy(arena, from, &to))
		err(1, "mem_realm");
	return to;
}

static void late_add(struct mem_realm *realm, const struct remote_commit *commit)
{
	struct late *late = need(calloc(1, sizeof(*late)));
	struct arena *arena = &late->arena;

	if (!arena_init(arena, 4096))
		err(1, "mem_realm");
	struct remote_part *parts = need(arena_take(arena, (commit->count + 1) * sizeof(*parts)));
	for (size_t i = 0; i < commit->count; i++) {
		const struct remote_part *from = &commit->parts[i];
		struct txn_read *compares = need(arena_take(arena, (from->compare_count + 1) * sizeof(*compares)));
		struct txn_write **writes = need(
			arena_take(arena, (from->write_count + 1) * sizeof(struct txn_write *)));

		for (size_t j = 0; j < from->compare_count; j++)
			compares[j] = (struct txn_read){ .key = kept(arena, from->compares[j].key),
							 .version = from->compares[j].version };
		for (size_t j = 0; j < from->write_count; j++) {
			writes[j] = need(arena_take(arena, sizeof(*writes[j])));
			*writes[j] = (struct txn_write){ .key = kept(arena, from->writes[j]->key),
							 .value = kept(arena, from->writes[j]->value) };
		}
		parts[i] = (struct remote_part){ compares, from->compare_count, writes, from->write_count };
	}
	late->commit = *commit;
	late->commit.box = kept(arena, commit->box);
	late->commit.box_key = kept(arena, commit->box_key);
	late->commit.parts = parts;
	STAILQ_INSERT_TAIL(&realm->late, late, link);
}

size_t mem_realm_deliver(struct mem_realm *realm)
{
	struct remote_reply reply;
	struct late *late;
	size_t count = 0;

	pthread_mutex_lock(&realm->lock);
	while ((late = STAILQ_FIRST(&realm->late)) != NULL) {
		STAILQ_REMOVE_HEAD(&realm->late, link);
		count += commit_do(realm, &late->commit, &reply) == REMOTE_DONE;
		arena_free(&late->arena);
		free(late);
	}
	pthread_mutex_unlock(&realm->lock);
	return count;
}

static bool due(unsigned int *in)
{
	return *in != 0 && --*in == 0;
}

static int mem_commit(struct remote_adapter *adapter, const struct remote_commit *commit, struct remote_reply *reply)
{
	struct mem_adapter *mem = (struct mem_adapter *)adapter;
	struct mem_line_faults *faults = mem->faults;
	int rc = 0;

	if (faults->before_commit != NULL)
		faults->before_commit(faults->before_arg);
	if (faults->cut)
		return -EHOSTDOWN;
	if (faults->full && commit->count > 0)
		return -ENOSPC;
	bool unsent = due(&faults->lose_request_in);
	bool unheard = due(&faults->lose_reply_in);
	bool delayed = due(&faults->delay_in);
	bool doubled = due(&faults->duplicate_in);
	pthread_mutex_lock(&mem->realm->lock);
	if (delayed || doubled)
		late_add(mem->realm, commit);
	if (!delayed && !unsent)
		rc = commit_do(mem->realm, commit, reply);
	faults->commits += rc == REMOTE_DONE && !delayed && !unsent;
	pthread_mutex_unlock(&mem->realm->lock);
	return unsent || unheard || delayed || doubled ? -EINPROGRESS : rc;
}

static int mem_barrier(struct remote_adapter *adapter, enum remote_line line, const struct remote_at *base,
		       struct remote_at *at)
{
	struct mem_adapter *mem = (struct mem_adapter *)adapter;

	(void)line;
	if (mem->faults->cut)
		return -EHOSTDOWN;
	pthread_mutex_lock(&mem->realm->lock);
	int rc = history_has(mem->realm, base) ? 0 : REMOTE_HELLO;
	*at = mem->realm->at;
	mem->faults->barriers++;
	pthread_mutex_unlock(&mem->realm->lock);
	return rc;
}

static int mem_entries(struct remote_adapter *adapter, enum remote_line line, const struct remote_at *after, int wait,
		       remote_entry_fn *each, void *arg)
{
	struct mem_adapter *mem = (struct mem_adapter *)adapter;
	struct mem_realm *realm = mem->realm;
	int rc = 0;

	(void)line, (void)wait;
	if (mem->faults->cut)
		return -EHOSTDOWN;
	pthread_mutex_lock(&realm->lock);
	for (size_t i = realm->history_first; i < realm->history_count && rc == 0; i++)
		if (realm->history[i].head.revision > after->revision)
			rc = each(arg, (struct slice){ .data = realm->history[i].bytes, .len = realm->history[i].len });
	pthread_mutex_unlock(&realm->lock);
	return rc;
}

static int mem_scan(struct remote_adapter *adapter, remote_scan_fn *each, void *arg)
{
	struct mem_adapter *mem = (struct mem_adapter *)adapter;
	int rc = 0;

	if (mem->faults->cut)
		return -EHOSTDOWN;
	pthread_mutex_lock(&mem->realm->lock);
	for (size_t i = 0; i < mem->realm->item_count && rc == 0; i++) {
		const struct item *item = mem->realm->items[i];

		rc = each(arg, item->key, item->version, item->value);
	}
	pthread_mutex_unlock(&mem->realm->lock);
	return rc;
}

static void report_set(struct mem_realm *realm, const struct remote_report *report)
{
	size_t i = 0;

	while (i < realm->report_count && realm->reports[i].chain != report->chain)
		i++;
	realm->reports[i] = *report;
	realm->report_count += i == realm->report_count;
}

static int mem_hello(struct remote_adapter *adapter, const struct remote_report *report,
		     const struct remote_at *distrust, struct remote_welcome *out)
{
	struct mem_adapter *mem = (struct mem_adapter *)adapter;
	struct mem_realm *realm = mem->realm;

	if (mem->faults->cut)
		return -EHOSTDOWN;
	pthread_mutex_lock(&realm->lock);
	if (distrust != NULL && is_open(realm) && distrust->epoch == realm->at.epoch) {
		realm->at.epoch++;
		realm->opened = 0;
		realm->report_count = 0;
	}
	if (report != NULL && !is_open(realm))
		report_set(realm, report);
	memcpy(out->id, realm->id, REMOTE_ID);
	out->at = realm->at;
	out->process = realm->process;
	out->opened = is_open(realm);
	out->count = out->opened ? 0 : realm->report_count;
	memcpy(out->reports, realm->reports, out->count * sizeof(out->reports[0]));
	int rc = realm->exists ? 0 : -ENOENT;
	pthread_mutex_unlock(&realm->lock);
	return rc;
}

static int mem_append(struct remote_adapter *adapter, const struct remote_at *before, struct slice entry,
		      uint64_t epoch)
{
	struct mem_adapter *mem = (struct mem_adapter *)adapter;
	struct mem_realm *realm = mem->realm;
	int rc = REMOTE_HELLO;

	if (mem->faults->cut)
		return -EHOSTDOWN;
	pthread_mutex_lock(&realm->lock);
	if (realm->exists && !is_open(realm) && before->epoch == realm->at.epoch &&
	    before->revision == realm->at.revision && before->tag == realm->at.tag) {
		entry_add(realm, entry);
		if (epoch != 0) {
			realm->at.epoch = epoch;
			realm->opened = realm->process;
		}
		rc = 0;
	}
	pthread_mutex_unlock(&realm->lock);
	return rc;
}

static void mem_close(struct remote_adapter *adapter)
{
	free(adapter);
}

static const struct remote_ops mem_ops = {
	.close = mem_close,
	.hello = mem_hello,
	.append = mem_append,
	.commit = mem_commit,
	.barrier = mem_barrier,
	.entries = mem_entries,
	.scan = mem_scan,
};

struct remote_adapter *mem_realm_adapter(struct mem_realm *realm, struct mem_line_faults *faults)
{
	struct mem_adapter *mem = need(calloc(1, sizeof(*mem)));

	mem->base.ops = &mem_ops;
	mem->base.limits = (struct remote_limits){ .parts = REMOTE_PARTS, .keys = 4000, .bytes = 1 << 20 };
	mem->realm = realm;
	mem->faults = faults;
	return &mem->base;
}
