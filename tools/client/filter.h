/* Which locks to show: options that several commands share. */
#ifndef TOOLS_FILTER_H
#define TOOLS_FILTER_H

#include "source.h"

/* A text that is NULL or empty and a time that is 0 match every lock. */
struct filter {
	char prefix[ATLOCK_PATH_MAX]; /* of the path */
	const char *owner;
	const char *who;
	const char *repo;
	const char *pull;
	const char *host;
	int64_t older;    /* held for at least so long */
	int64_t expiring; /* ends within so long */
};

/* Takes one of these options, as a choice_fn does. */
int filter_option(const struct tool *tool, struct filter *filter, int letter);

/* Takes the path to look below, or NULL. EXIT_DONE, or EXIT_USAGE once it has said that no lock can be there. */
int filter_prefix(const struct tool *tool, struct filter *filter, const struct mount *mount, const char *word);

/* Whether it compares fields of a lock, not only its path. */
bool filter_has_fields(const struct filter *filter);

/* Whether a path is the filter's path or below it; and whether a lock passes the whole filter. */
bool filter_wants_path(const struct filter *filter, const char *path);
bool filter_wants(const struct filter *filter, const json_t *lock);

#endif
