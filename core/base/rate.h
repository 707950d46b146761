/*
 * How many calls each user has made of late. A user is counted for a second after his last call and then forgotten, so that
 * there are never more of them than calls in a second, however many user numbers one person has. Private to core/.
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

/* Counts a call that takes this share of a second's calls. False if the user has none left: then it is not counted. Any thread. */
bool rates_take(struct rates *rates, uid_t uid, int64_t share, int64_t now);

/* Users that are counted, for tests. */
size_t rates_count(struct rates *rates);

#endif
