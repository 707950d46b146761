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

/* Takes one of the options that choose, as a choice_fn does. */
int filter_option(const struct tool *tool, struct filter *filter, int letter);

/* The word that says below which path, or NULL. EXIT_DONE, or EXIT_USAGE once it has said that no lock can be there. */
int filter_prefix(const struct tool *tool, struct filter *filter, const struct mount *mount, const char *word);

/* Whether it leaves out more than what is below another path. */
bool filter_is_choosy(const struct filter *filter);

/* Whether a path is the one that is asked for, or below it; and whether a lock is wanted altogether. */
bool filter_wants_path(const struct filter *filter, const char *path);
bool filter_wants(const struct filter *filter, const json_t *lock);

#endif
