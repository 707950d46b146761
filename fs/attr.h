/* What stat(2) shows of each kind of thing. */
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

void attr_custom(const struct atlock_dir *dir, struct stat *st);

/* A held lock; without its size, since that of its text is much work for something that is rarely looked at. */
void attr_held_lock(struct call *call, const struct atlock_view *view, struct stat *st);

/* The same with the size of its text. -ENOMEM. */
int attr_lock(struct call *call, const struct atlock_view *view, struct stat *st);

/* A lock that the caller has just taken, without its size. */
void attr_new_lock(struct call *call, const struct atlock_caller *caller, mode_t mode, int64_t acquired_at,
		   struct stat *st);

/* A lock nobody holds, seen through an open file or created read-only. */
void attr_free_lock(struct call *call, struct stat *st);

void attr_shared(struct call *call, const struct atlock_shared *shared, struct stat *st);
void attr_app(struct call *call, const struct atlock_app *app, struct stat *st);

int attr_ticket(struct call *call, const struct atlock_name *name, const struct atlock_ticket *ticket, struct stat *st);

/* Who owns a repository; and a reference to one, whose mode kind_reference.c explains. -ENOMEM. */
int attr_ownership(struct call *call, const struct atlock_ownership *ownership, struct stat *st);
int attr_reference(struct call *call, const struct atlock_reference *reference, struct stat *st);

/* A symbolic link to a held lock, to a path of `size` bytes. */
void attr_link(struct call *call, const struct atlock_view *view, size_t size, struct stat *st);

#endif
