/*
 * Notifications to the kernel about names and attributes that it caches.
 *
 * The kernel carries out a notification about a name when it has the directory's lock, in a sleep that no signal ends,
 * and a caller holds that lock until its request is answered. A daemon that is killed in that sleep would not end: its
 * connection would stay open, the request without an answer, and the lock taken, for ever. So another process writes
 * these notifications (daemon/notifier.h), and the daemon's thread waits for that process on a socket.
 */
#ifndef NOTICE_H
#define NOTICE_H

#include "fs.h"

#define NOTICE_ONE_MAX 312U /* bytes: a header, the arguments, a name and its NUL */
#define NOTICE_MANY 16U     /* at most so many in one notice: the callers see to it */
#define NOTICE_MAX (NOTICE_MANY * NOTICE_ONE_MAX)

/* Notifications to be sent together, in this order. */
struct notice {
	size_t len;
	uint8_t bytes[NOTICE_MAX];
};

/* The name is gone, and inotify watchers hear of it. The kernel ignores a name that it does not know, or as another node. */
void notice_delete(struct notice *notice, fuse_ino_t parent, fuse_ino_t node, const char *name);

/* The name is to be looked up again. It stays in the dcache, where a later notice_delete() finds it. */
void notice_expire(struct notice *notice, fuse_ino_t parent, const char *name);

/* The attributes are to be asked for again. */
void notice_attr(struct notice *notice, fuse_ino_t node);

/* Returns when the kernel has carried out all of them. Without the other process, writes them on the calling thread. */
void notice_send(const struct fs *fs, const struct notice *notice);

/* Writes them to an open /dev/fuse. The kernel's answers are of no use: what it does not know, it need not forget. */
void notice_write(int device, const uint8_t *bytes, size_t len);

#endif
