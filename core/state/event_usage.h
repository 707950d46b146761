/*
 * How many bytes of the store the events of each user have taken today (UTC), so that one user cannot use up the
 * events' share of all (space.h). In memory only: a new daemon counts from 0. Private to core/.
 */
#ifndef CORE_EVENT_USAGE_H
#define CORE_EVENT_USAGE_H

#include <stdint.h>
#include <sys/types.h>

struct event_usages;

int event_usages_new(struct event_usages **out);
void event_usages_free(struct event_usages *usages);

/* Bytes below 0 are given back. Any thread may call. Without memory the bytes are not counted. */
void event_usage_add(struct event_usages *usages, uid_t uid, uint32_t day, int64_t bytes);
uint64_t event_usage_get(struct event_usages *usages, uid_t uid, uint32_t day);

#endif
