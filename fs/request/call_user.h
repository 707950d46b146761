/* Which process and user made a request, and what they may override. */
#ifndef CALL_USER_H
#define CALL_USER_H

#include "fs.h"

struct handle;

/*
 * The caller of a change of that lock: the holder that the name says. Where no caller can be that holder (a session, a
 * foreign process, an open file), those who may override others get just their user: naming the holder is all they
 * need.
 */
int caller_naming(struct call *call, const struct atlock_name *name, struct atlock_caller *out);

/*
 * Whether the caller's user may override the holder of this lock by naming it: administrators, and users whom a rule
 * allows it.
 */
bool caller_overrides(struct call *call, const struct atlock_name *name);

/* Whether the caller, one of pull_users, is the holder that the name's who says, whatever owner the record names. */
bool caller_continues(struct call *call, const struct atlock_name *name);

/* caller_user() for an open file, which keeps the rights of the user who opened it for writing; `handle` may be NULL. */
int caller_opener(struct call *call, const struct handle *handle, struct atlock_caller *out);

/*
 * Stores the caller with a file that is opened for writing: a descriptor that is passed on keeps the rights of its
 * opener. Does nothing for a file opened for reading only. handle_caller() returns the stored caller.
 */
int caller_keep(struct call *call, struct handle *handle);

/*
 * Makes a call through an open file act as the user who opened it: a set-user-ID program that reads from an inherited
 * descriptor sees what that user may see.
 */
void caller_act_as_opener(struct call *call, const struct handle *handle);

/*
 * Whether the caller has the credentials that the file was opened with. Checked where the call would make the caller a
 * holder: a set-user-ID program writes its messages to whatever descriptor it inherited, and must not take a lock by
 * that. -EACCES; the reason also goes to the opener's `why`.
 */
int caller_opened(struct call *call, const struct handle *handle);

/*
 * The view as this caller may read it: `shown` borrows from `view`. `*own`, which may be NULL, is memory that `shown`
 * uses as well; free it after `shown`. 0 or a negative errno.
 */
int caller_view(struct call *call, const struct atlock_view *view, struct atlock_view *shown, char **own);

/* The text of a lock as this caller may read it, malloc'ed, or NULL. */
char *caller_text(struct call *call, const struct atlock_view *view, size_t *len);

#endif
