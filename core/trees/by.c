/* Locks of an owner, a who, a host or a pull request, as by/ and pulls/ show them. */
#include "by.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "place.h"
#include "pull_store.h"
#include "scan.h"
#include "view.h"

#define PART_FILTER '0' /* of a place: one part for each filter; the rest is that of holder_index_place() */

/* The locks to show, or the id of one to find. */
struct group {
	struct holder_index_filter filter[2]; /* the second is used if the walk of the first was not stopped */
	size_t filters;
	size_t at;      /* index of the filter in use */
	const char *id; /* NULL: all */
	struct atlock_place *place;
	atlock_list_fn *fn;
	void *arg;
	struct atlock_view *out;
};

/* Parses "lock_<time>_<owner>_<random>": the two numbers are the key in the index of ids. */
static bool id_parse(const char *id, uint64_t *time, uint32_t *random)
{
	static const char lead[] = "lock_";
	const char *hex = strrchr(id, '_');
	char *end;

	if (strncmp(id, lead, strlen(lead)) != 0 || hex == NULL || strlen(hex) != 9 ||
	    !isdigit((unsigned char)id[strlen(lead)]))
		return false;
	errno = 0;
	*time = strtoull(id + strlen(lead), &end, 10);
	if (errno != 0 || *end != '_')
		return false;
	*random = (uint32_t)strtoul(hex + 1, &end, 16);
	return *end == '\0';
}

static int group_show(struct op *op, void *arg, struct slice lock, const struct record_lock *record)
{
	struct group *group = arg;
	struct atlock_view view;
	int rc;

	if (group->place != NULL) {
		struct record_key place = holder_index_place(&record->grant);

		place_set(group->place, (unsigned char)(PART_FILTER + group->at), record_key_slice(&place));
	}
	rc = view_make(op, lock, record, &view);
	if (rc < 0)
		return rc;
	rc = group->fn(group->arg, &view);
	atlock_view_clear(&view);
	return rc;
}

static int group_in_txn(struct op *op)
{
	struct group *group = op->arg;
	unsigned char part = place_part(group->place);
	struct record_key after = { .len = 0 };
	int rc = 0;

	/* A copy: each lock that is shown overwrites the place. */
	if (part != 0 && group->place->len <= sizeof(after.data)) {
		after.len = place_text(group->place, part).len;
		memcpy(after.data, place_text(group->place, part).data, after.len);
	}
	for (group->at = 0; group->at < group->filters && rc == 0; group->at++) {
		struct holder_index_filter filter = group->filter[group->at];

		if (part > PART_FILTER + group->at)
			continue;
		if (part == PART_FILTER + group->at)
			filter.after = record_key_slice(&after);
		rc = holder_index_walk(op, &filter, group_show, group);
	}
	return rc;
}

/* Whether a lock of the index is the one to find: 1, with its view, or 0. */
static int find_one(struct op *op, const struct group *group, struct slice lock)
{
	char id[ATLOCK_ID_MAX];
	struct record_lock record;
	bool matches = false;
	int rc = table_lock_get(op, lock, &record);

	if (rc != 0)
		return rc < 0 ? rc : op_corrupt(op, lock, -EBADMSG);
	for (size_t i = 0; i < group->filters && !matches; i++)
		matches = holder_index_matches(op, &group->filter[i], lock, &record.grant);
	if (!matches)
		return 0;
	rc = view_make(op, lock, &record, group->out);
	if (rc < 0)
		return rc;
	atlock_by_id(group->out, id);
	if (strcmp(id, group->id) == 0)
		return 1;
	atlock_view_clear(group->out);
	return 0;
}

static int find_in_txn(struct op *op)
{
	const struct group *group = op->arg;
	struct record_key prefix;
	struct scan scan;
	uint32_t random;
	uint64_t time;
	int rc;

	if (!id_parse(group->id, &time, &random))
		return 0;
	prefix = record_key_ids(time, random);
	scan = scan_prefix(&prefix);
	while ((rc = scan_next(op, &scan)) == 0) {
		rc = find_one(op, group, scan.value);
		if (rc != 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

static int group_run(struct atlock *al, struct group *group)
{
	int rc;

	if (al == NULL || (group->id == NULL ? group->fn == NULL : group->out == NULL))
		return -EINVAL;
	rc = op_list(al, group->id == NULL ? group_in_txn : find_in_txn, group);
	return rc < 0 ? rc : group->id == NULL ? 0 : rc == 0;
}

/* A component means its own text, and also the text that is escaped to it. */
static int group_of_component(struct atlock *al, enum atlock_by by, const char *component, struct group *group)
{
	char said[ATLOCK_COMPONENT_MAX + 1];

	if ((unsigned int)by > ATLOCK_BY_HOST || atlock_by_check(component, NULL) < 0)
		return -EINVAL;
	group->filter[group->filters++] = by_filter(by, slice_of(component));
	if (escape_decode(component, strlen(component), said, sizeof(said)) >= 0 && strcmp(said, component) != 0)
		group->filter[group->filters++] = by_filter(by, slice_of(said));
	return group_run(al, group);
}

int atlock_by_list(struct atlock *al, enum atlock_by by, const char *component, struct atlock_place *place,
		   atlock_list_fn *fn, void *arg)
{
	struct group group = { .place = place, .fn = fn, .arg = arg };

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
	group->filter[group->filters++] = (struct holder_index_filter){ .who = slice_of(who), .repo = pull_repo(pull) };
	return group_run(al, group);
}

int atlock_pull_locks(struct atlock *al, const struct atlock_pull_name *pull, struct atlock_place *place,
		      atlock_list_fn *fn, void *arg)
{
	struct group group = { .place = place, .fn = fn, .arg = arg };

	return group_of_pull(al, pull, &group);
}

int atlock_pull_lock(struct atlock *al, const struct atlock_pull_name *pull, const char *id, struct atlock_view *out)
{
	struct group group = { .id = id, .out = out };

	return id == NULL ? -EINVAL : group_of_pull(al, pull, &group);
}

void atlock_by_id(const struct atlock_view *view, char out[ATLOCK_ID_MAX])
{
	atlock_view_id(view, out);
	/* A user name may have any byte, but a component has no '/'. */
	for (char *p = out; *p != '\0'; p++)
		if (*p == '/')
			*p = '%';
}
