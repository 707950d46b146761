/*
 * Owner, group and mode of the directories of custom/ that were passed last.
 *
 * Nearly every call asks for those of one directory, some twice, and a look at the store each time would be most of what a
 * lookup costs. Only we change them, so what was read is good until the next change: whoever has made one says so before it is
 * answered (doors_changed), and all that was read before that, or began to be, is read again.
 *
 * Any thread may call.
 */
#ifndef DOOR_H
#define DOOR_H

#include "fs.h"

struct door {
	uint64_t parent;
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

struct doors *doors_new(void);
void doors_free(struct doors *doors);

/* Those of a directory: 0, or -ENOENT and other errors of the store. */
int door_get(struct call *call, uint64_t dir, struct door *out);

/* One was changed or removed. */
void doors_changed(struct doors *doors);

#endif
