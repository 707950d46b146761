/*
 * Parses what is written into a pull request's files.
 *
 *	head		one line: the head commit
 *	meta		key=value lines, as a lock's own
 *	projects.tsv	head=<commit>, which may be left out, then a line for each project, its columns separated by tabs:
 *			directory, workspace, project (empty if unnamed), status, and if it is known the policy status, an
 *			opaque text. '%' and control bytes in the first three are spelled %XX.
 */
#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "pull_store.h"
#include "text.h"
#include "userinfo.h"
#include "why.h"

static const char *const words[ATLOCK_PROJECT_STATUSES] = {
	[ATLOCK_PLAN_ERRORED] = "plan_errored",
	[ATLOCK_PLANNED] = "planned",
	[ATLOCK_PLANNED_NO_CHANGES] = "planned_no_changes",
	[ATLOCK_APPLY_ERRORED] = "apply_errored",
	[ATLOCK_APPLIED] = "applied",
	[ATLOCK_PLAN_DISCARDED] = "plan_discarded",
	[ATLOCK_POLICY_CHECK_ERRORED] = "policy_check_errored",
	[ATLOCK_POLICY_CHECK_PASSED] = "policy_check_passed",
};

const char *atlock_project_status_name(enum atlock_project_status status)
{
	return (unsigned int)status < ATLOCK_PROJECT_STATUSES ? words[status] : "unknown";
}

int atlock_project_status_parse(const char *word, enum atlock_project_status *out)
{
	for (size_t i = 0; word && i < ATLOCK_PROJECT_STATUSES; i++)
		if (strcmp(words[i], word) == 0) {
			*out = (enum atlock_project_status)i;
			return 0;
		}
	return -EINVAL;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void trim(const char **text, size_t *len)
{
	while (*len > 0 && is_space((*text)[*len - 1]))
		--*len;
	while (*len > 0 && is_space((*text)[0])) {
		++*text;
		--*len;
	}
}

int pull_status_parse(const char *word, size_t len, const char *place, enum atlock_project_status *out,
		      struct atlock_why *why)
{
	char text[32];
	char all[256] = "";

	trim(&word, &len);
	if (len < sizeof(text)) {
		memcpy(text, word, len);
		text[len] = '\0';
		if (strlen(text) == len && atlock_project_status_parse(text, out) == 0)
			return 0;
	}
	for (size_t i = 0; i < ATLOCK_PROJECT_STATUSES; i++) {
		(void)strlcat(all, i == 0 ? "" : " ", sizeof(all));
		(void)strlcat(all, words[i], sizeof(all));
	}
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "%s\"%.*s\" is no status: write one of %s", place,
		       (int)(len < 40 ? len : 40), word, all);
}

static int head_parse(const char *text, size_t len, char out[PULL_HEAD_MAX + 1], struct atlock_why *why)
{
	trim(&text, &len);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
			len = 0;
	if (len == 0 || len > PULL_HEAD_MAX)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "a head commit is one word of at most %d bytes; remove the file to forget it",
			       PULL_HEAD_MAX);
	memcpy(out, text, len);
	out[len] = '\0';
	return 0;
}

/* --- projects.tsv --- */

#define COLUMNS 5
enum { COLUMN_DIR, COLUMN_WORKSPACE, COLUMN_PROJECT, COLUMN_STATUS, COLUMN_POLICY };

/* Splits a line at its tabs. Returns the number of columns, or COLUMNS + 1 for too many. */
static size_t line_split(const char *line, size_t len, struct slice columns[COLUMNS])
{
	size_t n = 0;

	while (n < COLUMNS) {
		const char *tab = memchr(line, '\t', len);
		size_t column = tab ? (size_t)(tab - line) : len;

		columns[n++] = (struct slice){ line, column };
		if (!tab)
			return n;
		line += column + 1;
		len -= column + 1;
	}
	return COLUMNS + 1;
}

static int column_decode(struct slice column, char *out, size_t size)
{
	return escape_decode(column.data, column.len, out, size) < 0 ? -EINVAL : 0;
}

/* The lock that three columns name. */
static int line_lock(const struct atlock_pull_name *pull, const struct slice columns[COLUMNS], struct atlock_name *out,
		     struct atlock_why *why)
{
	struct atlock_parts parts;
	struct atlock_pull split;
	struct slice project;
	char path[ATLOCK_KEY_MAX];
	int err;

	memset(&parts, 0, sizeof(parts));
	if (column_decode(columns[COLUMN_DIR], parts.dir, sizeof(parts.dir)) ||
	    column_decode(columns[COLUMN_WORKSPACE], parts.workspace, sizeof(parts.workspace)) ||
	    column_decode(columns[COLUMN_PROJECT], parts.project, sizeof(parts.project)))
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "a column is too long or has a %% that begins no escape: a %% itself is spelled %%25");
	err = atlock_pull_split(pull, &split);
	if (err)
		return err;
	(void)strlcpy(parts.repo, split.repo, sizeof(parts.repo));
	err = atlock_name_join(&parts, out, why);
	if (!err)
		err = pull_project(pull, name_slice(out), &project);
	if (err)
		return err;
	/* Parse it again as a path, to check that it fits into one. */
	memcpy(path, project.data, project.len);
	path[project.len] = '\0';
	return atlock_project_parse(pull, path, out, why);
}

static int line_parse(const struct atlock_pull_name *pull, const char *line, size_t len, struct pull_result *out,
		      struct atlock_why *why)
{
	struct slice columns[COLUMNS];
	size_t n = line_split(line, len, columns);
	int err;

