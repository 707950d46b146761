/*
 * URLs that people paste carry tokens: the part before the host is never stored. When in doubt, a text counts as a
 * password. Private to core/.
 */
#ifndef CORE_USERINFO_H
#define CORE_USERINFO_H

#include <stddef.h>

/* Removes user and password from every URL in a text, in place. Returns the remaining length. */
size_t userinfo_strip(char *text, size_t len);

/*
 * The same for a text that is one address, also without a scheme, as "user:password@host:path". A user without a
 * password is no secret but part of such an address: "git@host:path" stays.
 */
size_t userinfo_strip_address(char *text, size_t len);

#endif
