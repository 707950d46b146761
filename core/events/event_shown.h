/*
 * Which events a reader may see. An event names a lock, and with it the directories it is in: one below a directory of custom/ that
 * the reader may not search is for those who did it or held the lock, and for administrators. Directories are looked for by
 * their names, as they are now; those of a directory that is gone, of which nothing says who was let in, are hidden
 * likewise. Private to core/.
 */
#ifndef CORE_EVENT_SHOWN_H
#define CORE_EVENT_SHOWN_H

#include "event.h"

/* What was found of the last directory: events come in runs. Zeroed at first. */
struct event_shown {
	const struct atlock_reader *reader; /* NULL: sees all */
	bool may;
	size_t len; /* 0: none yet */
	char dir[ATLOCK_PATH_MAX];
};

/* 1, 0 (not to be seen) or a negative errno. */
int event_is_shown(struct op *op, struct event_shown *shown, const struct record_event *event);

#endif
