/*
 * A pull request's record: its Projects are lines of projects.tsv, all else is a key of its meta. Fields without a column (a
 * policy status, a directory that Atlantis spells differently) go into the last column as JSON.
 */
#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atlantis.h"
#include "escape.h"
#include "pull_store.h"
#include "text.h"
#include "why.h"

#define INSERTED ATLOCK_PLANNED_NO_CHANGES /* by 0.25: this number and those above were one less before */

void atlantis_status_shift(struct json_t *pull)
{
	json_t *project;
	size_t i;

	json_array_foreach(json_object_get(pull, "Projects"), i, project) {
		int64_t status = atlantis_integer(project, "Status");

		if (status >= INSERTED)
			json_object_set_new(project, "Status", json_integer(status + 1));
	}
}

/* Sets the pull request's path. Very old records have no host; then it is taken from the key. */
static int pull_path(const json_t *value, const char *found, struct atlock_foreign_record *record,
		     struct atlock_why *why)
{
	struct atlock_pull pull = { .num = 0 };
	const char *host = atlantis_string(value, "Pull.BaseRepo.VCSHost.Hostname");
	const char *repo = atlantis_string(value, "Pull.BaseRepo.FullName");
	int64_t num = atlantis_integer(value, "Pull.Num");
	struct atlock_pull_name name;
	int err;

	if (host[0] == '\0' || repo[0] == '\0' || num < 1) {
		err = atlock_legacy_pull_parse(found == NULL ? "" : found, &pull, why);
		if (err < 0)
			return err;
	} else if (strlcpy(pull.host, host, sizeof(pull.host)) >= sizeof(pull.host) ||
		   strlcpy(pull.repo, repo, sizeof(pull.repo)) >= sizeof(pull.repo)) {
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "its names are too long");
	} else {
		pull.num = (uint64_t)num;
	}
	err = atlock_pull_join(&pull, &name, why);
	if (err == 0)
		err = atlock_pull_print(&name, record->path, sizeof(record->path));
	if (err < 0)
		return err;
	if (asprintf(&record->key, "%s::%s::%" PRIu64, pull.host, pull.repo, pull.num) < 0) {
		record->key = NULL;
		return atlantis_no_memory(why);
	}
	record->elsewhere = found != NULL && strcmp(found, record->key) != 0;
	return 0;
}

/* Prints a column of projects.tsv: '%' and control bytes are spelled %XX. */
static void column_print(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f || *text == '%')
			fprintf(out, "%%%02X", (unsigned char)*text);
		else
			fputc(*text, out);
	}
	fputc('\t', out);
}

/* The fields that have no column, or NULL if there are none. */
static char *project_rest(const json_t *project, const char *dir)
{
	json_t *rest = json_deep_copy(project);
	const char *key;
	json_t *member;
	void *next;
	char *text = NULL;

	json_object_del(rest, "Workspace");
	json_object_del(rest, "ProjectName");
	json_object_del(rest, "Status");
	if (strcmp(atlantis_string(project, "RepoRelDir"), dir) == 0)
		json_object_del(rest, "RepoRelDir");
	json_object_foreach_safe(rest, next, key, member) if (json_is_null(member)) json_object_del(rest, key);
	if (json_object_size(rest) > 0)
		text = atlantis_print(rest);
	json_decref(rest);
	return text;
}

static int project_print(FILE *out, const json_t *project, struct atlock_foreign_record *record, struct atlock_why *why)
{
	const char *given = atlantis_string(project, "RepoRelDir");
	int64_t status = atlantis_integer(project, "Status");
	char dir[ATLOCK_KEY_MAX + 1];
	char *rest;

	if (atlantis_path_clean(given, dir, sizeof(dir)) < 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "the directory \"%.200s\" is too long or leaves the repository", given);
	if (status < 0 || status >= ATLOCK_PROJECT_STATUSES)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "there is no status with the number %" PRId64,
			       status);
	column_print(out, dir);
	column_print(out, atlantis_string(project, "Workspace"));
	column_print(out, atlantis_string(project, "ProjectName"));
	fputs(atlock_project_status_name((enum atlock_project_status)status), out);
	rest = project_rest(project, dir);
	record->shortened = record->shortened || (rest != NULL && strlen(rest) > PULL_POLICY_MAX);
	if (rest != NULL && strlen(rest) <= PULL_POLICY_MAX)
		fprintf(out, "\t%s", rest);
	fputc('\n', out);
	free(rest);
	return 0;
}

