#include "atlantis.h"

#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "escape.h"
#include "lock_name.h"
#include "why.h"

#define OWNER_UNKNOWN "atlantis" /* for records so old that they have no owner */
#define TEXT_SPARE 512           /* of ATLOCK_META_BYTES, for other keys than the record */

/* By number; in its keys Atlantis calls the sixth (autoplan) like the second (plan). */
static const char *const commands[ATLANTIS_COMMANDS] = {
	"apply",    "plan",    "unlock", "policy_check", "approve_policies",
	"autoplan", "version", "import", "state",        "cancel",
};

/* "apply" for 0; NULL for a number without a command. */
static const char *command_name(int64_t number)
{
	return number >= 0 && number < ATLANTIS_COMMANDS ? commands[number] : NULL;
}

int atlantis_command_number(const char *name)
{
	for (int i = 0; i < ATLANTIS_COMMANDS; i++)
		if (strcmp(commands[i], name) == 0)
			return i;
	return -1;
}

int atlantis_path_clean(const char *path, char *out, size_t len)
{
	size_t used = 0;

	while (*path != '\0') {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.')
			return -EINVAL;
		if (n > 0 && !(n == 1 && path[0] == '.')) {
			if (used + n + 2 > len)
				return -ENAMETOOLONG;
			if (used > 0)
				out[used++] = '/';
			memcpy(out + used, path, n);
			used += n;
		}
		path += n + (path[n] == '/');
	}
	if (used == 0)
		out[used++] = '.';
	out[used] = '\0';
	return 0;
}

void atlock_foreign_clear(struct atlock_foreign_record *record)
{
	free(record->key);
	free(record->key3);
	free(record->value);
	free(record->text);
	free(record->meta);
	memset(record, 0, sizeof(*record));
}

int atlantis_no_memory(struct atlock_why *why)
{
	return why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory");
}

/* Sets the lock's path in the tree. */
static int lock_path(const json_t *value, struct atlock_foreign_record *record, struct atlock_why *why)
{
	const char *dir = atlantis_string(value, "Project.Path");
	struct atlock_parts parts = { .repo = "" };
	struct atlock_name name;
	int err = atlantis_path_clean(dir, parts.dir, sizeof(parts.dir));

	if (err == -EINVAL)
		return why_set(why, err, ATLOCK_INVALID_REQUEST, "the directory \"%.200s\" leaves the repository", dir);
	if (err < 0 ||
	    strlcpy(parts.repo, atlantis_string(value, "Project.RepoFullName"), sizeof(parts.repo)) >=
		    sizeof(parts.repo) ||
	    strlcpy(parts.workspace, atlantis_string(value, "Workspace"), sizeof(parts.workspace)) >=
		    sizeof(parts.workspace) ||
	    strlcpy(parts.project, atlantis_string(value, "Project.ProjectName"), sizeof(parts.project)) >=
		    sizeof(parts.project))
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "its names are too long");
	if (parts.workspace[0] == '\0')
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "it names no workspace");
	err = atlock_name_join(&parts, &name, why);
	return err < 0 ? err : name_print_plain(&name, record->path, sizeof(record->path));
}

static int lock_holder(const json_t *value, struct atlock_foreign_record *record, struct atlock_why *why)
{
	const char *owner = atlantis_string(value, "User.Username");
	int64_t num = atlantis_integer(value, "Pull.Num");
	struct atlock_caller caller;

	if (num < 1)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "it is of no pull request");
	if (owner[0] == '\0')
		owner = OWNER_UNKNOWN;
	snprintf(record->who, sizeof(record->who), "pr:%" PRId64, num);
	if (atlock_caller_init(&caller, owner, record->who, 0) < 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "its user name is longer than %d bytes or has control bytes", ATLOCK_OWNER_MAX);
	strlcpy(record->owner, owner, sizeof(record->owner));
	return 0;
}

/* Makes the key that the current Atlantis would use, and compares `found` with it and with the form before 0.40. */
static int lock_key(const json_t *value, const char *found, struct atlock_foreign_record *record)
{
	const char *project = atlantis_string(value, "Project.ProjectName");
	int n = asprintf(&record->key, "%s/%s/%s/%s", atlantis_string(value, "Project.RepoFullName"),
			 atlantis_string(value, "Project.Path"), atlantis_string(value, "Workspace"), project);

	if (n < 0) {
		record->key = NULL;
		return -ENOMEM;
	}
	record->key3 = strndup(record->key, strlen(record->key) - strlen(project) - 1);
	if (record->key3 == NULL)
		return -ENOMEM;
	if (found != NULL)
		record->form = strcmp(found, record->key) == 0 ? 4 : strcmp(found, record->key3) == 0 ? 3 : 0;
	record->elsewhere = found != NULL && record->form == 0;
	return 0;
}

