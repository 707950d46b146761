/*
 * What is held and who waits, as the JSON objects of locks.jsonl: from the mount, or with --store from a store, which may be
 * mounted or not and is only read.
 */
#ifndef TOOLS_SOURCE_H
#define TOOLS_SOURCE_H

#include <atlock.h>
#include <jansson.h>

#include "mount.h"

struct source {
	struct mount mount; /* fd -1 if it is a store */
	struct atlock *al;  /* or NULL */
};

/* Which: --store and --key-file, or none of them for the mount. */
struct source_where {
	const char *store;
	const char *key_file;
};

/* Takes one of them, as a choice_fn does. */
int source_option(struct source_where *where, int letter);

/*
 * For commands about a store and one other directory: reads the options, of which --store must be there unless `which_store` is NULL,
 * and leaves optind at the directory. -1: go on; else the exit code, once it has asked for what is missing.
 */
int source_words(struct tool *tool, int argc, char **argv, struct source_where *where, const char *which_store,
		 const char *which_word);

/* EXIT_DONE, or another exit code once it has said what is wrong. */
int source_open(struct tool *tool, const struct source_where *where, struct source *out);

/* A store alone: to read it, or as its only user to change it. */
int source_open_store(struct tool *tool, const struct source_where *where, bool readonly, struct atlock **out);

/* The same to check or repair it: what is damaged does not keep it from being opened. */
int source_open_damaged(struct tool *tool, const struct source_where *where, bool readonly, struct atlock **out);
void source_close(struct source *source);

/* Calls `fn` with each lock, then each waiter, until it returns another than EXIT_DONE. The object is only lent. */
typedef int source_fn(void *arg, json_t *object);
int source_each(const struct tool *tool, struct source *source, source_fn *fn, void *arg);

/* A member of an object as text, "" if it is not there; a number must not be asked for so. */
const char *source_text(const json_t *object, const char *key);
bool source_is_waiter(const json_t *object);

/* Prints an object as a line of JSON. */
void source_print(const json_t *object);

/* Its holder or waiter, "owner@who". */
#define SOURCE_HOLDER_MAX (ATLOCK_OWNER_MAX + ATLOCK_WHO_MAX + 2)
void source_holder(const json_t *object, char out[SOURCE_HOLDER_MAX]);

/* When a time of an object was or will be: nanoseconds since 1970, or ATLOCK_NEVER. */
int64_t source_time(const json_t *object, const char *key);

#endif
