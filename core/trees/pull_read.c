/* A pull request's directory and files for readers, each from one consistent snapshot. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child_walk.h"
#include "escape.h"
#include "holder_index.h"
#include "lock_name.h"
#include "pull_store.h"
#include "seal.h"
#include "text.h"
#include "why.h"

/* --- Directories --- */

struct list {
	struct record_key prefix;
	struct atlock_place *place;
	atlock_pull_child_fn *fn;
	void *arg;
};

static int list_in_txn(struct op *op)
{
	const struct list *list = op->arg;
	struct child_walk child;
	int rc;

	child_walk_start(&child, &list->prefix, list->place);
	while ((rc = child_walk_next(op, &child)) == 0) {
		rc = list->fn(list->arg, child.component, child.directory);
		if (rc != 0)
			break;
	}
	return rc < 0 ? rc : 0;
}

static int list_run(struct atlock *al, struct list *list)
{
	return op_list(al, list_in_txn, list);
}

int atlock_pull_children(struct atlock *al, const char *path, struct atlock_place *place, atlock_pull_child_fn *fn,
			 void *arg)
{
	struct list list = { .place = place, .fn = fn, .arg = arg };
	struct atlock_pull_name name;
	char text[ATLOCK_KEY_MAX + 1];
	int rc;

	if (al == NULL || fn == NULL)
		return -EINVAL;
	rc = atlock_pull_parse(path, &name, NULL);
	if (rc != 1)
		return rc < 0 ? rc : -ENOTDIR;
	(void)snprintf(text, sizeof(text), "%s%s", name.text, name.text[0] != '\0' ? "/" : "");
	list.prefix = record_key_of(TABLE_PULL, slice_of(text));
	return list_run(al, &list);
}

int atlock_project_children(struct atlock *al, const struct atlock_pull_name *pull, const char *dir,
			    struct atlock_place *place, atlock_pull_child_fn *fn, void *arg)
{
	struct list list = { .place = place, .fn = fn, .arg = arg };
	char path[ATLOCK_PATH_MAX];
	struct atlock_name prefix;
	size_t skip;
	int rc;

	if (al == NULL || fn == NULL || dir == NULL || pull_check(pull) < 0)
		return -EINVAL;
	if ((size_t)snprintf(path, sizeof(path), "repos/%.*s/-%s%s", (int)pull->repo_len,
			     (const char *)pull_repo(pull).data, dir[0] != '\0' ? "/" : "", dir) >= sizeof(path))
		return -ENAMETOOLONG;
	rc = name_prefix(path, &prefix, NULL);
	if (rc < 0)
		return rc;
	skip = 1 + pull->repo_len + strlen("/-/");
	list.prefix = record_key_project(pull_slice(pull), (struct slice){ prefix.key + skip, prefix.len - skip });
	return list_run(al, &list);
}

struct get {
	const struct atlock_pull_name *pull;
	struct slice project;
	enum atlock_project_status *out;
};

static int get_in_txn(struct op *op)
{
	const struct get *get = op->arg;
	struct record_key key = record_key_project(pull_slice(get->pull), get->project);
	struct record_project record;
	int rc = op_get(op, RECORD_PROJECT, &key, &record);

	if (rc == 0 && record.status >= ATLOCK_PROJECT_STATUSES)
		return op_corrupt(op, record_key_slice(&key), -EBADMSG);
	if (rc == 0)
		*get->out = (enum atlock_project_status)record.status;
	return rc;
}

int atlock_project_get(struct atlock *al, const struct atlock_pull_name *pull, const struct atlock_name *project,
		       enum atlock_project_status *out)
{
	struct get get = { .pull = pull, .out = out };

	if (al == NULL || out == NULL || project == NULL || pull_check(pull) < 0 ||
	    pull_project(pull, name_slice(project), &get.project) < 0)
		return -EINVAL;
	return op_look(al, get_in_txn, &get, NULL);
}

/* --- Texts --- */

struct reading {
	const struct atlock_pull_name *pull;
	enum atlock_pull_text what;
	FILE *out;
};

static int print_head(struct op *op, const struct reading *reading, const struct record_pull *record)
{
	(void)op;
	if (record->head.len > 0)
		(void)fprintf(reading->out, "%.*s\n", (int)record->head.len, (const char *)record->head.data);
	return 0;
}

/* The caller frees `out` in any case. */
static int meta_get(struct op *op, const struct atlock_pull_name *pull, struct seal_text *out)
{
	struct record_key key = record_key_of(TABLE_PULL_TEXT, pull_slice(pull));
	int rc = seal_get(op, &key, out);

	return rc < 0 ? rc : 0;
}

static int print_meta(struct op *op, const struct reading *reading, const struct record_pull *record)
{
	struct seal_text meta;
	int rc = meta_get(op, reading->pull, &meta);

	(void)record;
	if (rc == 0 && meta.text.len > 0)
		(void)fwrite(meta.text.data, 1, meta.text.len, reading->out);
	seal_text_free(&meta);
	return rc;
}

static void print_column(FILE *out, const char *text)
{
	char spelled[3 * ATLOCK_KEY_MAX + 1];

	if (escape_encode(ESCAPE_PATH, false, text, strlen(text), spelled, sizeof(spelled)) >= 0)
		(void)fprintf(out, "%s\t", spelled);
}

