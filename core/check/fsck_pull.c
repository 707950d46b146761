/* Pull requests, their texts, and their projects. */
#include <errno.h>
#include <string.h>

#include "fsck.h"
#include "pull_store.h"

/* The pull request in a key: the bytes after the table's letter, up to a NUL. */
static int pull_parse(struct slice key, struct atlock_pull_name *out)
{
	char path[sizeof("pulls/") + STORE_KEY_MAX];
	struct slice rest = fsck_rest(key);

	(void)snprintf(path, sizeof(path), "pulls/%.*s", (int)strnlen(rest.data, rest.len), (const char *)rest.data);
	return atlock_pull_parse(path, out, NULL) == 0 ? 0 : -EINVAL;
}

static int pull_put(struct fsck *fsck, const struct atlock_pull_name *pull, uint64_t projects,
		    const struct record_pull *old)
{
	struct record_key key = record_key_of(TABLE_PULL, pull_slice(pull));
	struct record_pull record = { .created = fsck->op->wall, .updated = fsck->op->wall };

	if (old != NULL)
		record = *old;
	record.projects = projects;
	return op_put(fsck->op, RECORD_PULL, &key, &record);
}

static int projects_count(struct fsck *fsck, const struct atlock_pull_name *pull, uint64_t *out)
{
	struct record_key prefix = record_key_project(pull_slice(pull), (struct slice){ NULL, 0 });

	return fsck_count(fsck, &prefix, out);
}

/* Rebuilds a missing pull request of which a part is left. */
static int part_check(struct fsck *fsck, struct slice key, const struct atlock_pull_name *pull, const char *what)
{
	struct record_key at = record_key_of(TABLE_PULL, pull_slice(pull));
	struct record_pull record;
	uint64_t projects;
	int rc = fsck_get(fsck, RECORD_PULL, &at, &record);

	if (rc != 1)
		return rc;
	fsck_problem(fsck, key, what, "it is there again");
	rc = projects_count(fsck, pull, &projects);
	return rc == 0 && fsck->fix ? pull_put(fsck, pull, projects, NULL) : rc;
}

static int project_one(struct fsck *fsck, struct slice key, struct slice value)
{
	const char *end = memchr(key.data, '\0', key.len);
	struct atlock_pull_name pull;
	struct record_project record = { .status = 0 };
	int rc;

	if (end == NULL || end + 1 == (const char *)key.data + key.len || pull_parse(key, &pull) < 0)
		return fsck_drop(fsck, key, "the project's key is damaged");
	rc = fsck_decode(fsck, RECORD_PROJECT, key, value, &record);
	if (rc < 0)
		return rc;
	if (rc == 1 || record.status >= ATLOCK_PROJECT_STATUSES)
		return fsck_drop(fsck, key, "the project's record is damaged");
	return part_check(fsck, key, &pull, "a project of a pull request that is not there");
}

static int text_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct atlock_pull_name pull;
	struct slice left;
	int rc;

	if (pull_parse(key, &pull) < 0)
		return fsck_drop(fsck, key, "no pull request can have this name");
	rc = fsck_sealed(fsck, key, value);
	if (rc == 0)
		rc = store_get(fsck->op->txn, key, &left);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return part_check(fsck, key, &pull, "text of a pull request that is not there");
}

static int pull_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct atlock_pull_name pull;
	struct record_pull record;
	uint64_t projects;
	int rc;

	if (pull_parse(key, &pull) < 0)
		return fsck_drop(fsck, key, "no pull request can have this name");
	/* A damaged one with parts left has been rebuilt before this. */
	rc = fsck_decode(fsck, RECORD_PULL, key, value, &record);
	if (rc != 0)
		return rc < 0 ? rc : fsck_drop(fsck, key, "the pull request's record is damaged");
	rc = projects_count(fsck, &pull, &projects);
	if (rc < 0 || projects == record.projects)
		return rc;
	fsck_problem(fsck, key, "the number of projects is wrong", "counted anew");
	return fsck->fix ? pull_put(fsck, &pull, projects, &record) : 0;
}

int fsck_pulls(struct fsck *fsck)
{
	int rc = fsck_table(fsck, TABLE_PROJECT, project_one);

	if (rc == 0)
		rc = fsck_table(fsck, TABLE_PULL_TEXT, text_one);
	return rc == 0 ? fsck_table(fsck, TABLE_PULL, pull_one) : rc;
}
