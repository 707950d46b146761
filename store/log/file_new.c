#include "file_new.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

/*
 * On a file system that copies blocks on write (btrfs), a full disk refuses to overwrite a file. NOCOW can be set while the file
 * is empty; file systems without it refuse the call, and need it not.
 */
static void write_in_place(int fd)
{
	int flags;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_NOCOW_FL) == 0) {
		flags |= FS_NOCOW_FL;
		(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
	}
}

int file_new(int dir, const char *name)
{
	/* An earlier try may have left a part of it. */
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		return -errno;
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	write_in_place(fd);
	return fd;
}
