/* What is held by an owner, a who, a host or a pull request, as by/ and pulls/ show it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "held.h"
#include "pull.h"
#include "view.h"
#include "why.h"

/*
 * One group's component. A who is kept as it was spelled after '@', which mostly is a component already; what is not, and
 * what comes from elsewhere, is escaped as names are. Its length, or -ENAMETOOLONG.
 */
static int group_spell(struct slice text, char out[ATLOCK_COMPONENT_MAX + 1])
{
	if (escape_check(ESCAPE_WHO, true, text.data, text.len, NULL) != 0)
		return escape_encode(ESCAPE_WHO, true, text.data, text.len, out, ATLOCK_COMPONENT_MAX + 1);
	memcpy(out, text.data, text.len);
	out[text.len] = '\0';
	return (int)text.len;
}

/* --- Which groups there are --- */

/* Components, gathered before they are shown: one who may hold under several owners. */
struct groups {
	enum atlock_by by;
	char **list;
	size_t count;
	size_t room;
};

static int groups_add(struct groups *groups, struct slice text)
{
	char component[ATLOCK_COMPONENT_MAX + 1];

	/* Only a program that names itself can have one that does not fit. */
	if (group_spell(text, component) < 0)
		return 0;
	if (groups->count > 0 && strcmp(groups->list[groups->count - 1], component) == 0)
		return 0;
	if (groups->count == groups->room) {
		size_t room = groups->room * 2 + 64;
		char **list = reallocarray(groups->list, room, sizeof(*list));

		if (list == NULL)
			return -ENOMEM;
		groups->list = list;
		groups->room = room;
	}
	groups->list[groups->count] = strdup(component);
	return groups->list[groups->count++] == NULL ? -ENOMEM : 0;
}

static void groups_clear(struct groups *groups)
{
	while (groups->count > 0)
		free(groups->list[--groups->count]);
	free(groups->list);
	groups->list = NULL;
	groups->room = 0;
}

static int group_any(struct op *op, void *arg, struct slice lock, const struct record_lock *record)
{
	(void)op, (void)arg, (void)lock, (void)record;
	return 1;
}

/* Adds `text` if one lock of the holder is held at this instant. */
static int groups_add_held(struct op *op, struct groups *groups, const struct held_filter *filter, struct slice text)
{
	int rc = held_walk(op, filter, group_any, NULL);

	return rc == 1 ? groups_add(groups, text) : rc;
}

