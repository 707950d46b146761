/*
 * Counts the recent calls of each user. A user is forgotten one second after the last call, so that the table never
 * holds more users than calls in a second, however many uids one person has. Private to core/.
 */
#ifndef CORE_RATE_H
#define CORE_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rates;

int rates_new(struct rates **out);
void rates_free(struct rates *rates);

/*
 * Counts a call that uses this share of a second's calls. False, and nothing is counted, if the user has none left. Any
 * thread may call.
 */
bool rates_take(struct rates *rates, uid_t uid, int64_t share, int64_t now);

/* Number of users in the table, for tests. */
size_t rates_count(struct rates *rates);

#endif
