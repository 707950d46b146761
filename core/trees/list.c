/* Lists held locks, and the children of a virtual directory. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child_walk.h"
#include "holder.h"
#include "holder_index.h"
#include "lock_name.h"
#include "scan.h"
#include "view.h"

struct list {
	struct atlock_query *query;
	atlock_list_fn *fn;
	void *arg;
	size_t count;
	struct slice *locks; /* of one holder, collected from its index */
	size_t gathered;
	size_t room;
};

static bool query_matches(const struct atlock_query *query, struct slice lock, const struct record_grant *grant)
{
	struct atlock_parts parts;
	struct atlock_name name;
	uint64_t num;
	char who[ATLOCK_WHO_MAX + 1];

	if (query->owner != NULL && !slice_equal(grant->holder.owner, slice_of(query->owner)))
		return false;
	if (query->who != NULL && !slice_equal(grant->holder.who, slice_of(query->who)))
		return false;
	if (query->pull_repo == NULL)
		return true;
	if (grant->holder.who.len >= sizeof(who))
		return false;
	memcpy(who, grant->holder.who.data, grant->holder.who.len);
	who[grant->holder.who.len] = '\0';
	name_from_key(&name, lock);
	return holder_pull(who, &num) && num == query->pull_num && atlock_name_split(&name, &parts) == 0 &&
	       strcmp(parts.repo, query->pull_repo) == 0;
}

/* Shows one lock if it matches: 0 to continue, 1 to stop. */
static int list_one(struct op *op, struct list *list, struct slice lock, const struct record_lock *record)
{
	struct atlock_view view;
	int rc;

	if (!table_grant_is_held(op, &record->grant) || !query_matches(list->query, lock, &record->grant))
		return 0;
	rc = view_make(op, lock, record, &view);
	if (rc < 0)
		return rc;
	rc = list->fn(list->arg, &view);
	list->query->after = view.name;
	atlock_view_clear(&view);
	list->count++;
	return rc != 0 || list->count == list->query->limit;
}

/* The common prefix of all keys that the query can match. */
static int list_prefix(const struct atlock_query *query, struct record_key *out)
{
	const char *text = query->prefix != NULL ? query->prefix : "";
	static const struct {
		const char *tree;
		const char *key;
	} trees[] = { { "repos/", "r" }, { "global/", "g" }, { "shared/", "s" }, { "custom/", "c\0\0\0\0\0\0\0" } };
	size_t i;

	*out = record_key_of(TABLE_LOCK, (struct slice){ NULL, 0 });
	if (text[0] == '\0')
		return 0;
	for (i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		size_t tree_len = strlen(trees[i].tree);
		size_t key_len = trees[i].key[0] == 'c' ? 9 : 1;
		size_t len = strlen(text);

		if (strncmp(text, trees[i].tree, tree_len) != 0)
			continue;
		/*
		 * "custom/" alone means every directory in it. A longer prefix can only match names in custom/ itself: other keys
		 * have ids, not paths.
		 */
		if (trees[i].key[0] == 'c' && len == tree_len)
			key_len = 1;
		if (1 + key_len + len - tree_len > sizeof(out->data))
			return -ENAMETOOLONG;
		memcpy(out->data + 1, trees[i].key, key_len);
		memcpy(out->data + 1 + key_len, text + tree_len, len - tree_len);
		out->len = 1 + key_len + len - tree_len;
		return 0;
	}
	return -EINVAL;
}

static int lock_order(const void *a, const void *b)
{
	const struct slice *x = a;
	const struct slice *y = b;
	int order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);

	return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

static int list_gather(struct op *op, void *arg, struct slice lock, const struct record_lock *record)
{
	struct list *list = arg;

	(void)op, (void)record;
	if (list->gathered == list->room) {
		size_t room = list->room * 2 + 64;
		struct slice *locks = reallocarray(list->locks, room, sizeof(*locks));

		if (locks == NULL)
			return -ENOMEM;
		list->locks = locks;
		list->room = room;
	}
	list->locks[list->gathered++] = lock;
	return 0;
}

