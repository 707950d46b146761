/* Reads and writes the mount's small files. */
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mount.h"

#define PIECE (256 * 1024) /* bytes that are read at a time: each read is a request to the daemon */

FILE *mount_read(const struct mount *mount, const char *path)
{
	int fd = openat(mount->fd, path, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (file == NULL && fd >= 0)
		close(fd);
	return file;
}

int mount_lines(const struct mount *mount, const char *path, mount_line_fn *fn, void *arg)
{
	FILE *file = mount_read(mount, path);
	char *buffer = malloc(PIECE);
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int rc = file == NULL ? -errno : buffer == NULL ? -ENOMEM : 0;

	if (rc == 0)
		(void)setvbuf(file, buffer, _IOFBF, PIECE);
	errno = 0;
	while (rc == 0 && (len = getline(&line, &size, file)) > 0)
		rc = fn(arg, line, (size_t)len);
	if (rc == 0 && ferror(file))
		rc = errno == 0 ? -EIO : -errno;
	free(line);
	if (file != NULL)
		fclose(file);
	free(buffer);
	return rc;
}

int mount_line(const struct mount *mount, const char *path, char *out, size_t len)
{
	FILE *file = mount_read(mount, path);
	int err = 0;

	out[0] = '\0';
	if (file == NULL)
		return -errno;
	errno = 0;
	if (fgets(out, (int)len, file) == NULL) {
		out[0] = '\0';
		err = ferror(file) == 0 ? 0 : errno == 0 ? -EIO : -errno;
	}
	out[strcspn(out, "\n")] = '\0';
	fclose(file);
	return err;
}

int mount_write(const struct mount *mount, const char *path, int flags, const char *text)
{
	int fd = openat(mount->fd, path, O_WRONLY | O_CLOEXEC | flags, 0644);
	size_t len = strlen(text);
	ssize_t n;
	int err = 0;

	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	if (n < 0)
		err = -errno;
	else if ((size_t)n != len)
		err = -EIO;
	/* The file system reads a last line without a newline when the file is closed. */
	if (close(fd) != 0 && err == 0)
		err = -errno;
	return err;
}

int mount_try(const struct mount *mount, const char *path, int flags)
{
	int fd = openat(mount->fd, path, O_WRONLY | O_CLOEXEC | flags, 0644);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

bool mount_field(const struct mount *mount, const char *path, const char *key, char *out, size_t len)
{
	char file[2 * PATH_MAX + 2];
	char name[64];
	ssize_t n;

	(void)snprintf(file, sizeof(file), "%s/%s", mount->path, path);
	(void)snprintf(name, sizeof(name), "user.%s", key);
	n = getxattr(file, name, out, len - 1);
	out[n < 0 ? 0 : n] = '\0';
	return n >= 0;
}

struct wanted {
	const char *key;
	char *out;
	size_t len;
};

static int value_take(void *arg, char *line, size_t len)
{
	const struct wanted *wanted = arg;
	size_t key = strlen(wanted->key);

	(void)len;
	if (strncmp(line, wanted->key, key) != 0 || line[key] != '=')
		return 0;
	line[strcspn(line, "\n")] = '\0';
	(void)strlcpy(wanted->out, line + key + 1, wanted->len);
	return 1;
}

bool mount_value(const struct mount *mount, const char *path, const char *key, char *out, size_t len)
{
	struct wanted wanted = { .key = key, .out = out, .len = len };

	out[0] = '\0';
	return mount_lines(mount, path, value_take, &wanted) == 1;
}

uint64_t mount_events(const struct mount *mount)
{
	char value[32];

	return mount_value(mount, "health", "events", value, sizeof(value)) ? strtoull(value, NULL, 10) : 0;
}