const char *atlock_foreign_key(const struct atlock_foreign_record *record)
{
	return record->form == 3 && record->key3 != NULL ? record->key3 : record->key;
}

/* A value that does not fit on one line is left out here; the record itself still has it. */
void atlantis_line(FILE *out, const char *key, const char *value)
{
	for (const char *p = value; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return;
	if (value[0] != '\0' && strlen(value) < TEXT_SPARE / 2)
		fprintf(out, "%s=%s\n", key, value);
}

int atlantis_value(const struct json_t *value, struct atlock_foreign_record *record)
{
	free(record->value);
	record->value = atlantis_print(value);
	return record->value == NULL ? -ENOMEM : 0;
}

/* The lines of a lock: one key each for what users look for, and one key with the whole record, so that nothing is lost. */
static int record_text(const json_t *value, const char *time, struct atlock_foreign_record *record)
{
	FILE *out;
	size_t len;

	if (atlantis_value(value, record) < 0)
		return -ENOMEM;
	free(record->text);
	record->text = NULL;
	out = open_memstream(&record->text, &len);
	if (out == NULL)
		return -ENOMEM;
	fputs("ttl=never\n", out);
	atlantis_line(out, "time", time);
	atlantis_line(out, "url", atlantis_string(value, "Pull.URL"));
	if (record->form != 0)
		atlantis_line(out, ATLANTIS_FOUND, atlock_foreign_key(record));
	fprintf(out, ATLANTIS_KEY "=%s\n", record->value);
	return fclose(out) == 0 ? 0 : -ENOMEM;
}

/* A pull request's description can be longer than a lock's whole text. Atlantis reads it again when it needs it. */
static json_t *without_body(const json_t *value)
{
	json_t *copy = json_deep_copy(value);

	json_object_del(json_object_get(copy, "Pull"), "Body");
	return copy;
}

static int lock_text(const json_t *value, struct atlock_foreign_record *record, struct atlock_why *why)
{
	const char *time = atlantis_string(value, "Time");
	int err = record_text(value, time, record);

	if (err == 0 && strlen(record->value) + TEXT_SPARE > ATLOCK_META_BYTES) {
		json_t *copy = without_body(value);

		record->shortened = true;
		err = copy == NULL ? -ENOMEM : record_text(copy, time, record);
		json_decref(copy);
	}
	if (err < 0)
		return atlantis_no_memory(why);
	if (strlen(record->value) + TEXT_SPARE > ATLOCK_META_BYTES)
		return why_set(why, -EMSGSIZE, ATLOCK_QUOTA, "it has %zu bytes, and a lock keeps %d",
			       strlen(record->value), ATLOCK_META_BYTES - TEXT_SPARE);
	return 0;
}

int atlantis_lock_record(const struct json_t *value, const char *found, struct atlock_foreign_record *record,
			 struct atlock_why *why)
{
	int err = lock_path(value, record, why);

	if (err == 0)
		err = lock_holder(value, record, why);
	if (err == 0 && lock_key(value, found, record) < 0)
		err = atlantis_no_memory(why);
	return err == 0 ? lock_text(value, record, why) : err;
}

static int global_record(const struct json_t *value, const char *found, struct atlock_foreign_record *record,
			 struct atlock_why *why)
{
	int64_t number = atlantis_integer(value, "CommandName");
	const char *command = command_name(number);
	time_t when = (time_t)atlantis_integer(value, "LockMetadata.UnixTime");
	char time[32] = "";
	struct tm tm;

	if (command == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "there is no command with the number %" PRId64,
			       number);
	snprintf(record->path, sizeof(record->path), "global/%s", command);
	strlcpy(record->who, OWNER_UNKNOWN, sizeof(record->who));
	if (asprintf(&record->key, "%s/lock", strcmp(command, "autoplan") == 0 ? "plan" : command) < 0) {
		record->key = NULL;
		return atlantis_no_memory(why);
	}
	record->elsewhere = found != NULL && strcmp(found, record->key) != 0;
	if (when != 0 && gmtime_r(&when, &tm) != NULL)
		strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return record_text(value, time, record) < 0 ? atlantis_no_memory(why) : 0;
}

int atlantis_record(enum atlock_foreign_kind kind, const struct json_t *value, const char *found,
		    struct atlock_foreign_record *record, struct atlock_why *why)
{
	static int (*const kinds[ATLOCK_FOREIGN_KINDS])(const struct json_t *, const char *,
							struct atlock_foreign_record *, struct atlock_why *) = {
		[ATLOCK_FOREIGN_LOCK] = atlantis_lock_record,
		[ATLOCK_FOREIGN_PULL] = atlantis_pull_record,
		[ATLOCK_FOREIGN_GLOBAL] = global_record,
	};

	atlock_foreign_clear(record);
	record->kind = kind;
	return kinds[kind](value, found, record, why);
}
