/* Key files: 64 hex digits, readable for their owner only. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "seal.h"
#include "why.h"

#define HEX (2 * SEAL_BYTES)

/* Long enough to tell any two keys apart, and reveals nothing about the key. */
static void id_make(struct seal_key *key)
{
	static const char purpose[] = "atlockfs key id";

	crypto_generichash(key->id, sizeof(key->id), (const unsigned char *)purpose, sizeof(purpose) - 1, key->bytes,
			   sizeof(key->bytes));
}

void seal_id_print(struct slice id, char out[ATLOCK_KEY_ID_MAX])
{
	if (id.len == SEAL_ID)
		sodium_bin2hex(out, ATLOCK_KEY_ID_MAX, id.data, id.len);
	else
		memcpy(out, "none", sizeof("none"));
}

static int refuse(struct atlock_why *why, int err, const char *path, const char *text)
{
	return why_set(why, err, err == -EACCES ? ATLOCK_PERMISSION_DENIED : ATLOCK_INVALID_REQUEST,
		       "key file %.200s: %s", path, text);
}

/* A user who can read the file has the key; one who can write it can make all texts unreadable. */
static int check_owner(int fd, const char *path, struct atlock_why *why)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return refuse(why, -errno, path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return refuse(why, -EINVAL, path, "no file; make one with 'atlock key new FILE'");
	if ((st.st_mode & 077) != 0)
		return refuse(why, -EACCES, path, "other users may read or write it: chmod 600, and use another key");
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return refuse(why, -EACCES, path, "belongs to another user, who can read it: chown it to root");
	return 0;
}

static int parse(const char *text, size_t len, const char *path, struct seal_key *out, struct atlock_why *why)
{
	size_t bytes = 0;

	len -= len > 0 && text[len - 1] == '\n';
	if (len != HEX || sodium_hex2bin(out->bytes, SEAL_BYTES, text, len, NULL, &bytes, NULL) != 0 ||
	    bytes != SEAL_BYTES)
		return refuse(why, -EINVAL, path, "not 64 hex digits; make one with 'atlock key new FILE'");
	id_make(out);
	return 0;
}

static int start(const char *path, struct atlock_why *why)
{
	if (path == NULL || path[0] == '\0')
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no key file given");
	return sodium_init() < 0 ? refuse(why, -ENOSYS, path, "the system has no random numbers") : 0;
}

int seal_key_read(const char *path, struct seal_key *out, struct atlock_why *why)
{
	char text[HEX + 2];
	ssize_t len;
	int rc = start(path, why);
	int fd;

	if (rc < 0)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return refuse(why, -errno, path, strerror(errno));
	rc = check_owner(fd, path, why);
	if (rc == 0) {
		len = read(fd, text, sizeof(text));
		rc = len < 0 ? refuse(why, -errno, path, strerror(errno)) : parse(text, (size_t)len, path, out, why);
		sodium_memzero(text, sizeof(text));
	}
	close(fd);
	return rc;
}

static int key_write(int fd, const struct seal_key *key)
{
	char text[HEX + 1];
	ssize_t n;

	sodium_bin2hex(text, sizeof(text), key->bytes, sizeof(key->bytes));
	text[HEX] = '\n';
	n = write(fd, text, sizeof(text));
	sodium_memzero(text, sizeof(text));
	if (n != (ssize_t)sizeof(text))
		return n < 0 ? -errno : -ENOSPC;
	return fchmod(fd, 0600) == 0 && fsync(fd) == 0 ? 0 : -errno;
}

int atlock_key_new(const char *path, char id[ATLOCK_KEY_ID_MAX], struct atlock_why *why)
{
	struct seal_key key;
	int rc = start(path, why);
	int fd;

	if (rc < 0)
		return rc;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return refuse(why, -errno, path, errno == EEXIST ? "is there already" : strerror(errno));
	randombytes_buf(key.bytes, sizeof(key.bytes));
	id_make(&key);
	rc = key_write(fd, &key);
	close(fd);
	if (rc < 0)
		(void)unlink(path);
	seal_id_print((struct slice){ key.id, sizeof(key.id) }, id);
	sodium_memzero(&key, sizeof(key));
	return rc < 0 ? refuse(why, rc, path, strerror(-rc)) : 0;
}

int atlock_key_id(const char *path, char id[ATLOCK_KEY_ID_MAX], struct atlock_why *why)
{
	struct seal_key key;
	int rc = seal_key_read(path, &key, why);

	if (rc == 0)
		seal_id_print((struct slice){ key.id, sizeof(key.id) }, id);
	sodium_memzero(&key, sizeof(key));
	return rc;
}
