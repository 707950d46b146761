/* What stat(2) shows of the files and directories that the daemon itself provides. */
#ifndef ATTR_H
#define ATTR_H

#include "kind.h"

#define LIFE_STEADY 3600.0 /* seconds, for what never changes while mounted */

/* A virtual directory: belongs to the daemon and never changes. */
void attr_virtual(struct fs *fs, mode_t mode, struct stat *st);

/* A file that the daemon generates, of `size` bytes. */
void attr_file(struct fs *fs, mode_t mode, size_t size, struct stat *st);

/*
 * A file that lists locks or refusals: its mtime is that of the last change or refusal, so tar sees if it changed
 * meanwhile.
 */
void attr_telling(struct fs *fs, mode_t mode, size_t size, struct stat *st);

/* Sets the time that attr_telling() shows to now. Any thread. */
void attr_touch(struct fs *fs);

/* A file that is generated when it is read: its times are now. */
void attr_passing(struct fs *fs, mode_t mode, size_t size, struct stat *st);

/* Sets all times to `wall`, the wall time of the last change. */
void attr_times(struct stat *st, int64_t wall);

/* Helpers: converts a wall time; sets the size and the blocks that follow from it. */
struct timespec attr_time(int64_t wall);
void attr_size(struct stat *st, size_t size);

#endif
