/*
 * What atlock top knows of one moment: the held locks and the waiters that are wanted, and what the file system has counted.
 * The reader fills one in; after that nothing changes but that a row is marked as gone. What is shown of it is in top_list.h.
 */
#ifndef TOOLS_TOP_MODEL_H
#define TOOLS_TOP_MODEL_H

#include <atlock.h>
#include <jansson.h>

#include "top_rates.h"

enum top_view { TOP_LOCKS, TOP_QUEUE, TOP_VIEWS };

/* A held lock, or a waiter. Row and texts are one piece of memory. */
struct top_row {
	const char *lock;
	const char *owner;
	const char *who;
	const char *id;     /* of a lock; "" of a waiter */
	const char *reason; /* of a lock */
	int64_t since;      /* wall time, as the next */
	int64_t until;      /* the end of the lease, or of the wait; ATLOCK_NEVER */
	int64_t pull;       /* the pull request's number, 0: none */
	uint64_t waiters;   /* for a lock */
	uint64_t ticket;    /* of a waiter, as the next two */
	uint64_t position;
	enum atlock_priority priority;
	uid_t uid;
	bool gone;   /* since it was read */
	size_t size; /* in bytes, all included */
	char text[];
};

struct top_rows {
	struct top_row **rows;
	size_t count;
	size_t room;
};

struct top_model {
	struct top_rows views[TOP_VIEWS];
	bool by_name; /* the locks are in the order of their names */
	struct top_counts counts;
	char health[256]; /* "ok", or "degraded" or "failing" and why */
	int64_t took;     /* ns that reading it took */
	int err;          /* 0, or a negative errno: it could not be read, and `said` says what is wrong */
	char said[256];
};

/* NULL without memory. */
struct top_model *top_model_new(void);
void top_model_free(struct top_model *model);

/* Takes over an object of locks.jsonl. 0 or -ENOMEM. */
int top_model_add(struct top_model *model, const json_t *object);

/* Whether this lock is among those that were added. */
bool top_model_has(struct top_model *model, const char *lock);

/* Marks the lock or waiter of this row as gone, if it is there and the same: not another holder of that lock. */
void top_model_drop(struct top_model *model, const struct top_row *row);

/* A row that outlives its model, to be freed; or NULL. */
struct top_row *top_row_copy(const struct top_row *row);

#endif
