/* The newest lines of the event log: read on from where the last reading ended, and kept in a ring. */
#ifndef TOOLS_SERVE_TAIL_H
#define TOOLS_SERVE_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mount.h"

/* Where reading goes on, and lines that were read and not taken. Zeroed, it begins with the last of today's lines. */
struct serve_tail {
	char file[64]; /* in events/; "": it has not begun */
	off_t offset;
	char **lines; /* each malloc'ed, without newline */
	size_t count;
	size_t room;
};

/* Reads what is new; what may not be read is no error. 0 or a negative errno. */
int serve_tail_read(struct serve_tail *tail, const struct mount *mount);
void serve_tail_free(struct serve_tail *tail);

#define SERVE_RING 4096

struct serve_ring {
	struct {
		uint64_t seq;
		char *line;
	} slots[SERVE_RING]; /* slot of an event: its place modulo the size */
	uint64_t end;        /* places that were ever taken */
	size_t count;
};

/* Moves the tail's lines here; the oldest make room. A log that begins anew, as that of another store, replaces all. */
void serve_ring_take(struct serve_ring *ring, struct serve_tail *tail);

/* The first event with a greater number than `*seq`, copied, and `*seq` becomes its number; NULL: none, or no memory. */
char *serve_ring_next(const struct serve_ring *ring, uint64_t *seq, bool *lost);

/* The numbers of the first and the last, 0 for none. */
void serve_ring_range(const struct serve_ring *ring, uint64_t *first, uint64_t *last);
void serve_ring_free(struct serve_ring *ring);

#endif
