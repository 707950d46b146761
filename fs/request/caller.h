/* Who is behind a request, and what may they do to a directory. */
#ifndef CALLER_H
#define CALLER_H

#include "fs.h"

struct handle;

/* The caller as a holder; `who` is what followed '@' in the name used, "" for the session. */
int caller_identify(struct call *call, const char *who, struct atlock_caller *out);

/*
 * The caller of a change of that lock: the holder that its name says, or, for those who may override others, just the user where
 * no caller can be that holder (a session, a foreign process, an open file): to name it is all they need.
 */
int caller_naming(struct call *call, const struct atlock_name *name, struct atlock_caller *out);

/* Whether the caller's user may override the holder of this lock by naming it: administrators, and whom a rule allows it. */
bool caller_overrides(struct call *call, const struct atlock_name *name);

/* As above, for a caller of whom only the user matters: never fails for want of a session. */
int caller_user(struct call *call, struct atlock_caller *out);

/* The same for an open file, which keeps the rights of who opened it to write; `handle` may be NULL. */
int caller_opener(struct call *call, const struct handle *handle, struct atlock_caller *out);

/*
 * Keeps the caller with a file that is opened to write: a descriptor keeps the rights of who opened it when it is passed on. Does
 * nothing for one that is opened to read. The caller is handle_caller() then.
 */
int caller_keep(struct call *call, struct handle *handle);

/*
 * Lets a call through an open file act as the user who opened it: a set-user-ID program that reads what it was started with sees what
 * that user may see. `as` must live as long as the call.
 */
void caller_act_as_opener(struct call *call, const struct handle *handle, struct fuse_ctx *as);

/*
 * Whether the caller has the credentials that the file was opened with, for what makes a holder of the caller: a set-user-ID
 * program writes its messages to whatever descriptor it was started with, and must not take a lock by that. -EACCES, and the
 * opener's `why` says so as well.
 */
int caller_opened(struct call *call, const struct handle *handle);

/*
 * A view as this caller may read it: `shown` borrows from `view`; `*own`, which may be NULL, is what it has of its own, to be
 * freed after it. 0 or a negative errno.
 */
int caller_view(struct call *call, const struct atlock_view *view, struct atlock_view *shown, char **own);

/* The text of a lock as this caller may read it, malloc'ed, or NULL. */
char *caller_text(struct call *call, const struct atlock_view *view, size_t *len);

#endif
