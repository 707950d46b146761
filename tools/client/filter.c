#include "filter.h"

#include <bsd/stdlib.h>
#include <getopt.h>
#include <string.h>

#include "choice.h"
#include "lockpath.h"
#include "moment.h"

int filter_option(const struct tool *tool, struct filter *filter, int letter)
{
	switch (letter) {
	case 'o': filter->owner = optarg; return -1;
	case 'W': filter->who = optarg; return -1;
	case 'r': filter->repo = optarg; return -1;
	case 'O': return tool_duration(tool, "older-than", false, &filter->older);
	case 'E': return tool_duration(tool, "expiring-within", false, &filter->expiring);
	case 'P':
		filter->pull = optarg;
		if (strtonum(optarg, 1, INT64_MAX, NULL) > 0)
			return -1;
		return tool_usage(tool, "--pull is the number of a pull request, not \"%s\"", optarg);
	default: return CHOICE_UNKNOWN;
	}
}

int filter_prefix(const struct tool *tool, struct filter *filter, const struct mount *mount, const char *word)
{
	return word == NULL ? EXIT_DONE : lockpath_prefix(tool, mount, word, filter->prefix);
}

bool filter_has_fields(const struct filter *filter)
{
	return filter->owner != NULL || filter->who != NULL || filter->repo != NULL || filter->pull != NULL ||
	       filter->older != 0 || filter->expiring != 0;
}

bool filter_wants_path(const struct filter *filter, const char *path)
{
	const char *prefix = filter->prefix;
	size_t len = strlen(prefix);

	return len == 0 || (strncmp(path, prefix, len) == 0 && (path[len] == '\0' || path[len] == '/'));
}

static bool field_matches(const char *wanted, const json_t *lock, const char *key)
{
	return wanted == NULL || strcmp(wanted, source_text(lock, key)) == 0;
}

/* Held as "@pr:123", or by another name with pull=123. */
static bool pull_matches(const char *wanted, const json_t *lock)
{
	char number[24];

	if (wanted == NULL || field_matches(wanted, json_object_get(lock, "meta"), "pull"))
		return true;
	(void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
		       json_integer_value(json_object_get(lock, "pull")));
	return strcmp(wanted, number) == 0;
}

bool filter_wants(const struct filter *filter, const json_t *lock)
{
	int64_t now = moment_wall();
	int64_t since = source_time(lock, "acquired_at");
	int64_t until = source_time(lock, "expires_at");

	return filter_wants_path(filter, source_text(lock, "lock")) && field_matches(filter->owner, lock, "owner") &&
	       field_matches(filter->who, lock, "who") && field_matches(filter->repo, lock, "repo") &&
	       field_matches(filter->host, lock, "host") && pull_matches(filter->pull, lock) &&
	       (filter->older == 0 || now - since >= filter->older) &&
	       (filter->expiring == 0 || (until != ATLOCK_NEVER && until - now <= filter->expiring));
}
