/* Which locks are wanted, as options of the commands that show many. */
#ifndef TOOLS_FILTER_H
#define TOOLS_FILTER_H

#include "source.h"

/* Texts that are NULL or empty and times that are 0 ask for nothing. */
struct filter {
	char prefix[ATLOCK_PATH_MAX]; /* of the path */
	const char *owner;
	const char *who;
	const char *repo;
	const char *pull;
	int64_t older;    /* held for at least so long */
	int64_t expiring; /* ends within so long */
};

#define FILTER_SHORT "o:r:p:"
#define FILTER_LONG                                                                                 \
	{ "owner", required_argument, NULL, 'o' }, { "who", required_argument, NULL, 'W' },         \
		{ "repo", required_argument, NULL, 'r' }, { "pull", required_argument, NULL, 'p' }, \
		{ "older-than", required_argument, NULL, 'O' },                                     \
	{                                                                                           \
		"expiring-within", required_argument, NULL, 'E'                                     \
	}

/* One of these, or else one that every command has. -1: go on; else the exit code. */
int filter_option(struct tool *tool, struct filter *filter, int option);

/* The word that says below which path, or NULL. EXIT_DONE, or EXIT_USAGE once it has said that no lock can be there. */
int filter_prefix(const struct tool *tool, struct filter *filter, const struct mount *mount, const char *word);

/* Whether it leaves out more than what is below another path. */
bool filter_is_choosy(const struct filter *filter);

/* Whether a path is the one that is asked for, or below it; and whether a lock is wanted altogether. */
bool filter_wants_path(const struct filter *filter, const char *path);
bool filter_wants(const struct filter *filter, const json_t *lock);

#endif
