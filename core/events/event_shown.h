/*
 * Which events a reader may see. An event names a lock and its directories. If the reader may not search one of these
 * directories of custom/, only the actor, the holder and administrators see the event. Directories are looked up by
 * their present names; events in a removed directory, whose permissions are unknown, are hidden likewise, also when
 * another directory has its name now: they are older than that. An old event with a value of
 * `on_event`, which only administrators may read, is hidden likewise. Private to core/.
 */
#ifndef CORE_EVENT_SHOWN_H
#define CORE_EVENT_SHOWN_H

#include "event_log.h"

/* Caches the result for the last directory, because events come in runs. Initialise with zeros. */
struct event_shown {
	const struct atlock_reader *reader; /* NULL: sees everything */
	bool may;
	int64_t since; /* wall time: events before it happened in a directory that is gone */
	size_t len;    /* 0: none yet */
	char dir[ATLOCK_PATH_MAX];
};

/* 1, 0 (hidden) or a negative errno. */
int event_is_shown(struct op *op, struct event_shown *shown, const struct record_event *event);

#endif