static int print_projects(struct op *op, const struct reading *reading, const struct record_pull *record)
{
	struct record_key from = record_key_project(pull_slice(reading->pull), (struct slice){ NULL, 0 });
	struct record_project project;
	struct atlock_parts parts;
	struct atlock_name name;
	struct slice key;
	int rc;

	if (record->head.len > 0)
		(void)fprintf(reading->out, "head=");
	(void)print_head(op, reading, record);
	while ((rc = pull_project_next(op, reading->pull, &from, &key, &project)) == 0) {
		pull_project_name(reading->pull, key, &name);
		if (atlock_name_split(&name, &parts) < 0)
			return op_corrupt(op, key, -EBADMSG);
		print_column(reading->out, parts.dir);
		print_column(reading->out, parts.workspace);
		print_column(reading->out, parts.project);
		(void)fprintf(reading->out, "%s%s%.*s\n", atlock_project_status_name(project.status),
			      project.policy.len > 0 ? "\t" : "", (int)project.policy.len,
			      project.policy.len > 0 ? (const char *)project.policy.data : "");
	}
	return rc < 0 ? rc : 0;
}

static int count_lock(struct op *op, void *arg, struct slice lock, const struct record_lock *record)
{
	(void)op, (void)lock, (void)record;
	++*(size_t *)arg;
	return 0;
}

static int count_projects(struct op *op, const struct atlock_pull_name *pull, size_t counts[ATLOCK_PROJECT_STATUSES])
{
	struct record_key from = record_key_project(pull_slice(pull), (struct slice){ NULL, 0 });
	struct record_project project;
	struct slice key;
	int rc;

	while ((rc = pull_project_next(op, pull, &from, &key, &project)) == 0) {
		if (project.status >= ATLOCK_PROJECT_STATUSES)
			return op_corrupt(op, key, -EBADMSG);
		counts[project.status]++;
	}
	return rc < 0 ? rc : 0;
}

static int print_url(struct op *op, const struct reading *reading)
{
	struct seal_text meta;
	struct meta_line line;
	int rc = meta_get(op, reading->pull, &meta);
	const char *text = meta.text.data;
	size_t left = meta.text.len;

	while (meta_next(&text, &left, &line))
		if (meta_line_is(&line, "url"))
			(void)fprintf(reading->out, "url=%.*s\n", (int)line.value_len, line.value);
	seal_text_free(&meta);
	return rc;
}

static int print_summary(struct op *op, const struct reading *reading, const struct record_pull *record)
{
	size_t counts[ATLOCK_PROJECT_STATUSES] = { 0 };
	char updated[TEXT_TIME_MAX] = "never";
	struct atlock_pull pull = { .num = 0 };
	size_t locks = 0;
	char who[32];
	int rc;

	pull_who(reading->pull, who);
	rc = holder_index_walk(op,
			       &(struct holder_index_filter){ .who = slice_of(who), .repo = pull_repo(reading->pull) },
			       count_lock, &locks);
	if (rc == 0)
		rc = count_projects(op, reading->pull, counts);
	if (rc == 0)
		rc = atlock_pull_split(reading->pull, &pull);
	if (rc < 0)
		return rc;
	if (record->updated != 0)
		text_time(record->updated, updated, sizeof(updated));
	(void)fprintf(reading->out, "pull=%" PRIu64 "\nhost=%s\nrepo=%s\nhead=%.*s\n", pull.num, pull.host, pull.repo,
		      (int)record->head.len, record->head.len > 0 ? (const char *)record->head.data : "");
	rc = print_url(op, reading);
	(void)fprintf(reading->out, "updated_at=%s\nlocks=%zu\nprojects=%" PRIu64 "\n", updated, locks,
		      record->projects);
	for (size_t i = 0; i < ATLOCK_PROJECT_STATUSES; i++)
		(void)fprintf(reading->out, "%s=%zu\n", atlock_project_status_name((enum atlock_project_status)i),
			      counts[i]);
	return rc;
}

static int read_in_txn(struct op *op)
{
	static int (*const print[])(struct op * op, const struct reading *reading, const struct record_pull *record) = {
		[ATLOCK_PULL_HEAD] = print_head,
		[ATLOCK_PULL_META] = print_meta,
		[ATLOCK_PULL_PROJECTS] = print_projects,
		[ATLOCK_PULL_SUMMARY] = print_summary,
	};
	const struct reading *reading = op->arg;
	struct record_pull record;
	int rc = pull_load(op, reading->pull, &record);

	return rc < 0 ? rc : print[reading->what](op, reading, &record);
}

int atlock_pull_read(struct atlock *al, const struct atlock_pull_name *pull, enum atlock_pull_text what, char **text,
		     size_t *len, struct atlock_why *why)
{
	struct reading reading = { .pull = pull, .what = what };
	int rc;

	if (al == NULL || text == NULL || len == NULL || pull_check(pull) < 0 ||
	    (unsigned int)what > ATLOCK_PULL_SUMMARY)
		return -EINVAL;
	*text = NULL;
	reading.out = open_memstream(text, len);
	if (reading.out == NULL)
		return -ENOMEM;
	rc = op_look(al, read_in_txn, &reading, why);
	if (fclose(reading.out) != 0 && rc == 0)
		rc = -ENOMEM;
	if (rc < 0) {
		free(*text);
		*text = NULL;
	}
	return rc;
}
