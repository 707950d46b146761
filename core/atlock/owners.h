/*
 * Ownership of Git repositories: which user a URL belongs to, and the applications and credentials that refer to it.
 *
 * The first reference claims the URL for its maker's user; only that user can add more; the last one that is removed frees
 * the URL. Paths below owners/ read "owners/github.com/acme/infra/-/applications/web".
 *
 * Calling sequence
 *
 *	atlock_owners_parse("owners/https://GitHub.com/acme/infra.git/-/applications/web", &path, &why);
 *	atlock_refer(al, &path, &caller, false, &why);
 *	atlock_unrefer(al, &path, &caller, &why);
 */
#ifndef ATLOCK_OWNERS_H
#define ATLOCK_OWNERS_H

#include "atlock/base.h"
#include "atlock/caller.h"
#include "atlock/list.h"

/* --- Paths --- */

/*
 * Writes the canonical spelling of a Git URL: "github.com/acme/infra". It drops scheme, user, password, default port, ".git",
 * upper case, blanks around it and extra slashes; keeps another port ("github.com:4443/a"); reads "host:a/b" as "host/a/b"; and
 * undoes escapes where it can. -EINVAL, -ENAMETOOLONG. `why` never quotes the URL, which may carry a password.
 */
int atlock_url_normalise(const char *text, char out[ATLOCK_URL_MAX + 1], struct atlock_why *why);

enum atlock_reference_type { ATLOCK_APPLICATIONS, ATLOCK_CREDENTIALS, ATLOCK_REFERENCE_TYPES };

enum atlock_owners_kind {
	ATLOCK_OWNERS_DIR,       /* owners, a URL, or the beginning of one: `prefix`, and `url` if it is a whole one */
	ATLOCK_OWNERS_URL,       /* <url>/- */
	ATLOCK_OWNERS_OWNER,     /* <url>/-/owner */
	ATLOCK_OWNERS_TYPE,      /* <url>/-/applications */
	ATLOCK_OWNERS_REFERENCE, /* <url>/-/applications/<id> */
};

/* What a path below owners/ names. `kind` says which of the other fields are set. */
struct atlock_owners_path {
	enum atlock_owners_kind kind;
	enum atlock_reference_type type;
	char url[ATLOCK_URL_MAX + 1]; /* canonical */
	char prefix[ATLOCK_URL_MAX + 1];
	char id[ATLOCK_COMPONENT_MAX + 1];
};

/*
 * Parses "owners", "owners/https:/github.com/acme", "owners/github.com/acme/infra/-/applications/web", with any spelling of the
 * URL. -EINVAL. -ENAMETOOLONG (also URL and id together: ATLOCK_KEY_MAX). -ENOENT: another name after "-". -ENOTDIR: below a
 * file.
 */
int atlock_owners_parse(const char *path, struct atlock_owners_path *out, struct atlock_why *why);

/* --- References --- */

/*
 * Makes a reference, and claims the URL for the caller's owner if it is free. 1: the same reference exists (-EEXIST if
 * `exclusive`). -EPERM: another owner has the URL. -EDQUOT: the store has no space.
 */
int atlock_refer(struct atlock *al, const struct atlock_owners_path *path, const struct atlock_caller *caller,
		 bool exclusive, struct atlock_why *why);

/*
 * The same where an administrator, or a member of owners_group, makes a reference to a URL that another user owns: it is that user's.
 */
int atlock_refer_behalf(struct atlock *al, const struct atlock_owners_path *path, const struct atlock_caller *caller,
			bool exclusive, struct atlock_why *why);

/*
 * Gives a URL and all its references to a user, who may be unknown to this host. For administrators, and for members of owners_group,
 * who may give what they claimed. -EPERM; -ENOENT.
 */
int atlock_refer_give(struct atlock *al, const struct atlock_owners_path *path, const struct atlock_caller *caller,
		      const char *owner, struct atlock_why *why);

/* Removes one. -ENOENT; -EPERM if it is another owner's and the caller is no administrator. */
int atlock_unrefer(struct atlock *al, const struct atlock_owners_path *path, const struct atlock_caller *caller,
		   struct atlock_why *why);

/* --- Reading --- */

/* The claim on a URL. */
struct atlock_ownership {
	char url[ATLOCK_URL_MAX + 1];
	char owner[ATLOCK_OWNER_MAX + 1];
	uid_t uid;
	gid_t gid;
	int64_t since;                               /* instant */
	uint64_t references[ATLOCK_REFERENCE_TYPES]; /* how many of each type */
};

/* One reference. */
struct atlock_reference {
	struct atlock_owners_path path;
	char owner[ATLOCK_OWNER_MAX + 1];
	char host[ATLOCK_COMPONENT_MAX + 1]; /* machine that it was made on */
	uid_t uid;
	gid_t gid;
	pid_t pid;     /* of the process that made it */
	int64_t since; /* instant */
};

/* 0, or 1 if the URL is free, or there is no such reference. */
int atlock_ownership_get(struct atlock *al, const char *url, struct atlock_ownership *out);
int atlock_reference_get(struct atlock *al, const struct atlock_owners_path *path, struct atlock_reference *out);

/* A listing (list.h): what exists directly below a directory of owners/, each spelled as the path to it is. */
typedef int atlock_owners_fn(void *arg, const char *component, bool directory);
int atlock_owners_list(struct atlock *al, const struct atlock_owners_path *path, struct atlock_place *place,
		       atlock_owners_fn *fn, void *arg);

/* What `cat` prints. malloc'ed, `*len` bytes and a NUL; or NULL. */
char *atlock_ownership_text(struct atlock *al, const struct atlock_ownership *ownership, size_t *len);
char *atlock_reference_text(struct atlock *al, const struct atlock_reference *reference, size_t *len);

#endif
