/*
 * What the mount shows, read by a thread of its own: a daemon that hangs stops this thread and nothing else.
 *
 * The thread reads while there is demand (serve_reader_ask()), at most five times a second and less often where reading takes
 * long. What it read is a snapshot that never changes; a request holds a reference to the newest one. Events are read before the
 * locks and published after them: who has seen an event finds its effect in the newest snapshot.
 */
#ifndef TOOLS_SERVE_READER_H
#define TOOLS_SERVE_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "mount.h"

struct serve_snapshot {
	uint64_t number; /* rises with each snapshot that differs from the one before */
	int err; /* 0, or the negative errno with which the mount could not be read; then the rest is of the last time */
	int64_t read_at; /* moment_wall() of the last reading that succeeded; 0: none did */
	json_t *locks;   /* arrays of objects of locks.jsonl, in its order */
	json_t *waiters;
	json_t *apps;  /* array of {"resource", "app", "status"} of shared/ */
	json_t *hosts; /* array of objects of events/chains: the hosts of a store that several share; empty elsewhere */
	char *health;  /* the files, whole */
	char *metrics;
	unsigned refs;
};

struct serve_reader;

/* Starts the thread on a copy of `mount`. `ready` is called from it after each reading. 0 or a negative errno. */
int serve_reader_start(struct serve_reader **out, const struct mount *mount, void (*ready)(void *arg), void *arg);

/*
 * Wants a reading that begins after this call. With `changes`, only if there are new events or the last whole reading is two
 * seconds old: a lease may end without an event.
 */
void serve_reader_ask(struct serve_reader *reader, bool changes);

/*
 * How many readings have ended; and whether the last is as new as can be had: it began within 300 ms, or took so long that the thread
 * rests now.
 */
uint64_t serve_reader_done(struct serve_reader *reader, bool *fresh);

/* What was read until now is old: a release from the page must not be followed by a page that still shows the lock. */
void serve_reader_changed(struct serve_reader *reader);

/* A reference to the newest snapshot, never NULL; give it back. */
struct serve_snapshot *serve_reader_take(struct serve_reader *reader);
struct serve_snapshot *serve_snapshot_ref(struct serve_snapshot *snapshot);
void serve_snapshot_put(struct serve_snapshot *snapshot);

/* For how long the reading that is under way has lasted; 0: none is. */
int64_t serve_reader_busy(struct serve_reader *reader);

/*
 * The next event after `*seq` in memory as a malloc'ed line without newline, and `*seq` becomes its number; NULL if there is none, or
 * no memory. `*lost`, unless NULL: events between were dropped since.
 */
char *serve_reader_event(struct serve_reader *reader, uint64_t *seq, bool *lost);

/* The numbers of the first event in memory and of the last, 0 for none. */
void serve_reader_events(struct serve_reader *reader, uint64_t *first, uint64_t *last);

/* Ends the thread. If it hangs in the mount, it is left behind with its memory. */
void serve_reader_stop(struct serve_reader *reader);

#endif
