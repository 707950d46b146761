/*
 * From the tree back to Atlantis' records. The record that an import kept is the base; the present state of the tree overrides
 * it, so that a transferred lock or a changed status is exported as it is. A lock or pull request that never came from Atlantis
 * gets a new record with the fields that the tree knows.
 */
#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "atlantis.h"
#include "escape.h"
#include "holder.h"
#include "lock_name.h"
#include "meta.h"
#include "why.h"

static const char *text_of(const json_t *object, const char *key)
{
	return atlantis_string(object, key);
}

/* Makes a record of a pull request from the fields that are known. */
static json_t *pull_make(const char *host, const char *repo, uint64_t num, const char *url, const char *author)
{
	const char *slash = strrchr(repo, '/');
	json_t *owner = json_stringn(repo, slash == NULL ? 0 : (size_t)(slash - repo));

	return json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:i, s:{s:s, s:o, s:s, s:s, s:s, s:{s:s, s:i}}}", "Num",
			 (json_int_t)num, "HeadCommit", "", "URL", url, "HeadBranch", "", "BaseBranch", "", "Author",
			 author, "State", 0, "BaseRepo", "FullName", repo, "Owner", owner, "Name",
			 slash == NULL ? repo : slash + 1, "CloneURL", "", "SanitizedCloneURL", "", "VCSHost",
			 "Hostname", host, "Type", 0);
}

/* The record that an import kept, or NULL. */
static json_t *record_kept(const char *text)
{
	json_t *kept = text[0] == '\0' ? NULL : atlantis_parse(text, strlen(text), "", NULL);

	if (kept != NULL)
		atlantis_scrub(kept);
	return kept;
}

/* --- Locks --- */

struct held {
	const json_t *line;
	const char *owner;
	uint64_t num;
	struct atlock_parts parts;
	const char *time;
	const char *url;
};

static json_t *lock_make(const struct held *held)
{
	return json_pack("{s:{s:s, s:s, s:s}, s:o, s:{s:s, s:n}, s:s, s:s}", "Project", "ProjectName",
			 held->parts.project, "RepoFullName", held->parts.repo, "Path", held->parts.dir, "Pull",
			 pull_make("", held->parts.repo, held->num, held->url, held->owner), "User", "Username",
			 held->owner, "Teams", "Workspace", held->parts.workspace, "Time", held->time);
}

/* The kept record with the present holder, unless it is about another lock. */
static json_t *lock_value(const struct held *held, const char *path)
{
	struct atlock_foreign_record old = { .key = NULL };
	json_t *kept = record_kept(atlantis_string(held->line, "meta." ATLANTIS_KEY));
	bool same = kept != NULL && atlantis_lock_record(kept, NULL, &old, NULL) == 0 && strcmp(old.path, path) == 0;
	char who[32];

	if (!same) {
		json_decref(kept);
		kept = lock_make(held);
	} else {
		snprintf(who, sizeof(who), "pr:%" PRIu64, held->num);
		if (strcmp(old.who, who) != 0)
			json_object_set_new(kept, "Pull", pull_make("", held->parts.repo, held->num, "", held->owner));
		if (strcmp(old.owner, held->owner) != 0 &&
		    strcmp(atlantis_string(held->line, "meta." ATLOCK_FOREIGN_MAPPED), held->owner) != 0)
			json_object_set_new(kept, "User", json_pack("{s:s}", "Username", held->owner));
	}
	atlock_foreign_clear(&old);
	return kept;
}

static int lock_from(const json_t *line, const struct atlock_name *name, struct atlock_foreign_record *record,
		     struct atlock_why *why)
{
	struct held held = { .line = line, .owner = text_of(line, "owner") };
	char path[ATLOCK_PATH_MAX];
	json_t *value;
	int err;

