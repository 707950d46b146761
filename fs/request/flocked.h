/*
 * The holder that an open file is once flock(2) was called on it: the first caller, under a number instead of a who. It lives as
 * long as its handle. Thousands may wait, so it is small.
 */
#ifndef FLOCKED_H
#define FLOCKED_H

#include "ending.h"
#include "fs.h"

struct handle;
struct node;

struct flocked {
	struct ending ending;
	_Atomic uint64_t token;           /* of its grant while it holds the lock; else 0 */
	_Atomic(struct atlock_end *) end; /* of that grant, so that closing needs no memory */
	uint64_t number;
	uint64_t ino;
	uid_t uid;
	gid_t gid;
	pid_t pid;
	pid_t session;
	bool admin;
	char comm[ATLOCK_COMM_MAX + 1];
	char owner[];
};

/* The holder that a handle is, made of the caller by the first call. 0, -ENOMEM, or an error of atlock_identify(). */
int flocked_become(struct call *call, const struct node *node, struct handle *handle, struct atlock_caller *out);

/* The holder as the manager knows it. No caller can name it with '@'. */
void flocked_holder(const struct fs *fs, const struct flocked *flocked, struct atlock_caller *out);

/* The holder that a handle of the inode `ino` is, if it holds the lock. Never waits. */
bool flocked_holds(struct handle *handle, uint64_t ino, struct atlock_caller *out);

/* Grants or, with token 0, takes back. `end` is the flocked's from now on. */
void flocked_set(struct flocked *flocked, uint64_t token, struct atlock_end *end);

/* The RELEASE of its file was read, and is yet to be processed: whether that ends a lock. */
bool flocked_closed(struct handle *handle);

/* NULL is allowed. */
void flocked_free(struct flocked *flocked);

/*
 * Whether flock(2) of this very process has failed with EIO a moment ago. flock(1) then asks access(2), for which the lock may be
 * free or fine, and prints the errno of that: it must be the same. flocked_note() remembers such an `err`, and returns it.
 */
int flocked_note(const struct call *call, int err);
bool flocked_failed(const struct call *call);

#endif