static bool project_is(const json_t *a, const json_t *b)
{
	char dir[ATLOCK_KEY_MAX + 1];
	char other[ATLOCK_KEY_MAX + 1];

	return strcmp(atlantis_string(a, "Workspace"), atlantis_string(b, "Workspace")) == 0 &&
	       strcmp(atlantis_string(a, "ProjectName"), atlantis_string(b, "ProjectName")) == 0 &&
	       atlantis_path_clean(atlantis_string(a, "RepoRelDir"), dir, sizeof(dir)) == 0 &&
	       atlantis_path_clean(atlantis_string(b, "RepoRelDir"), other, sizeof(other)) == 0 &&
	       strcmp(dir, other) == 0;
}

/* Whether the same project follows later in the list: the last one is the newest, and projects.tsv names each once. */
static bool project_comes_again(const json_t *projects, size_t i)
{
	const json_t *project = json_array_get(projects, i);

	for (size_t j = i + 1; j < json_array_size(projects); j++)
		if (project_is(project, json_array_get(projects, j)))
			return true;
	return false;
}

static int pull_projects(const json_t *value, struct atlock_foreign_record *record, struct atlock_why *why)
{
	const char *head = atlantis_string(value, "Pull.HeadCommit");
	const json_t *projects = json_object_get(value, "Projects");
	json_t *project;
	FILE *out;
	size_t len;
	size_t i;
	int err = 0;

	out = open_memstream(&record->text, &len);
	if (out == NULL)
		return atlantis_no_memory(why);
	if (text_bad_byte(head, strlen(head)) != 0)
		err = why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "its head commit has control bytes");
	else if (head[0] != '\0')
		fprintf(out, "head=%s\n", head);
	json_array_foreach(projects, i, project) {
		if (err < 0)
			break;
		if (project_comes_again(projects, i)) {
			record->shortened = true;
			continue;
		}
		err = project_print(out, project, record, why);
	}
	if (fclose(out) != 0 && err == 0)
		err = atlantis_no_memory(why);
	return err;
}

static int pull_meta(const json_t *value, struct atlock_foreign_record *record, struct atlock_why *why)
{
	json_t *copy = json_copy((json_t *)value);
	char *rest = NULL;
	FILE *out;
	size_t len;

	json_object_del(copy, "Projects");
	rest = copy == NULL ? NULL : atlantis_print(copy);
	if (rest != NULL && strlen(rest) + 512 > ATLOCK_META_BYTES) {
		json_t *pull = json_deep_copy(json_object_get(copy, "Pull"));

		json_object_del(pull, "Body");
		json_object_set_new(copy, "Pull", pull);
		record->shortened = true;
		free(rest);
		rest = atlantis_print(copy);
	}
	json_decref(copy);
	out = rest == NULL ? NULL : open_memstream(&record->meta, &len);
	if (out == NULL) {
		free(rest);
		return atlantis_no_memory(why);
	}
	atlantis_line(out, "url", atlantis_string(value, "Pull.URL"));
	atlantis_line(out, "author", atlantis_string(value, "Pull.Author"));
	fprintf(out, ATLANTIS_KEY "=%s\n", rest);
	free(rest);
	return fclose(out) == 0 ? 0 : atlantis_no_memory(why);
}

int atlantis_pull_record(const struct json_t *value, const char *found, struct atlock_foreign_record *record,
			 struct atlock_why *why)
{
	int err = pull_path(value, found, record, why);

	if (err == 0)
		err = pull_projects(value, record, why);
	if (err == 0)
		err = pull_meta(value, record, why);
	if (err == 0 && atlantis_value(value, record) < 0)
		err = atlantis_no_memory(why);
	return err;
}
