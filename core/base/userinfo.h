/*
 * URLs that people paste carry tokens: what stands before the host is never kept. In doubt it is a password. Private to core/.
 */
#ifndef CORE_USERINFO_H
#define CORE_USERINFO_H

#include <stddef.h>

/* Takes user and password out of every URL in a text, in place; the length that is left. */
size_t userinfo_strip(char *text, size_t len);

/*
 * The same for a text that is one address, also without a scheme, as "user:password@host:path". A user without a password is no
 * secret there and part of the address: "git@host:path" stays.
 */
size_t userinfo_strip_address(char *text, size_t len);

#endif
