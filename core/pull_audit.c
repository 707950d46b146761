/* Checks the records of pull requests against each other. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "pull.h"
#include "seal.h"

struct audit {
	FILE *report;
	int64_t problems;
};

typedef int audit_fn(struct op *op, struct audit *audit, struct slice key, struct slice value);

static void problem(struct audit *audit, struct slice key, const char *what)
{
	audit->problems++;
	if (audit->report != NULL)
		(void)fprintf(audit->report, "%.*s: %s\n", (int)strnlen(key.data, key.len), (const char *)key.data,
			      what);
}

/* The pull request that a key is about: all behind the table's letter, up to a NUL. */
static int pull_of(struct slice key, struct atlock_pull_name *out)
{
	char path[sizeof("pulls/") + STORE_KEY_MAX];
	size_t len = strnlen((const char *)key.data + 1, key.len - 1);

	(void)snprintf(path, sizeof(path), "pulls/%.*s", (int)len, (const char *)key.data + 1);
	return atlock_pull_parse(path, out, NULL) == 0 ? 0 : -EINVAL;
}

static int audit_pull(struct op *op, struct audit *audit, struct slice key, struct slice value)
{
	struct atlock_pull_name pull;
	struct record_project project;
	struct record_pull record;
	struct record_key from;
	struct slice name;
	uint64_t count = 0;
	int rc;

	if (record_decode(RECORD_PULL, value, &record) < 0 || pull_of(key, &pull) < 0) {
		problem(audit, key, "the pull request's record is damaged");
		return 0;
	}
	from = record_key_project(pull_slice(&pull), (struct slice){ NULL, 0 });
	while ((rc = pull_project_next(op, &pull, &from, &name, &project)) == 0)
		count++;
	/* A damaged project is told of where projects are looked at. */
	if (rc == 1 && count != record.projects)
		problem(audit, key, "the number of projects is wrong");
	return 0;
}

static int audit_owned(struct op *op, struct audit *audit, struct slice key, const char *what)
{
	struct atlock_pull_name pull;
	struct record_pull record;
	int rc = pull_of(key, &pull);

	if (rc == 0)
		rc = pull_load(op, &pull, &record);
	if (rc != 0)
		problem(audit, key, what);
	return 0;
}

static int audit_text(struct op *op, struct audit *audit, struct slice key, struct slice value)
{
	if (seal_check(op, key, value) < 0)
		problem(audit, key, "the sealed text is damaged, or sealed with another key");
	return audit_owned(op, audit, key, "text of a pull request that is not there");
}

static int audit_project(struct op *op, struct audit *audit, struct slice key, struct slice value)
{
	struct record_project record;

	if (record_decode(RECORD_PROJECT, value, &record) < 0 || record.status >= ATLOCK_PROJECT_STATUSES ||
	    memchr(key.data, 0, key.len) == NULL) {
		problem(audit, key, "the project's record is damaged");
		return 0;
	}
	return audit_owned(op, audit, key, "a project of a pull request that is not there");
}

static int audit_table(struct op *op, struct audit *audit, enum record_table table, audit_fn *fn)
{
	const unsigned char first = (unsigned char)table;
	struct record_key from = record_key_of(table, (struct slice){ NULL, 0 });
	struct slice key;
	struct slice value;
	int rc;

	while ((rc = store_next(op->txn, record_key_slice(&from), (struct slice){ &first, 1 }, &key, &value)) == 0) {
		rc = fn(op, audit, key, value);
		if (rc < 0)
			return rc;
		from = record_key_after(key);
	}
	return rc < 0 ? rc : 0;
}

int64_t pull_check_all(struct op *op, FILE *report)
{
	struct audit audit = { .report = report };
	int rc = audit_table(op, &audit, TABLE_PULL, audit_pull);

	if (rc == 0)
		rc = audit_table(op, &audit, TABLE_PULL_TEXT, audit_text);
	if (rc == 0)
		rc = audit_table(op, &audit, TABLE_PROJECT, audit_project);
	return rc < 0 ? rc : audit.problems;
}