static int gather_whos(struct op *op, struct groups *groups, struct slice owner)
{
	struct record_key from = held_owner_key(owner);
	struct slice who;
	int rc;

	while ((rc = held_who_next(op, owner, &from, &who)) == 0) {
		rc = groups_add_held(op, groups, &(struct held_filter){ .owner = owner, .who = who }, who);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

static int gather_holders(struct op *op, struct groups *groups)
{
	struct record_key from = record_key_of(TABLE_HELD, (struct slice){ NULL, 0 });
	struct slice owner = { NULL, 0 };
	int rc;

	while ((rc = held_owner_next(op, TABLE_HELD, &from, &owner)) == 0) {
		rc = groups->by == ATLOCK_BY_WHO
			     ? gather_whos(op, groups, owner)
			     : groups_add_held(op, groups, &(struct held_filter){ .owner = owner }, owner);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

/* No index leads from host to host, and there are few: those seen are looked through for each lock. */
static int gather_host(struct op *op, void *arg, struct slice lock, const struct record_lock *record)
{
	struct groups *groups = arg;
	char component[ATLOCK_COMPONENT_MAX + 1];

	(void)op, (void)lock;
	if (group_spell(record->host, component) < 0)
		return 0;
	for (size_t i = 0; i < groups->count; i++)
		if (strcmp(groups->list[i], component) == 0)
			return 0;
	return groups_add(groups, record->host);
}

static int groups_in_txn(struct op *op)
{
	struct groups *groups = op->arg;

	groups_clear(groups);
	return groups->by == ATLOCK_BY_HOST
		       ? held_walk(op, &(struct held_filter){ .owner = { NULL, 0 } }, gather_host, groups)
		       : gather_holders(op, groups);
}

static int group_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int atlock_by_groups(struct atlock *al, enum atlock_by by, atlock_group_fn *fn, void *arg)
{
	struct groups groups = { .by = by };
	struct op op;
	int rc;

	if (al == NULL || fn == NULL || (unsigned int)by > ATLOCK_BY_HOST)
		return -EINVAL;
	op_init(&op, al, NULL, NULL);
	op.arg = &groups;
	rc = op_view(&op, groups_in_txn);
	if (groups.count > 0)
		qsort(groups.list, groups.count, sizeof(*groups.list), group_compare);
	for (size_t i = 0; rc == 0 && i < groups.count; i++)
		if (i == 0 || strcmp(groups.list[i], groups.list[i - 1]) != 0)
			rc = fn(arg, groups.list[i]);
	groups_clear(&groups);
	return rc < 0 ? rc : 0;
}

int atlock_by_check(const char *component, struct atlock_why *why)
{
	size_t len = component != NULL ? strnlen(component, ATLOCK_COMPONENT_MAX + 1) : 0;

	if (len == 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "an owner, who or host has a name");
	return escape_check(ESCAPE_WHO, true, component, len, why);
}

/* --- What is in one --- */

/* Locks to show, or the one with an id to find. */
struct group {
	struct held_filter filter[2]; /* the second only if the first shows nothing to stop at */
	size_t filters;
	const char *id; /* NULL: all */
	atlock_list_fn *fn;
	void *arg;
	struct atlock_view *out;
};

/* Compares numbers before a view is made for its printed id: most locks are not the one. */
static bool id_may_be(const char *id, const struct record_lock *record)
{
	const char *hex = strrchr(id, '_');
	char *end;

	return hex != NULL && strncmp(id, "lock_", 5) == 0 && strtoull(id + 5, &end, 10) == record->id_time &&
	       strtoul(hex + 1, &end, 16) == record->id_random;
}

static int group_show(struct op *op, void *arg, struct slice lock, const struct record_lock *record)
{
	struct group *group = arg;
	char id[ATLOCK_ID_MAX];
	struct atlock_view view;
	int rc;

	if (group->id != NULL && !id_may_be(group->id, record))
		return 0;
	rc = view_make(op, lock, record, &view);
	if (rc < 0)
		return rc;
	atlock_by_id(&view, id);
	if (group->id == NULL) {
		rc = group->fn(group->arg, &view);
	} else if (strcmp(id, group->id) == 0) {
		*group->out = view;
		return 1;
	}
	atlock_view_clear(&view);
	return rc;
}

static int group_in_txn(struct op *op)
{
	struct group *group = op->arg;
	int rc = 0;

	for (size_t i = 0; i < group->filters && rc == 0; i++)
		rc = held_walk(op, &group->filter[i], group_show, group);
	return rc;
}

static int group_run(struct atlock *al, struct group *group)
{
	struct op op;
	int rc;

	if (al == NULL || (group->id == NULL ? group->fn == NULL : group->out == NULL))
		return -EINVAL;
	op_init(&op, al, NULL, NULL);
	op.arg = group;
	rc = op_view(&op, group_in_txn);
	return rc < 0 ? rc : group->id == NULL ? 0 : rc == 0;
}

static struct held_filter group_filter(enum atlock_by by, struct slice text)
{
	struct held_filter filter = { .owner = { NULL, 0 } };

	if (by == ATLOCK_BY_OWNER)
		filter.owner = text;
	else if (by == ATLOCK_BY_WHO)
		filter.who = text;
	else
		filter.host = text;
	return filter;
}

/* A component stands for the text it is, and for the one that had to be escaped to become it. */
static int group_of_component(struct atlock *al, enum atlock_by by, const char *component, struct group *group)
{
	char said[ATLOCK_COMPONENT_MAX + 1];

	if ((unsigned int)by > ATLOCK_BY_HOST || atlock_by_check(component, NULL) < 0)
		return -EINVAL;
	group->filter[group->filters++] = group_filter(by, slice_of(component));
	if (escape_decode(component, strlen(component), said, sizeof(said)) >= 0 && strcmp(said, component) != 0)
		group->filter[group->filters++] = group_filter(by, slice_of(said));
	return group_run(al, group);
}

int atlock_by_list(struct atlock *al, enum atlock_by by, const char *component, atlock_list_fn *fn, void *arg)
{
	struct group group = { .fn = fn, .arg = arg };

	return group_of_component(al, by, component, &group);
}

int atlock_by_find(struct atlock *al, enum atlock_by by, const char *component, const char *id, struct atlock_view *out)
{
	struct group group = { .id = id, .out = out };

	return id == NULL ? -EINVAL : group_of_component(al, by, component, &group);
}

static int group_of_pull(struct atlock *al, const struct atlock_pull_name *pull, struct group *group)
{
	char who[32];

	if (pull_check(pull) < 0)
		return -EINVAL;
	pull_who(pull, who);
	group->filter[group->filters++] = (struct held_filter){ .who = slice_of(who), .repo = pull_repo(pull) };
	return group_run(al, group);
}

int atlock_pull_locks(struct atlock *al, const struct atlock_pull_name *pull, atlock_list_fn *fn, void *arg)
{
	struct group group = { .fn = fn, .arg = arg };

	return group_of_pull(al, pull, &group);
}

int atlock_pull_lock(struct atlock *al, const struct atlock_pull_name *pull, const char *id, struct atlock_view *out)
{
	struct group group = { .id = id, .out = out };

	return id == NULL ? -EINVAL : group_of_pull(al, pull, &group);
}

bool atlock_by_has(enum atlock_by by, const char *component, const struct atlock_view *view)
{
	const char *text = by == ATLOCK_BY_OWNER ? view->owner : by == ATLOCK_BY_WHO ? view->who : view->host;
	char spelled[ATLOCK_COMPONENT_MAX + 1];

	return text != NULL && group_spell(slice_of(text), spelled) >= 0 && strcmp(spelled, component) == 0;
}

void atlock_by_id(const struct atlock_view *view, char out[ATLOCK_ID_MAX])
{
	atlock_view_id(view, out);
	/* A user name may have any byte; a component has no '/'. */
	for (char *p = out; *p != '\0'; p++)
		if (*p == '/')
			*p = '%';
}
