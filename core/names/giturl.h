/*
 * One spelling for a Git URL: "github.com/acme/infra", in whatever form it was pasted. Private to core/; the rules are
 * in atlock/owners.h, at atlock_url_normalise().
 *
 * The input may contain a password. It is dropped before any other check, and no `why` of this module quotes the input.
 */
#ifndef CORE_GITURL_H
#define CORE_GITURL_H

#include "atlock.h"

struct giturl {
	bool whole;                    /* names a repository; else only its beginning: a scheme, a host */
	char text[ATLOCK_URL_MAX + 1]; /* if whole: the one spelling */

	/*
	 * The common beginning of the spelling of all URLs below this one, without a '/' at the end. As `text`, except
	 * that a ".git" is part of a name while more may follow, and that host rules cannot be applied. "" after a
	 * scheme alone.
	 */
	char prefix[ATLOCK_URL_MAX + 1];
};

/* Parses a URL, or the first components of one. A '-' alone is no component. -EINVAL, -ENAMETOOLONG. */
int giturl_parse(const char *text, struct giturl *out, struct atlock_why *why);

/*
 * Applies the rules of hosts that have several URLs for a repository (giturl_host.c): rewrites `url`, which is in the
 * common spelling. -ENAMETOOLONG.
 */
int giturl_host_rules(char url[ATLOCK_URL_MAX + 1]);

#endif
