/*
 * Atlantis' spellings of the same things. Its lock keys paste fields together with '/', so two locks can share one: reading
 * a key takes the repository and directory from elsewhere, and refuses what can still be read in two ways.
 */
#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "why.h"

static const char redis_prefix[] = "pr/";
static const char global_prefix[] = "global/";
static const char global_suffix[] = "/lock";
static const char pull_separator[] = "::";

/* 0, or -ERANGE if snprintf() ran out of room. */
static int printed(int n, size_t len)
{
	return n >= 0 && (size_t)n < len ? 0 : -ERANGE;
}

static const char *dir_or_root(const char *dir)
{
	return *dir ? dir : ".";
}

int atlock_legacy_key(const struct atlock_parts *parts, enum atlock_legacy form, char *out, size_t len)
{
	bool redis = form == ATLOCK_LEGACY_REDIS_3 || form == ATLOCK_LEGACY_REDIS_4;
	bool three = form == ATLOCK_LEGACY_3 || form == ATLOCK_LEGACY_REDIS_3;
	struct atlock_name name;
	int n;

	if (!out || (unsigned int)form > ATLOCK_LEGACY_REDIS_4 || atlock_name_join(parts, &name, NULL))
		return -EINVAL;
	if (strchr(parts->workspace, '/') || (three && parts->project[0]))
		return -EINVAL;
	n = snprintf(out, len, "%s%s/%s/%s%s%s", redis ? redis_prefix : "", parts->repo, dir_or_root(parts->dir),
		     parts->workspace, three ? "" : "/", parts->project);
	return printed(n, len);
}

/* What follows "head/" in `text`, or NULL. */
static const char *after_field(const char *text, const char *head)
{
	size_t len = strlen(head);

	return strncmp(text, head, len) == 0 && text[len] == '/' ? text + len + 1 : NULL;
}

/* Reads a key without Redis' prefix. 0, or -EINVAL if it is not of this repository and directory. */
static int key_read(const char *key, const char *repo, const char *dir, struct atlock_parts *out)
{
	const char *left = after_field(key, repo);
	const char *slash;
	struct atlock_name name;

	left = left ? after_field(left, dir) : NULL;
	if (!left)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	slash = strchrnul(left, '/');
	if ((size_t)(slash - left) >= sizeof(out->workspace))
		return -EINVAL;
	memcpy(out->workspace, left, (size_t)(slash - left));
	if (*slash && strlcpy(out->project, slash + 1, sizeof(out->project)) >= sizeof(out->project))
		return -EINVAL;
	if (strlcpy(out->repo, repo, sizeof(out->repo)) >= sizeof(out->repo) ||
	    strlcpy(out->dir, dir, sizeof(out->dir)) >= sizeof(out->dir))
		return -EINVAL;
	return atlock_name_join(out, &name, NULL) ? -EINVAL : 0;
}

int atlock_legacy_parse(const char *key, const char *repo, const char *dir, struct atlock_parts *out,
			struct atlock_why *why)
{
	struct atlock_parts plain;
	struct atlock_parts redis;
	bool is_plain;
	bool is_redis;

	if (!key || !repo || !dir || !out)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no key, repository or directory given");
	dir = dir_or_root(dir);
	is_plain = key_read(key, repo, dir, &plain) == 0;
	is_redis = strncmp(key, redis_prefix, strlen(redis_prefix)) == 0 &&
		   key_read(key + strlen(redis_prefix), repo, dir, &redis) == 0;
	if (is_plain && is_redis)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "the key \"%.200s\" can be read with and without \"%s\" in front", key, redis_prefix);
	if (!is_plain && !is_redis)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "\"%.120s\" is no key of a lock in repository \"%.120s\", directory \"%.120s\"", key,
			       repo, dir);
	*out = is_plain ? plain : redis;
	return 0;
}

/* A field of "host::repo::num" that a ':' next to its ends would make readable in two ways. */
static bool pull_field_ok(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	if (len == 0 || len == size || text[0] == ':' || text[len - 1] == ':' || strstr(text, pull_separator))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return true;
}

