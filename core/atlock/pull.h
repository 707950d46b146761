/*
 * Pull requests: the locks that one holds, and the status of its projects.
 *
 * A pull request holds locks as the who "pr:<number>" in its own repository. Its status is a head commit, some metadata and a
 * word for each project, which Atlantis writes and people read below pulls/.
 *
 * Calling sequence
 *
 *	atlock_pull_parse("pulls/github.com/acme/infra/-/123", &pull, &why);
 *	atlock_project_parse(&pull, "modules/vpc/-/production", &project, &why);
 *	atlock_project_set(al, &caller, &pull, &project, "planned", 7, &why);
 *	atlock_pull_close(al, &caller, &pull, NULL, &why);
 */
#ifndef ATLOCK_PULL_H
#define ATLOCK_PULL_H

#include "atlock/base.h"
#include "atlock/caller.h"
#include "atlock/list.h"
#include "atlock/lock.h"
#include "atlock/name.h"

/* --- Names --- */

/* A pull request in decoded parts. */
struct atlock_pull {
	char host[ATLOCK_COMPONENT_MAX + 1];
	char repo[ATLOCK_KEY_MAX + 1];
	uint64_t num;
};

/* A pull request as a path names it: "github.com/acme/infra/-/123", each part in its canonical spelling. A value. */
struct atlock_pull_name {
	char text[ATLOCK_KEY_MAX];
	size_t host_len; /* bytes */
	size_t repo_len; /* bytes; the repository follows the host and a '/' */
	uint64_t num;
};

/* Parses "pulls/github.com/acme/infra/-/123": 0, or 1 for a directory that leads to one. -EINVAL, -ENAMETOOLONG. */
int atlock_pull_parse(const char *path, struct atlock_pull_name *out, struct atlock_why *why);

/* Makes a name from parts, takes one apart, and writes its path ("pulls/..."; -ERANGE). */
int atlock_pull_join(const struct atlock_pull *pull, struct atlock_pull_name *out, struct atlock_why *why);
int atlock_pull_split(const struct atlock_pull_name *name, struct atlock_pull *out);
int atlock_pull_print(const struct atlock_pull_name *name, char *out, size_t len);

/*
 * A project has the name of its lock. Parses "modules/vpc/-/production:vpc": 0 and the lock's name, or 1 for a directory that
 * leads to one. Errors as atlock_name_parse(); -EINVAL for a name with "@who".
 */
int atlock_project_parse(const struct atlock_pull_name *pull, const char *path, struct atlock_name *out,
			 struct atlock_why *why);

/* --- Status of a project --- */

/* In Atlantis' numbering. */
enum atlock_project_status {
	ATLOCK_PLAN_ERRORED,
	ATLOCK_PLANNED,
	ATLOCK_PLANNED_NO_CHANGES,
	ATLOCK_APPLY_ERRORED,
	ATLOCK_APPLIED,
	ATLOCK_PLAN_DISCARDED,
	ATLOCK_POLICY_CHECK_ERRORED,
	ATLOCK_POLICY_CHECK_PASSED,
	ATLOCK_PROJECT_STATUSES
};

/* "planned". Never NULL. And the status that a word names: 0 or -EINVAL. */
const char *atlock_project_status_name(enum atlock_project_status status);
int atlock_project_status_parse(const char *word, enum atlock_project_status *out);

/* Reads a project's status: 0, or 1 if it has none. */
int atlock_project_get(struct atlock *al, const struct atlock_pull_name *pull, const struct atlock_name *project,
		       enum atlock_project_status *out);

/* Sets it from a word of `len` bytes. -EINVAL, and `why` lists the words. */
int atlock_project_set(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
		       const struct atlock_name *project, const char *word, size_t len, struct atlock_why *why);

/* Removes it: 0, or 1 if it has none. */
int atlock_project_drop(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
			const struct atlock_name *project, struct atlock_why *why);

/* --- Texts; atlockfs(5) says how they read --- */

enum atlock_pull_text { ATLOCK_PULL_HEAD, ATLOCK_PULL_META, ATLOCK_PULL_PROJECTS, ATLOCK_PULL_SUMMARY };

#define ATLOCK_PULL_BYTES (1 << 20) /* longest text of one write, bytes */

/* Reads a text, malloc'ed. A pull request that has none reads as ""; its summary as zeros. */
int atlock_pull_read(struct atlock *al, const struct atlock_pull_name *pull, enum atlock_pull_text what, char **text,
		     size_t *len, struct atlock_why *why);

/*
 * Writes one of the first three texts, all of it or nothing. Statuses that the text leaves out stay if it is about the same head
 * commit and are removed if it is about another. `replace`: the lines of ATLOCK_PULL_META replace all others. -EINVAL with the
 * line's number in `why`, -EDQUOT.
 */
int atlock_pull_write(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
		      enum atlock_pull_text what, const char *text, size_t len, bool replace, struct atlock_why *why);

/* Empties one of the first three. */
int atlock_pull_clear(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
		      enum atlock_pull_text what, struct atlock_why *why);

/* --- Listings, see list.h --- */

/* What exists directly below a directory of pulls/ ("pulls/github.com"). */
typedef int atlock_pull_child_fn(void *arg, const char *component, bool directory);
int atlock_pull_children(struct atlock *al, const char *path, struct atlock_place *place, atlock_pull_child_fn *fn,
			 void *arg);

/* What exists directly below a directory of a pull request's projects ("modules"). */
int atlock_project_children(struct atlock *al, const struct atlock_pull_name *pull, const char *dir,
			    struct atlock_place *place, atlock_pull_child_fn *fn, void *arg);

/* The locks that "pr:<num>" holds in exactly this repository, under any owner. */
int atlock_pull_locks(struct atlock *al, const struct atlock_pull_name *pull, struct atlock_place *place,
		      atlock_list_fn *fn, void *arg);

/* One of those locks by its id: 0 or 1. Clear `out` with atlock_view_clear(). */
int atlock_pull_lock(struct atlock *al, const struct atlock_pull_name *pull, const char *id, struct atlock_view *out);

/* --- Closing --- */

/*
 * Releases those locks, cancels the pull request's tickets in its repository, and removes its status, in one transaction if there
 * are at most 1,024 locks and tickets. More of them end in several, so that they do not keep others waiting, and the status with the
 * last of them: after an error in between, call it again. `released` (may be NULL) gets the number of locks. -EPERM, with nothing
 * changed, if one lock or ticket is another owner's and the caller is no administrator.
 */
int atlock_pull_close(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
		      size_t *released, struct atlock_why *why);

#endif