	if (atlock_name_split(name, &held.parts) < 0)
		return 1;
	if (!holder_pull(text_of(line, "who"), &held.num))
		held.num = (uint64_t)atlantis_integer(line, "meta.pull");
	if (held.num == 0)
		held.num = strtoull(atlantis_string(line, "meta.pull"), NULL, 10);
	if (held.num == 0 || held.num > INT64_MAX)
		return 1;
	held.time = text_of(line, "acquired_at");
	held.url = atlantis_string(line, "meta.url");
	strlcpy(path, record->path, sizeof(path));
	value = lock_value(&held, path);
	if (value == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "%.200s has no form in JSON", path);
	err = atlantis_record(ATLOCK_FOREIGN_LOCK, value, NULL, record, why);
	if (err == 0) {
		const char *found = atlantis_string(line, "meta." ATLANTIS_FOUND);

		record->form = strcmp(found, record->key3) == 0 ? 3 : strcmp(found, record->key) == 0 ? 4 : 0;
	}
	json_decref(value);
	return err;
}

static int global_from(const json_t *line, const struct atlock_name *name, struct atlock_foreign_record *record,
		       struct atlock_why *why)
{
	json_t *kept = record_kept(atlantis_string(line, "meta." ATLANTIS_KEY));
	char path[ATLOCK_PATH_MAX] = "";
	struct tm tm = { .tm_sec = 0 };
	const char *command = path + strlen("global/");
	int number;
	int err;