static bool pull_ok(const struct atlock_pull *pull)
{
	struct atlock_parts parts = { .workspace = "default" };
	struct atlock_name name;

	if (!pull || pull->num == 0 || !pull_field_ok(pull->host, sizeof(pull->host)) || strchr(pull->host, '/') ||
	    !pull_field_ok(pull->repo, sizeof(pull->repo)))
		return false;
	strlcpy(parts.repo, pull->repo, sizeof(parts.repo));
	return atlock_name_join(&parts, &name, NULL) == 0;
}

int atlock_legacy_pull_key(const struct atlock_pull *pull, char *out, size_t len)
{
	if (!out || !pull_ok(pull))
		return -EINVAL;
	return printed(snprintf(out, len, "%s%s%s%s%" PRIu64, pull->host, pull_separator, pull->repo, pull_separator,
				pull->num),
		       len);
}

/* Cuts what stands before the next "::" out of `*text`. */
static int pull_field_take(const char **text, char *out, size_t size)
{
	const char *end = strstr(*text, pull_separator);

	if (!end || (size_t)(end - *text) >= size)
		return -EINVAL;
	memcpy(out, *text, (size_t)(end - *text));
	out[end - *text] = '\0';
	*text = end + strlen(pull_separator);
	return 0;
}

/* The number as it is printed: no sign, no leading zero. */
static int pull_num_read(const char *text, uint64_t *out)
{
	char *end;

	if (*text < '1' || *text > '9')
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno || *end ? -EINVAL : 0;
}

int atlock_legacy_pull_parse(const char *key, struct atlock_pull *out, struct atlock_why *why)
{
	struct atlock_pull pull;
	const char *left = key;

	if (!key || !out)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no key given");
	memset(&pull, 0, sizeof(pull));
	if (pull_field_take(&left, pull.host, sizeof(pull.host)) ||
	    pull_field_take(&left, pull.repo, sizeof(pull.repo)) || pull_num_read(left, &pull.num) || !pull_ok(&pull))
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "\"%.200s\" is no key of a pull request: host::repository::number", key);
	*out = pull;
	return 0;
}

static bool command_ok(const char *command, size_t len)
{
	if (len == 0 || len > ATLOCK_COMPONENT_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (command[i] == '/' || (unsigned char)command[i] < 0x20 || command[i] == 0x7f)
			return false;
	return true;
}

int atlock_legacy_global_key(const char *command, bool redis, char *out, size_t len)
{
	if (!command || !out || !command_ok(command, strnlen(command, ATLOCK_PATH_MAX)))
		return -EINVAL;
	return printed(snprintf(out, len, "%s%s%s", redis ? global_prefix : "", command, global_suffix), len);
}

int atlock_legacy_global_parse(const char *key, char *command, size_t len, struct atlock_why *why)
{
	const char *begin = key;
	const char *end;

	if (!key || !command)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no key given");
	/* No command has a '/', so "global/" is a prefix unless "lock" is all that follows. */
	if (strncmp(key, global_prefix, strlen(global_prefix)) == 0 && strchr(key + strlen(global_prefix), '/'))
		begin += strlen(global_prefix);
	end = strchrnul(begin, '/');
	if (strcmp(end, global_suffix) != 0 || !command_ok(begin, (size_t)(end - begin)))
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "\"%.200s\" is no key of a command lock: apply/lock or global/apply/lock", key);
	if ((size_t)(end - begin) >= len)
		return why_set(why, -ERANGE, ATLOCK_INVALID_REQUEST, "no room for the command of \"%.200s\"", key);
	memcpy(command, begin, (size_t)(end - begin));
	command[end - begin] = '\0';
	return 0;
}

static const char *const commands[] = {
	"apply",    "plan",    "unlock", "policy_check", "approve_policies",
	"autoplan", "version", "import", "state",        "cancel",
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

const char *atlock_legacy_command(size_t number)
{
	return number < COMMANDS ? commands[number] : NULL;
}

int atlock_legacy_command_number(const char *command)
{
	for (size_t i = 0; command && i < COMMANDS; i++)
		if (strcmp(commands[i], command) == 0)
			return (int)i;
	return -ENOENT;
}
