/*
 * A disk as a power cut may leave it. What was synced is there. Of what was not, any 512-byte sector may be there or not,
 * in any order.
 */
#ifndef CRASH_DISK_H
#define CRASH_DISK_H

#include "tape.h"

struct disk;

enum disk_loss {
	DISK_LOSES_ALL, /* that was not synced */
	DISK_LOSES_SOME,
	DISK_LOSES_NOTHING,
	DISK_LOSSES,
};

/* Begins with the files of a directory, as synced. Exits if it cannot. */
struct disk *disk_new(const char *directory);
void disk_free(struct disk *disk);

/* What comes next on the tape; it must stay where it is. */
void disk_apply(struct disk *disk, const struct tape_op *op);

/* Writes the files that a power cut would leave now into a directory. `seed` is for what is left to chance, and changes. */
void disk_write(const struct disk *disk, enum disk_loss loss, unsigned int *seed, const char *directory);

#endif
