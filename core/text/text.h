/*
 * The key=value lines that people write into locks and read from them. Private to core/.
 *
 *	ttl=90m		lease from now, or "never"
 *	renew=60s	adds to the expiry; not together with ttl=
 *	timeout=10m	how long to wait at most, or "never"
 *	priority=high	low, normal, high or critical
 *	if_version=7	refuses the write unless the lock has this version
 *	owner= who=	the new holder of a lock that is handed over
 *	pull=123	stored with the user's own keys, as reason= and url= are
 *	url=		stored without user and password
 *	KEY=VALUE	the user's own: [A-Za-z_][A-Za-z0-9_.-]*, and none of those that a lock is printed with
 *	anything else	stored under the key "note"; several such lines make one note
 *
 * Empty lines are ignored. Of two lines with one key the last counts, in the place of the first.
 */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include "atlock.h"

#define TEXT_TIME_MAX 40

/* Wall time as RFC 3339 UTC, to the millisecond; ATLOCK_NEVER is "never". */
void text_time(int64_t wall, char *out, size_t len);

/* What a write asks for. Fields that were not given are 0, "" or (priority) -1. */
struct text_change {
	int64_t ttl;
	int64_t renew;
	int64_t timeout;
	size_t lease_line; /* number of the line that gave ttl or renew */
	int priority;
	uint64_t if_version; /* the version that the lock must have */
	char owner[ATLOCK_OWNER_MAX + 1];
	char who[ATLOCK_WHO_MAX + 1];
	char *meta; /* the user's own keys as "key=value\n" lines, each key once, in order, with a NUL; never NULL */
	size_t meta_len;
};

/* Parses `len` bytes. -EINVAL with the line number in `why`, -EDQUOT, -ENOMEM; then nothing needs freeing. */
int text_parse(const char *text, size_t len, struct text_change *out, struct atlock_why *why);
void text_change_free(struct text_change *change);

/* The same where no key has a meaning, as for a pull request: only the user's own lines, malloc'ed. */
int text_parse_plain(const char *text, size_t len, char **out, size_t *out_len, struct atlock_why *why);

/* Whether a line with this key is the user's own: a valid key without a meaning for the file system. */
bool text_key_is_own(const char *key, size_t len);

/* The first byte that no line may contain, or 0. */
unsigned char text_bad_byte(const char *text, size_t len);

/* As the public functions for the same purpose, for a known path and `offset` (wall time minus lease time). */
char *text_of_view(const struct atlock_view *view, int64_t offset, size_t *len);
char *text_of_ticket(const struct atlock_ticket *ticket, const char *path, int64_t offset, size_t *len);
char *json_of_view(const struct atlock_view *view, const char *path, int64_t offset, size_t *len);
char *json_of_ticket(const struct atlock_ticket *ticket, const char *path, int64_t offset, size_t *len);
int text_field(const struct atlock_view *view, int64_t offset, const char *key, char *out, size_t len);

#endif
