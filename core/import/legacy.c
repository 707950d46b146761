/* Atlantis' key of a pull request, "host::repository::number": parsed and printed. */
#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atlock/import.h"
#include "why.h"

static const char pull_separator[] = "::";

/* Whether a field of "host::repo::num" is unambiguous: a ':' at either end could be read in two ways. */
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
	int n;

	if (!out || !pull_ok(pull))
		return -EINVAL;
	n = snprintf(out, len, "%s%s%s%s%" PRIu64, pull->host, pull_separator, pull->repo, pull_separator, pull->num);
	return n >= 0 && (size_t)n < len ? 0 : -ERANGE;
}

/* Cuts the field before the next "::" off `*text`. */
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

/* Parses the number only as it is printed: no sign, no leading zero. */
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
