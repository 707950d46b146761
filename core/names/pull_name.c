#include "pull_name.h"

#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "holder.h"
#include "lock_name.h"
#include "why.h"

static const char tree[] = "pulls";
static const char separator[] = "/-/";

struct slice pull_slice(const struct atlock_pull_name *pull)
{
	return slice_of(pull->text);
}

struct slice pull_repo(const struct atlock_pull_name *pull)
{
	return (struct slice){ pull->text + pull->host_len + 1, pull->repo_len };
}

int pull_check(const struct atlock_pull_name *pull)
{
	return pull != NULL && pull->num > 0 && pull->host_len > 0 && pull->repo_len > 0 &&
			       memchr(pull->text, '\0', sizeof(pull->text)) != NULL &&
			       pull->host_len + pull->repo_len + 1 < strlen(pull->text)
		       ? 0
		       : -EINVAL;
}

void pull_who(const struct atlock_pull_name *pull, char out[32])
{
	(void)snprintf(out, 32, "pr:%" PRIu64, pull->num);
}

static int number_take(const char *text, struct atlock_pull_name *out, struct atlock_why *why)
{
	char who[32];

	/* A number has one spelling, the same as in "@pr:123". */
	if ((size_t)snprintf(who, sizeof(who), "pr:%s", text) < sizeof(who) && holder_pull(who, &out->num))
		return 0;
	return why_set(
		why, -EINVAL, ATLOCK_INVALID_REQUEST,
		"\"%.40s\" is no pull request: a decimal number above 0, as in pulls/github.com/acme/infra/-/123",
		text);
}

/* Parses host, repository, "-" and number: 0, or 1 if the path ends before the number. */
static int text_walk(const char *text, struct atlock_pull_name *out, struct atlock_why *why)
{
	const char *at = text;
	size_t depth = 0;

	while (*at != '\0') {
		size_t len = strcspn(at, "/");
		int err;

		if (len == 1 && *at == '-' && depth > 1) {
			at += 1 + (at[1] == '/');
			return *at == '\0' ? 1 : number_take(at, out, why);
		}
		if (len == 0)
			return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "a part of the path is empty: \"//\"");
		err = escape_check(ESCAPE_PATH, true, at, len, why);
		if (err < 0)
			return depth < 2 && len == 1 && *at == '-'
				       ? why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
						 "a host and a repository stand before the '-': "
						 "pulls/<host>/<repository>/-/<number>")
				       : err;
		if (depth++ == 0)
			out->host_len = len;
		else
			out->repo_len = (size_t)(at - text) + len - out->host_len - 1;
		at += len + (at[len] == '/');
	}
	return 1;
}

int atlock_pull_parse(const char *path, struct atlock_pull_name *out, struct atlock_why *why)
{
	size_t head = strlen(tree);

	if (path == NULL || out == NULL || strncmp(path, tree, head) != 0 || (path[head] != '/' && path[head] != '\0'))
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "a pull request is below pulls/");
	memset(out, 0, sizeof(*out));
	path += head + (path[head] == '/');
	if (strlcpy(out->text, path, sizeof(out->text)) >= sizeof(out->text))
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST,
			       "a pull request may have %d bytes after \"pulls/\"", ATLOCK_KEY_MAX - 1);
	return text_walk(out->text, out, why);
}

/* Spells the repository as in the names of its locks. */
int atlock_pull_join(const struct atlock_pull *pull, struct atlock_pull_name *out, struct atlock_why *why)
{
	struct atlock_parts parts = { .workspace = "x" };
	char path[ATLOCK_PATH_MAX] = "pulls/";
	struct atlock_name lock;
	char number[40];
	const char *end;
	int n;

	if (pull == NULL || out == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no pull request given");
	if (strlcpy(parts.repo, pull->repo, sizeof(parts.repo)) >= sizeof(parts.repo))
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "the repository's name is too long");
	n = atlock_name_join(&parts, &lock, why);
	if (n < 0)
		return n;
	n = escape_encode(ESCAPE_PATH, true, pull->host, strnlen(pull->host, sizeof(pull->host)), path + strlen(path),
			  ATLOCK_COMPONENT_MAX + 1);
	end = memmem(lock.key, lock.len, separator, strlen(separator));
	if (n <= 0 || end == NULL)
		return why_set(why, n < 0 ? n : -EINVAL, ATLOCK_INVALID_REQUEST, "\"%.80s\" is no host", pull->host);
	lock.key[0] = '/';
	(void)strncat(path, (const char *)lock.key, (size_t)(end - (const char *)lock.key));
	(void)snprintf(number, sizeof(number), "%s%" PRIu64, separator, pull->num);
	(void)strlcat(path, number, sizeof(path));
	return atlock_pull_parse(path, out, why);
}

int atlock_pull_split(const struct atlock_pull_name *name, struct atlock_pull *out)
{
	struct slice repo;

	if (out == NULL || pull_check(name) < 0)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	repo = pull_repo(name);
	out->num = name->num;
	if (escape_decode(name->text, name->host_len, out->host, sizeof(out->host)) < 0 ||
	    escape_decode(repo.data, repo.len, out->repo, sizeof(out->repo)) < 0)
		return -EINVAL;
	return 0;
}

int atlock_pull_print(const struct atlock_pull_name *name, char *out, size_t len)
{
	if (out == NULL || pull_check(name) < 0)
		return -EINVAL;
	return (size_t)snprintf(out, len, "%s/%s", tree, name->text) < len ? 0 : -ERANGE;
}

int pull_project(const struct atlock_pull_name *pull, struct slice lock, struct slice *out)
{
	size_t skip = 1 + pull->repo_len + strlen(separator);

	if (!name_in_repo(lock, pull_repo(pull)))
		return -EINVAL;
	*out = (struct slice){ (const char *)lock.data + skip, lock.len - skip };
	return 0;
}

void pull_project_name(const struct atlock_pull_name *pull, struct slice project, struct atlock_name *out)
{
	int n = snprintf((char *)out->key, sizeof(out->key), "%c%.*s%s%.*s", NAME_TREE_REPOS, (int)pull->repo_len,
			 (const char *)pull_repo(pull).data, separator, (int)project.len, (const char *)project.data);

	out->who[0] = '\0';
	/* If it does not fit, it is no lock's name: length 0, which every call refuses. */
	out->len = (uint16_t)(n > 0 && (size_t)n < sizeof(out->key) ? n : 0);
}

int atlock_project_parse(const struct atlock_pull_name *pull, const char *path, struct atlock_name *out,
			 struct atlock_why *why)
{
	char whole[ATLOCK_PATH_MAX];
	struct slice project;
	size_t used;
	int kind;

	if (pull_check(pull) < 0 || path == NULL || out == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no project given");
	if ((size_t)snprintf(whole, sizeof(whole), "repos/%.*s/-%s%s", (int)pull->repo_len,
			     (const char *)pull_repo(pull).data, path[0] != '\0' ? "/" : "", path) >= sizeof(whole))
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "the project's path is too long");
	kind = atlock_path_kind(whole, out, why);
	if (kind < 0)
		return kind;
	if (kind == ATLOCK_PATH_DIR)
		return 1;
	if (out->who[0] != '\0')
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "a project has no @who: an '@' in a workspace or project is spelled %%40");
	kind = pull_project(pull, name_slice(out), &project);
	if (kind < 0)
		return kind;
	used = 2 + strlen(pull->text) + project.len;
	if (used > STORE_KEY_MAX)
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST,
			       "host, repository, directory, workspace and project are %zu bytes too long together",
			       used - STORE_KEY_MAX);
	return 0;
}
