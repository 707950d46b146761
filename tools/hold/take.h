/*
 * Takes several locks, all or none. They are taken one after the other in the order of their names, each while those before it
 * are held: two callers that ask for the same locks cannot wait for each other. If another wait closes a circle all the same and
 * the file system ends it (EDEADLK), all are released and asked for again, a few times; a caller that holds none of them reports
 * the refusal at once.
 */
#ifndef TOOLS_TAKE_H
#define TOOLS_TAKE_H

#include "ask.h"
#include "waiting.h"

struct take {
	const struct tool *tool;
	const struct mount *mount;
	const char *who;        /* "@build-17", or "" for the session */
	const char *other;      /* the who to be instead where the first is EINVAL; or NULL */
	bool unique;            /* no other process uses these names: what they hold, this has taken */
	const char *text;       /* lines that go with each request: "ttl=30m\npriority=high\n" */
	int64_t wait;           /* at most so long in all; 0 not at all, ATLOCK_NEVER without end */
	const char *option;     /* that says so, for advice */
	struct ask_again again; /* further tries */
	struct waiting waiting; /* what is said meanwhile: every and priority */
	struct taken *locks;
	size_t count;
};

struct taken {
	char *path;   /* below the root, without who */
	char *name;   /* with it */
	char *other;  /* with take->other, if that is one: no name is freed while a signal handler may use it */
	size_t place; /* in the order in which they were named, from 1 */
	bool held;    /* by this */
	bool before;  /* the caller held it already, and keeps it in any case */
};

/* Adds a lock, which must not have a who of its own if take->who is one. EXIT_DONE or another exit code. */
int take_add(struct take *take, const char *text);

/* EXIT_DONE, or another exit code once it has said why; then nothing is held that was not before. Also if a signal ends us. */
int take_all(struct take *take);

/* Says that a wait for a lock was over, and who has it still; `option` would make it longer. EXIT_TRY_AGAIN. */
int take_timed_out(const struct tool *tool, const struct mount *mount, const char *path, const char *option);

/* Releases what it took. */
void take_back(const struct take *take);
void take_free(struct take *take);

#endif
