/*
 * What a process does to the store's files, recorded in memory that it shares with its parent. pwrite(), writev(),
 * fallocate(), fdatasync() and fsync() of this program are its own, for LMDB too; the last two wait for nothing. Only a thread
 * that works for the others takes a moment for each, by chance, in which these go on.
 *
 *	tape_new(directory)                     the store's files are there already
 *	tape_start(), tape_note()               in a child: from now on, everything
 *	tape_fail()                             there too: from now on the disk fails
 *	tape_next()                             in the parent, once the child is gone
 */
#ifndef CRASH_TAPE_H
#define CRASH_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tape_file {
	TAPE_DATA,
	TAPE_LOG,
	TAPE_FILES,
};

extern const char *const tape_names[TAPE_FILES];

enum tape_kind {
	TAPE_WRITE, /* an empty one at `at` makes the file that long */
	TAPE_SYNC,
	TAPE_NOTE, /* `at` is what was noted */
};

struct tape_op {
	enum tape_kind kind;
	enum tape_file file;
	bool through; /* a write that was on disk when it returned */
	bool durable; /* a note about what must not get lost */
	uint64_t at;
	size_t len;
	unsigned char bytes[];
};

/* What the disk does not do for LMDB's file, and says so with EIO. */
enum tape_fault {
	TAPE_SOUND,
	TAPE_META,  /* write the page that makes a transaction current; nobody knows whether it is there */
	TAPE_PAGES, /* sync */
};

struct tape;

/* Exits if it cannot. */
struct tape *tape_new(const char *directory);
void tape_free(struct tape *tape);

/* Records what this process does from now on, after what was recorded before. */
void tape_start(struct tape *tape);

/* From now on the disk of this process has a fault. And how often it was met. */
void tape_fail(enum tape_fault fault);
unsigned int tape_failed(void);

/* How much of what this process did was done by other threads than its first. */
unsigned int tape_aside(void);

/* The store has answered for this number; `durable` if it promised that it stays. */
void tape_note(uint64_t number, bool durable);

/* The operation after `op`; the first one after NULL. NULL: there is none. */
const struct tape_op *tape_next(const struct tape *tape, const struct tape_op *op);
size_t tape_count(const struct tape *tape);

#endif