	name_print_plain(name, path, sizeof(path));
	number = atlantis_command_number(command);
	if (number < 0) {
		json_decref(kept);
		return 1;
	}
	if (kept == NULL || atlantis_integer(kept, "CommandName") != number) {
		json_decref(kept);
		if (strptime(text_of(line, "acquired_at"), "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
			memset(&tm, 0, sizeof(tm));
		kept = json_pack("{s:{s:I}, s:i}", "LockMetadata", "UnixTime", (json_int_t)timegm(&tm), "CommandName",
				 number);
	}
	if (kept == NULL)
		return atlantis_no_memory(why);
	err = atlantis_record(ATLOCK_FOREIGN_GLOBAL, kept, NULL, record, why);
	json_decref(kept);
	return err;
}

int atlock_foreign_from_lock(const char *line, size_t len, struct atlock_foreign_record *record, struct atlock_why *why)
{
	json_t *lock = atlantis_parse(line, len, "a line of locks.jsonl", why);
	struct atlock_name name;
	char owner[ATLOCK_OWNER_MAX + 1];
	char who[ATLOCK_WHO_MAX + 1];
	int err = 1;

	if (lock == NULL)
		return -EBADMSG;
	atlock_foreign_clear(record);
	strlcpy(record->path, text_of(lock, "lock"), sizeof(record->path));
	strlcpy(owner, text_of(lock, "owner"), sizeof(owner));
	strlcpy(who, text_of(lock, "who"), sizeof(who));
	if (strcmp(text_of(lock, "kind"), "lock") == 0 && atlock_name_parse(record->path, &name, NULL) == 0)
		err = atlock_name_tree(&name) == ATLOCK_GLOBAL ? global_from(lock, &name, record, why)
							       : lock_from(lock, &name, record, why);
	if (err >= 0) {
		strlcpy(record->owner, owner, sizeof(record->owner));
		strlcpy(record->who, who, sizeof(record->who));
	}
	json_decref(lock);
	return err;
}

/* --- Pull requests --- */

/* The value of a key in key=value lines, malloc'ed; NULL if it is not there. */
static char *meta_value(const char *text, const char *key)
{
	size_t len = strlen(text);
	struct meta_line line;

	while (meta_next(&text, &len, &line))
		if (meta_line_is(&line, key))
			return strndup(line.value, line.value_len);
	return NULL;
}

static int column_take(char **line, char *out, size_t size)
{
	const char *column = strsep(line, "\t");

	return column == NULL || escape_decode(column, strlen(column), out, size) < 0 ? -EINVAL : 0;
}

/* Converts a line of projects.tsv to Atlantis' form; NULL for an invalid line. */
static json_t *project_from(char *line)
{
	char dir[ATLOCK_KEY_MAX + 1];
	char clean[ATLOCK_KEY_MAX + 1];
	char workspace[ATLOCK_COMPONENT_MAX + 1];
	char name[ATLOCK_COMPONENT_MAX + 1];
	enum atlock_project_status status;
	const char *word;
	json_t *project;
	bool spelled;

	if (column_take(&line, dir, sizeof(dir)) < 0 || column_take(&line, workspace, sizeof(workspace)) < 0 ||
	    column_take(&line, name, sizeof(name)) < 0)
		return NULL;
	word = strsep(&line, "\t");
	if (word == NULL || atlock_project_status_parse(word, &status) < 0)
		return NULL;
	project = line == NULL ? NULL : record_kept(line);
	if (project == NULL)
		project = json_object();
	if (line != NULL && json_object_size(project) == 0 && line[0] != '\0')
		json_object_set_new(project, "PolicyStatus", json_loads(line, JSON_DECODE_ANY, NULL));
	spelled = atlantis_path_clean(atlantis_string(project, "RepoRelDir"), clean, sizeof(clean)) == 0 &&
		  atlantis_string(project, "RepoRelDir")[0] != '\0' && strcmp(clean, dir) == 0;
	if (!spelled)
		json_object_set_new(project, "RepoRelDir", json_string(dir));
	json_object_set_new(project, "Workspace", json_string(workspace));
	json_object_set_new(project, "ProjectName", json_string(name));
	json_object_set_new(project, "Status", json_integer(status));
	return project;
}

static json_t *projects_from(const char *text)
{
	json_t *list = json_array();
	char *copy = strdup(text);
	char *left = copy;
	char *line;

	while (copy != NULL && (line = strsep(&left, "\n")) != NULL) {
		if (line[0] == '\0' || strncmp(line, "head=", strlen("head=")) == 0)
			continue;
		json_array_append_new(list, project_from(line));
	}
	free(copy);
	return list;
}

static json_t *pull_value(const struct atlock_pull *pull, const char *head, const char *meta, const char *projects)
{
	char *text = meta_value(meta, ATLANTIS_KEY);
	char *url = meta_value(meta, "url");
	char *author = meta_value(meta, "author");
	json_t *value = record_kept(text == NULL ? "" : text);
	size_t len = strcspn(head, "\n");

	if (value == NULL)
		value = json_object();
	if (!json_is_object(json_object_get(value, "Pull")))
		json_object_set_new(value, "Pull",
				    pull_make(pull->host, pull->repo, pull->num, url == NULL ? "" : url,
					      author == NULL ? "" : author));
	if (len != 0)
		json_object_set_new(json_object_get(value, "Pull"), "HeadCommit", json_stringn(head, len));
	json_object_set_new(value, "Projects", projects_from(projects));
	free(text);
	free(url);
	free(author);
	return value;
}

int atlock_foreign_from_pull(const char *path, const char *head, const char *meta, const char *projects,
			     struct atlock_foreign_record *record, struct atlock_why *why)
{
	struct atlock_pull_name name;
	struct atlock_pull pull = { .num = 0 };
	char key[ATLOCK_PATH_MAX];
	json_t *value;
	int err = atlock_pull_parse(path, &name, why);

	if (err == 1)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "%.200s is no pull request", path);
	if (err == 0)
		err = atlock_pull_split(&name, &pull);
	if (err < 0)
		return err;
	if (head[0] == '\0' && meta[0] == '\0' && projects[0] == '\0')
		return 1;
	value = pull_value(&pull, head, meta, projects);
	if (value == NULL)
		return atlantis_no_memory(why);
	err = atlock_legacy_pull_key(&pull, key, sizeof(key));
	if (err < 0)
		why_set(why, err, ATLOCK_INVALID_REQUEST, "%.200s has no key at Atlantis", path);
	else
		err = atlantis_record(ATLOCK_FOREIGN_PULL, value, key, record, why);
	json_decref(value);
	return err;
}