	for (size_t i = 0; i < len; i++)
		if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f)
			return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
				       "a control byte: in a name it is spelled %%XX");
	if (n < COLUMN_STATUS + 1 || n > COLUMNS)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "not four or five columns: directory, workspace, project (may be empty) and status, "
			       "separated by tabs");
	err = pull_status_parse(columns[COLUMN_STATUS].data, columns[COLUMN_STATUS].len, "", &out->status, why);
	if (err)
		return err;
	out->has_policy = n > COLUMN_POLICY;
	if (out->has_policy)
		out->policy = columns[COLUMN_POLICY];
	if (out->policy.len > PULL_POLICY_MAX)
		return why_set(why, -EDQUOT, ATLOCK_QUOTA, "a policy status may have %d bytes", PULL_POLICY_MAX);
	return line_lock(pull, columns, &out->lock, why);
}

/* Parses one line; the first may name the head commit instead. */
static int line_take(const struct atlock_pull_name *pull, const char *line, size_t len, size_t number,
		     struct pull_change *out, struct atlock_why *why)
{
	static const char head[] = "head=";
	struct pull_result *results;

	if (len == 0)
		return 0;
	if (number == 1 && len >= strlen(head) && memcmp(line, head, strlen(head)) == 0)
		return head_parse(line + strlen(head), len - strlen(head), out->head, why);
	if (out->count == PULL_PROJECTS_MAX)
		return why_set(why, -EDQUOT, ATLOCK_QUOTA, "a pull request may have %d projects", PULL_PROJECTS_MAX);
	/* The array doubles: it is full whenever the count is a power of two. */
	if ((out->count & (out->count - 1)) == 0) {
		results = reallocarray(out->results, out->count == 0 ? 1 : out->count * 2, sizeof(*results));
		if (!results)
			return why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory");
		out->results = results;
	}
	memset(&out->results[out->count], 0, sizeof(out->results[0]));
	out->results[out->count].line = number;
	return line_parse(pull, line, len, &out->results[out->count++], why);
}

/* Sorts by lock, then by line. */
static int compare_results(const void *a, const void *b)
{
	const struct pull_result *one = *(const struct pull_result *const *)a;
	const struct pull_result *other = *(const struct pull_result *const *)b;
	size_t shorter = one->lock.len < other->lock.len ? one->lock.len : other->lock.len;
	int order = memcmp(one->lock.key, other->lock.key, shorter);

	if (order == 0)
		order = one->lock.len - other->lock.len;
	return order != 0 ? order : (one->line > other->line) - (one->line < other->line);
}

/*
 * Refuses two lines about one project: it would be unclear which counts. A column can be spelled in several ways, so only the
 * parsed locks are compared.
 */
static int projects_differ(const struct pull_change *change, struct atlock_why *why)
{
	const struct pull_result **sorted = calloc(change->count + 1, sizeof(const struct pull_result *));
	char path[ATLOCK_PATH_MAX] = "";
	size_t first = 0;
	size_t again = 0;

	if (!sorted)
		return why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory");
	for (size_t i = 0; i < change->count; i++)
		sorted[i] = &change->results[i];
	qsort(sorted, change->count, sizeof(const struct pull_result *), compare_results);
	for (size_t i = 0; i + 1 < change->count; i++) {
		const struct pull_result *one = sorted[i];
		const struct pull_result *next = sorted[i + 1];

		if (!atlock_name_equal(&one->lock, &next->lock) || (again > 0 && again < next->line))
			continue;
		first = one->line;
		again = next->line;
		(void)atlock_name_print(NULL, &one->lock, path, sizeof(path));
	}
	free(sorted);
	if (again == 0)
		return 0;
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
		       "line %zu: the same project as on line %zu, %.300s: name each once", again, first, path);
}

static int projects_parse(const struct atlock_pull_name *pull, const char *text, size_t len, struct pull_change *out,
			  struct atlock_why *why)
{
	struct atlock_why bad = { .code = ATLOCK_OK };
	size_t number = 0;
	int err = 0;

	while (!err && len > 0) {
		const char *newline = memchr(text, '\n', len);
		size_t line = newline ? (size_t)(newline - text) : len;

		err = line_take(pull, text, line, ++number, out, &bad);
		text += line + (newline != NULL);
		len -= line + (newline != NULL);
	}
	return err ? why_set(why, err, bad.code, "line %zu: %s", number, bad.text) : projects_differ(out, why);
}

int pull_change_parse(const struct atlock_pull_name *pull, enum atlock_pull_text what, const char *text, size_t len,
		      struct pull_change *out, struct atlock_why *why)
{
	memset(out, 0, sizeof(*out));
	out->what = what;
	if ((!text && len > 0) || len > ATLOCK_PULL_BYTES)
		return why_set(why, -EDQUOT, ATLOCK_QUOTA, "at most %d bytes at once", ATLOCK_PULL_BYTES);
	out->text = malloc(len + 1);
	if (!out->text)
		return why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory");
	if (len > 0)
		memcpy(out->text, text, len);
	len = userinfo_strip(out->text, len);
	switch (what) {
	case ATLOCK_PULL_HEAD: return head_parse(out->text, len, out->head, why);
	case ATLOCK_PULL_META: return text_parse_plain(out->text, len, &out->meta, &out->meta_len, why);
	case ATLOCK_PULL_PROJECTS: return projects_parse(pull, out->text, len, out, why);
	case ATLOCK_PULL_SUMMARY: break;
	}
	return why_set(why, -EPERM, ATLOCK_PERMISSION_DENIED, "the summary is written by the file system alone");
}

void pull_change_free(struct pull_change *change)
{
	free(change->results);
	free(change->text);
	free(change->meta);
	memset(change, 0, sizeof(*change));
}
