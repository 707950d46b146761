/* The owners, whos and hosts that hold a lock, as by/ lists them. */
#include "by.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "place.h"
#include "why.h"

/*
 * Spells one group's component. A who is stored as it was spelled after '@', and that mostly is a component already. Any other
 * text is escaped as names are. Returns its length, or -ENAMETOOLONG.
 */
static int by_spell(struct slice text, char out[ATLOCK_COMPONENT_MAX + 1])
{
	if (escape_check(ESCAPE_WHO, true, text.data, text.len, NULL) != 0)
		return escape_encode(ESCAPE_WHO, true, text.data, text.len, out, ATLOCK_COMPONENT_MAX + 1);
	memcpy(out, text.data, text.len);
	out[text.len] = '\0';
	return (int)text.len;
}

#define PART_GROUP 'g' /* of a place: the rest is the owner or who as stored, or the host as spelled */

struct groups {
	enum atlock_by by;
	struct atlock_place *place;
	atlock_group_fn *fn;
	void *arg;
};

static int group_any(struct op *op, void *arg, struct slice lock, const struct record_lock *record)
{
	(void)op, (void)arg, (void)lock, (void)record;
	return 1;
}

struct holder_index_filter by_filter(enum atlock_by by, struct slice text)
{
	struct holder_index_filter filter = { .owner = { NULL, 0 } };

	if (by == ATLOCK_BY_OWNER)
		filter.owner = text;
	else if (by == ATLOCK_BY_WHO)
		filter.who = text;
	else
		filter.host = text;
	return filter;
}

static int group_holds(struct op *op, enum atlock_by by, struct slice text)
{
	struct holder_index_filter filter = by_filter(by, text);

	return holder_index_walk(op, &filter, group_any, NULL);
}