/* Lists one holder's locks in the order of all listings. Reads them from its index, so that locks of others cost nothing. */
static int list_holder(struct op *op, struct list *list, struct slice prefix)
{
	const struct atlock_query *query = list->query;
	struct slice after = name_slice(&query->after);
	struct holder_index_filter filter = { .owner = { NULL, 0 } };
	struct record_lock record;
	char pull[32];
	int rc;

	(void)snprintf(pull, sizeof(pull), "pr:%" PRIu64, query->pull_num);
	if (query->owner != NULL)
		filter.owner = slice_of(query->owner);
	if (query->who != NULL || query->pull_repo != NULL)
		filter.who = slice_of(query->who != NULL ? query->who : pull);
	list->gathered = 0;
	rc = holder_index_walk(op, &filter, list_gather, list);
	if (rc == 0 && list->gathered > 0)
		qsort(list->locks, list->gathered, sizeof(*list->locks), lock_order);
	for (size_t i = 0; i < list->gathered && rc == 0; i++) {
		struct slice lock = list->locks[i];

		if (lock.len < prefix.len || memcmp(lock.data, prefix.data, prefix.len) != 0 ||
		    (after.len > 0 && lock_order(&lock, &after) <= 0))
			continue;
		rc = table_lock_get(op, lock, &record);
		if (rc == 0)
			rc = list_one(op, list, lock, &record);
	}
	return rc;
}

static int list_in_txn(struct op *op)
{
	struct list *list = op->arg;
	struct record_key prefix;
	struct scan scan;
	struct record_lock record;
	int rc;

	rc = list_prefix(list->query, &prefix);
	if (rc < 0)
		return rc;
	if (list->query->owner != NULL || list->query->who != NULL || list->query->pull_repo != NULL)
		return list_holder(op, list, (struct slice){ prefix.data + 1, prefix.len - 1 });
	scan = scan_prefix(&prefix);
	if (list->query->after.len > 0) {
		prefix = record_key_of(TABLE_LOCK, name_slice(&list->query->after));
		scan_after(&scan, &prefix);
	}
	while ((rc = scan_record(op, &scan, RECORD_LOCK, &record)) == 0) {
		rc = list_one(op, list, scan_name(&scan), &record);
		if (rc != 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

int atlock_list(struct atlock *al, struct atlock_query *query, atlock_list_fn *fn, void *arg)
{
	struct list list = { .query = query, .fn = fn, .arg = arg };
	int rc;

	if (al == NULL || query == NULL || fn == NULL || (query->after.len != 0 && name_check(&query->after) < 0))
		return -EINVAL;
	rc = op_list(al, list_in_txn, &list);
	free(list.locks);
	return rc;
}

/* --- Children of a virtual directory --- */

struct children {
	struct atlock_name prefix; /* as of name_prefix() */
	struct atlock_place *place;
	atlock_child_fn *fn;
	void *arg;
};

/* A directory exists if a held lock is below it: 0 or 1 (none). */
static int has_held_below(struct op *op, struct slice prefix)
{
	struct record_key below = record_key_of(TABLE_LOCK, prefix);
	struct scan scan = scan_prefix(&below);
	struct record_lock record;
	int rc;

	while ((rc = scan_record(op, &scan, RECORD_LOCK, &record)) == 0) {
		if (table_grant_is_held(op, &record.grant))
			return 0;
	}
	return rc;
}

static int child_show(struct op *op, const struct children *children, const struct child_walk *child)
{
	struct slice lock = { (const char *)child->key.data + 1, child->key.len - 1 };
	struct record_lock record;
	struct atlock_view view;
	int rc;

	if (child->directory) {
		/*
		 * The prefix includes the table's byte, which the lock lacks; that byte more makes up for the '/' after the
		 * component.
		 */
		rc = has_held_below(op, (struct slice){ lock.data, child->prefix.len + strlen(child->component) });
		return rc != 0 ? (rc < 0 ? rc : 0) : children->fn(children->arg, child->component, NULL);
	}
	rc = record_decode(RECORD_LOCK, child->value, &record);
	if (rc < 0)
		return op_corrupt(op, lock, rc);
	if (!table_grant_is_held(op, &record.grant))
		return 0;
	rc = view_make(op, lock, &record, &view);
	if (rc < 0)
		return rc;
	rc = children->fn(children->arg, child->component, &view);
	atlock_view_clear(&view);
	return rc;
}

static int children_in_txn(struct op *op)
{
	const struct children *children = op->arg;
	struct record_key prefix = record_key_of(TABLE_LOCK, name_slice(&children->prefix));
	struct child_walk child;
	int rc;

	child_walk_start(&child, &prefix, children->place);
	while ((rc = child_walk_next(op, &child)) == 0) {
		rc = child_show(op, children, &child);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return rc < 0 ? rc : 0;
}

int atlock_children(struct atlock *al, const char *dir, struct atlock_place *place, atlock_child_fn *fn, void *arg)
{
	struct children children = { .place = place, .fn = fn, .arg = arg };
	int rc;

	if (al == NULL || dir == NULL || fn == NULL)
		return -EINVAL;
	rc = name_prefix(dir, &children.prefix, NULL);
	if (rc < 0)
		return rc;
	return op_list(al, children_in_txn, &children);
}
