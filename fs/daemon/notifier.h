/*
 * The process that writes notifications for the daemon, which must not sleep for a directory's lock: see notice.h.
 *
 *	daemon's thread		send() the notifications, recv() until they are done: a signal ends both
 *	notifier		recv(), write() to a clone of the daemon's /dev/fuse, send()
 *	its second thread	sleeps until the daemon is gone
 *
 * When the daemon dies, the kernel closes its /dev/fuse and ends the requests that the daemon had read. But it holds
 * requests that were not read, and accepts new ones, as long as the notifier has the clone, and the notifier may be
 * asleep for a lock that one of those callers holds. So the second thread reads them and answers ENOTCONN, until the
 * first wakes up, finds the daemon gone and ends both. With the last descriptor closed, the mount is dead.
 *
 * If the notifier is killed, or cannot be started, the daemon writes its notifications itself.
 */
#ifndef NOTIFIER_H
#define NOTIFIER_H

#include "fs.h"

/* Call before the store is opened and while the process has one thread. */
void notifier_start(struct fs *fs, bool keep_stderr);

/* Call once the session is mounted. */
void notifier_attach(struct fs *fs);

/* Call before the session is unmounted, and when none was. Does nothing the second time. */
void notifier_stop(struct fs *fs);

#endif