/* Shows a group that holds a lock at this instant: 0 to continue. */
static int group_show(struct op *op, const struct groups *groups, struct slice text)
{
	char component[ATLOCK_COMPONENT_MAX + 1];
	int rc;

	place_set(groups->place, PART_GROUP, text);
	/* Only a program that chooses its own who can have one that does not fit. */
	if (by_spell(text, component) < 0)
		return 0;
	/* An escaped text may equal another group's text that needs no escape. Both are one directory: show it once. */
	if (!slice_equal(text, slice_of(component))) {
		rc = group_holds(op, groups->by, slice_of(component));
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return groups->fn(groups->arg, component);
}

static int owners_in_txn(struct op *op)
{
	const struct groups *groups = op->arg;
	struct slice owner = place_text(groups->place, PART_GROUP);
	struct record_key from = record_key_of(TABLE_HELD, (struct slice){ NULL, 0 });
	int rc;

	if (owner.data != NULL) {
		from = holder_index_owner_key(owner);
		from = record_key_after_prefix(record_key_slice(&from));
	}
	while ((rc = holder_index_owner_next(op, TABLE_HELD, &from, &owner)) == 0) {
		rc = group_holds(op, ATLOCK_BY_OWNER, owner);
		if (rc == 1)
			rc = group_show(op, groups, owner);
		if (rc != 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

/* An owner and its first who that was not shown yet. */
struct holder_next {
	struct slice owner;
	struct slice who;
};

struct merge {
	struct holder_next *list;
	size_t count;
	size_t room;
};

/* The owner's first who after `after`: 0 or 1. */
static int who_after(struct op *op, struct slice owner, struct slice after, struct slice *who)
{
	struct record_key from = holder_index_owner_key(owner);

	if (after.data != NULL) {
		from = record_key_holder(TABLE_HELD, owner, after);
		from = record_key_after_prefix(record_key_slice(&from));
	}
	return holder_index_who_next(op, owner, &from, who);
}

static int merge_add(struct merge *merge, struct slice owner, struct slice who)
{
	if (merge->count == merge->room) {
		size_t room = merge->room * 2 + 16;
		struct holder_next *list = reallocarray(merge->list, room, sizeof(*list));

		if (list == NULL)
			return -ENOMEM;
		merge->list = list;
		merge->room = room;
	}
	merge->list[merge->count++] = (struct holder_next){ owner, who };
	return 0;
}

static int merge_start(struct op *op, struct merge *merge, struct slice after)
{
	struct record_key from = record_key_of(TABLE_HELD, (struct slice){ NULL, 0 });
	struct slice owner = { NULL, 0 };
	struct slice who;
	int rc;

	while ((rc = holder_index_owner_next(op, TABLE_HELD, &from, &owner)) == 0) {
		rc = who_after(op, owner, after, &who);
		if (rc == 0)
			rc = merge_add(merge, owner, who);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

static int text_compare(struct slice a, struct slice b)
{
	int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);

	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* Whether this who, the next one, holds a lock at this instant under one of the owners: 1 or 0. */
static int merge_holds(struct op *op, const struct merge *merge, struct slice who)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < merge->count; i++)
		if (slice_equal(merge->list[i].who, who))
			rc = holder_index_walk(
				op, &(struct holder_index_filter){ .owner = merge->list[i].owner, .who = who },
				group_any, NULL);
	return rc;
}

/* Advances every owner whose next who is this one. */
static int merge_pass(struct op *op, struct merge *merge, struct slice who)
{
	size_t kept = 0;

	for (size_t i = 0; i < merge->count; i++) {
		struct holder_next *next = &merge->list[i];
		int rc = slice_equal(next->who, who) ? who_after(op, next->owner, who, &next->who) : 0;

		if (rc < 0)
			return rc;
		if (rc == 0)
			merge->list[kept++] = *next;
	}
	merge->count = kept;
	return 0;
}

/* Whos are stored by owner. To show each once and in order, this merges the whos of all owners. */
static int whos_show(struct op *op, const struct groups *groups, struct merge *merge)
{
	int rc = merge_start(op, merge, place_text(groups->place, PART_GROUP));

	while (rc == 0 && merge->count > 0) {
		struct slice who = merge->list[0].who;

		for (size_t i = 1; i < merge->count; i++)
			if (text_compare(merge->list[i].who, who) < 0)
				who = merge->list[i].who;
		rc = merge_holds(op, merge, who);
		if (rc == 1)
			rc = group_show(op, groups, who);
		if (rc == 0)
			rc = merge_pass(op, merge, who);
	}
	return rc;
}

static int whos_in_txn(struct op *op)
{
	struct merge merge = { .list = NULL };
	int rc = whos_show(op, op->arg, &merge);

	free(merge.list);
	return rc;
}

/* There is no index of hosts, and there are few hosts: the next one is found by reading every lock. */
struct host_next {
	char after[ATLOCK_COMPONENT_MAX + 1];
	char next[ATLOCK_COMPONENT_MAX + 1]; /* "": none yet */
};

static int host_see(struct op *op, void *arg, struct slice lock, const struct record_lock *record)
{
	char component[ATLOCK_COMPONENT_MAX + 1];
	struct host_next *host = arg;

	(void)op, (void)lock;
	if (by_spell(record->grant.holder.host, component) >= 0 && strcmp(component, host->after) > 0 &&
	    (host->next[0] == '\0' || strcmp(component, host->next) < 0))
		memcpy(host->next, component, sizeof(component));
	return 0;
}

static int hosts_in_txn(struct op *op)
{
	const struct holder_index_filter all = { .owner = { NULL, 0 } };
	const struct groups *groups = op->arg;
	struct slice after = place_text(groups->place, PART_GROUP);
	struct host_next host = { .after = "" };
	int rc;

	if (after.len > 0 && after.len < sizeof(host.after))
		memcpy(host.after, after.data, after.len);
	while ((rc = holder_index_walk(op, &all, host_see, &host)) == 0 && host.next[0] != '\0') {
		place_set(groups->place, PART_GROUP, slice_of(host.next));
		rc = groups->fn(groups->arg, host.next);
		if (rc != 0)
			return rc;
		memcpy(host.after, host.next, sizeof(host.after));
		host.next[0] = '\0';
	}
	return rc;
}

int atlock_by_groups(struct atlock *al, enum atlock_by by, struct atlock_place *place, atlock_group_fn *fn, void *arg)
{
	static op_fn *const in_txn[] = {
		[ATLOCK_BY_OWNER] = owners_in_txn,
		[ATLOCK_BY_WHO] = whos_in_txn,
		[ATLOCK_BY_HOST] = hosts_in_txn,
	};
	struct groups groups = { .by = by, .place = place, .fn = fn, .arg = arg };
	int rc;

	if (al == NULL || fn == NULL || (unsigned int)by > ATLOCK_BY_HOST)
		return -EINVAL;
	rc = op_list(al, in_txn[by], &groups);
	return rc < 0 ? rc : 0;
}

int atlock_by_check(const char *component, struct atlock_why *why)
{
	size_t len = component != NULL ? strnlen(component, ATLOCK_COMPONENT_MAX + 1) : 0;

	if (len == 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "an owner, who or host has a name");
	return escape_check(ESCAPE_WHO, true, component, len, why);
}
