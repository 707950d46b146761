/* What stat(2) shows of objects that the manager keeps: locks, tickets, directories, ownerships, apps. */
#ifndef ATTR_OF_H
#define ATTR_OF_H

#include "attr.h"

void attr_custom(const struct atlock_dir *dir, struct stat *st);

/* A held lock, if `sized` with the size of its text: making that is much work for a field that is rarely read. -ENOMEM. */
int attr_lock(struct call *call, const struct atlock_view *view, bool sized, struct stat *st);

/* A lock that the caller has just taken, without its size. */
void attr_new_lock(struct call *call, const struct atlock_caller *caller, mode_t mode, int64_t acquired_at,
		   struct stat *st);

/* A free lock, seen through an open file or created read-only. */
void attr_free_lock(struct call *call, struct stat *st);

void attr_shared(struct call *call, const struct atlock_shared *shared, struct stat *st);
void attr_app(struct call *call, const struct atlock_app *app, struct stat *st);

int attr_ticket(struct call *call, const struct atlock_name *name, const struct atlock_ticket *ticket, struct stat *st);

/* The owner of a repository; and a reference to one, whose mode kind_reference.c explains. -ENOMEM. */
int attr_ownership(struct call *call, const struct atlock_ownership *ownership, struct stat *st);
int attr_reference(struct call *call, const struct atlock_reference *reference, struct stat *st);

/* A symbolic link to a held lock, with a target of `size` bytes. */
void attr_link(struct call *call, const struct atlock_view *view, size_t size, struct stat *st);

#endif
