/*
 * One spelling for a Git URL: "github.com/acme/infra", whatever it was pasted as. Private to core/; the rules are in
 * atlock.h, at atlock_url_normalise().
 *
 * What is given may carry a password. It is dropped before anything else is looked at, and no `why` of this module quotes
 * what it was given.
 */
#ifndef CORE_GITURL_H
#define CORE_GITURL_H

#include "atlock.h"

struct giturl {
	bool whole;                    /* names a repository; else only the way to one: a scheme, a host */
	char text[ATLOCK_URL_MAX + 1]; /* if whole: the one spelling */

	/*
	 * What the spelling of every URL below this one begins with, without a '/' at the end: as `text`, but as long as more
	 * may follow a ".git" is part of a name, and a host's own rules cannot be applied. "" after a scheme alone.
	 */
	char prefix[ATLOCK_URL_MAX + 1];
};

/* Reads a URL, or the first components of one. A '-' alone is no component. -EINVAL, -ENAMETOOLONG. */
int giturl_parse(const char *text, struct giturl *out, struct atlock_why *why);

/*
 * What some hosts spell in ways of their own (giturl_host.c): rewrites `url`, which is in the common spelling otherwise.
 * -ENAMETOOLONG.
 */
int giturl_host_rules(char url[ATLOCK_URL_MAX + 1]);

#endif
