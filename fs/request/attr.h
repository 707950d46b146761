/* What stat(2) shows of files and directories that the daemon has of its own. */
#ifndef ATTR_H
#define ATTR_H

#include "kind.h"

#define LIFE_STEADY 3600.0 /* seconds, for what never changes by itself while mounted */

/* A directory that nobody made: belongs to the daemon and never changes. */
void attr_virtual(struct fs *fs, mode_t mode, struct stat *st);

/* A file the daemon writes itself, of `size` bytes. */
void attr_file(struct fs *fs, mode_t mode, size_t size, struct stat *st);

/* One that tells of locks or refusals: its time is that of the last one, so that tar sees whether it changed meanwhile. */
void attr_telling(struct fs *fs, mode_t mode, size_t size, struct stat *st);

/* attr_telling() shows the time of this call from now on. Any thread. */
void attr_touch(struct fs *fs);

/* One that is made when it is looked at: its time is now. */
void attr_passing(struct fs *fs, mode_t mode, size_t size, struct stat *st);

/* When it was changed, wall time. */
void attr_times(struct stat *st, int64_t wall);

/* Parts of it: a wall time, and the size with what follows from it. */
struct timespec attr_time(int64_t wall);
void attr_size(struct stat *st, size_t size);

#endif
