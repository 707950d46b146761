/*
 * An open file as a holder, once flock(2) was called on it. It has the identity of the first caller, with a number
 * instead of a who. It lives as long as its handle. Thousands may wait, so it is small.
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
	_Atomic(struct atlock_end *) end; /* of that grant, allocated ahead so that closing needs no memory */
	uint64_t number;
	uint64_t ino;
	uid_t uid;
	gid_t gid;
	pid_t pid;
	pid_t session;
	bool admin;
	bool lost; /* of daemon/lost.c; protected by the handles' mutex */
	char comm[ATLOCK_COMM_MAX + 1];
	char owner[];
};

/* The holder of a handle; the first call makes it from the caller. 0, -ENOMEM, or an error of atlock_identify(). */
int flocked_become(struct call *call, const struct node *node, struct handle *handle, struct atlock_caller *out);

/* The holder as the manager knows it. No caller can name it with '@'. */
void flocked_holder(const struct fs *fs, const struct flocked *flocked, struct atlock_caller *out);

/* Whether a handle of the inode `ino` holds the lock, and the holder. Never waits. */
bool flocked_holds(struct handle *handle, uint64_t ino, struct atlock_caller *out);

/* Sets the grant; token 0 clears it. Takes ownership of `end`. */
void flocked_set(struct flocked *flocked, uint64_t token, struct atlock_end *end);

/*
 * Called when the RELEASE of its file, in `buf`, is read. Returns whether it is to be processed now; see
 * endings_begin().
 */
bool flocked_closed(struct handle *handle, const struct fuse_buf *buf);

/* NULL is allowed. */
void flocked_free(struct flocked *flocked);

/*
 * Whether flock(2) of this very process failed with EIO within the last FAILED_FOR seconds. flock(1) then calls
 * access(2), which may succeed or fail otherwise, and prints the errno of that: it must be the same. flocked_note()
 * records such an `err` and returns it.
 */
int flocked_note(const struct call *call, int err);
bool flocked_failed(const struct call *call);

#endif
