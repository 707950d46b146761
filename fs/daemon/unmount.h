/*
 * Notices a lazy unmount (umount -l): the kernel then keeps the file system alive for processes with open files, and
 * callers that wait for a lock would wait on. They are answered, and the daemon can end.
 */
#ifndef UNMOUNT_H
#define UNMOUNT_H

#include "fs.h"

struct unmount_watch;

/* Call when it is mounted. NULL if the mount table cannot be watched. */
struct unmount_watch *unmount_watch_start(struct fs *fs, const char *mountpoint);
void unmount_watch_stop(struct unmount_watch *watch);

/* The device ("0:57") of our topmost mount at this path, and whether a device is still mounted anywhere. */
bool unmount_find_device(const char *mountpoint, char *device, size_t len);
bool unmount_table_has(const char *device);

/*
 * Whether a mount of ours is still at this path. If its connection was cut (fusectl), it is, when the daemon ends: then
 * the daemon fails, and neither removes the dead mount nor makes the directory underneath writable.
 */
bool unmount_remains(const char *mountpoint);
#define UNMOUNT_CUT 2

#endif
