/*
 * Notices when the mount is taken away lazily (umount -l): the kernel then keeps the file system alive for those who have
 * files open, and callers that wait for a lock would wait on. They are answered, and the daemon can end.
 */
#ifndef UNMOUNT_H
#define UNMOUNT_H

#include "fs.h"

struct unmount_watch;

/* Call when the mount is there. NULL if it cannot be watched. */
struct unmount_watch *unmount_watch_start(struct fs *fs, const char *mountpoint);
void unmount_watch_stop(struct unmount_watch *watch);

/* The device ("0:57") of the topmost of our mounts at this path, and whether a device is still mounted anywhere. */
bool unmount_find_device(const char *mountpoint, char *device, size_t len);
bool unmount_table_has(const char *device);

/*
 * Whether a mount of ours is still at this path. One whose connection was cut (fusectl) is, when its daemon ends: that ends with
 * this exit status, and neither takes the dead mount away nor makes the directory underneath writable.
 */
bool unmount_remains(const char *mountpoint);
#define UNMOUNT_CUT 2

#endif
