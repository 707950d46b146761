/* The bytes of a dump in a file. */
#include "crc32c.h"
#include "remote_bytes.h"
#include "remote_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAGIC "atlockfs realm 1\n"
#define MAGIC_LEN (sizeof(MAGIC) - 1)
#define HEAD (MAGIC_LEN + REMOTE_ID + 32)
#define SUM 4
#define ITEM_HEAD 14
#define ITEM_MAX (ITEM_HEAD + STORE_KEY_MAX + STORE_VALUE_MAX + SUM)

static bool summed_put(FILE *file, unsigned char *bytes, size_t len)
{
	(void)bytes_put(bytes + len, crc32c(bytes, len), SUM);
	return fwrite(bytes, 1, len + SUM, file) == len + SUM;
}

static bool head_put(FILE *file, const struct dump *dump)
{
	unsigned char bytes[HEAD + SUM];
	unsigned char *at = bytes_put_slice(bytes, slice_of(MAGIC));

	at = bytes_put_slice(at, (struct slice){ .data = dump->id, .len = REMOTE_ID });
	at = bytes_put(bytes_put(at, dump->at.epoch, 8), dump->at.revision, 8);
	(void)bytes_put(bytes_put(at, dump->at.tag, 8), dump->count, 8);
	return summed_put(file, bytes, HEAD);
}

static bool item_put(FILE *file, const struct dump_item *item, unsigned char *bytes)
{
	unsigned char *at = bytes_put(bytes_put(bytes, item->key.len, 2), item->value.len, 4);

	at = bytes_put_slice(bytes_put_slice(bytes_put(at, item->version, 8), item->key), item->value);
	return summed_put(file, bytes, (size_t)(at - bytes));
}

int dump_write(const struct dump *dump, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	unsigned char *bytes = malloc(ITEM_MAX);

	if (fd < 0 || file == NULL || bytes == NULL) {
		int error = fd < 0 ? errno : ENOMEM;

		free(bytes);
		if (fd >= 0) {
			(void)close(fd);
			(void)unlink(path);
		}
		return -error;
	}
	bool good = head_put(file, dump);
	for (size_t i = 0; good && i < dump->count; i++)
		good = item_put(file, &dump->items[i], bytes);
	good = good && fflush(file) == 0 && fsync(fd) == 0;
	int error = good ? 0 : errno != 0 ? errno : EIO;
	if (fclose(file) != 0 && good)
		error = errno;
	free(bytes);
	if (error != 0)
		(void)unlink(path);
	return -error;
}

/* Reads `len` bytes and their sum. */
static int summed_take(FILE *file, unsigned char *bytes, size_t len, size_t before)
{
	struct slice sum = { .data = bytes + before + len, .len = SUM };
	uint64_t is;

	if (fread(bytes + before, 1, len + SUM, file) != len + SUM)
		return ferror(file) ? -EIO : -EBADMSG;
	return bytes_take(&sum, SUM, &is) && is == crc32c(bytes, before + len) ? 0 : -EBADMSG;
}

static int head_take(FILE *file, struct dump *dump, uint64_t *count)
{
	unsigned char bytes[HEAD + SUM];
	struct slice rest = { .data = bytes, .len = HEAD };
	struct slice magic;
	struct slice id;
	int rc = summed_take(file, bytes, HEAD, 0);

	if (rc < 0)
		return rc;
	if (!bytes_take_slice(&rest, MAGIC_LEN, &magic) || memcmp(magic.data, MAGIC, MAGIC_LEN) != 0 ||
	    !bytes_take_slice(&rest, REMOTE_ID, &id) || !bytes_take(&rest, 8, &dump->at.epoch) ||
	    !bytes_take(&rest, 8, &dump->at.revision) || !bytes_take(&rest, 8, &dump->at.tag) ||
	    !bytes_take(&rest, 8, count))
		return -EBADMSG;
	memcpy(dump->id, id.data, REMOTE_ID);
	return 0;
}

static int item_take(FILE *file, struct dump *dump, unsigned char *bytes)
{
	struct slice rest = { .data = bytes, .len = ITEM_HEAD };
	uint64_t key_len;
	uint64_t value_len;
	uint64_t version;

	if (fread(bytes, 1, ITEM_HEAD, file) != ITEM_HEAD)
		return ferror(file) ? -EIO : -EBADMSG;
	if (!bytes_take(&rest, 2, &key_len) || !bytes_take(&rest, 4, &value_len) || !bytes_take(&rest, 8, &version) ||
	    key_len == 0 || key_len > STORE_KEY_MAX || value_len > STORE_VALUE_MAX)
		return -EBADMSG;
	int rc = summed_take(file, bytes, key_len + value_len, ITEM_HEAD);
	if (rc < 0)
		return rc;
	struct slice key = { .data = bytes + ITEM_HEAD, .len = key_len };
	return dump_add(dump, key, version, (struct slice){ .data = bytes + ITEM_HEAD + key_len, .len = value_len });
}

int dump_read(struct dump *dump, const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned char *bytes = malloc(ITEM_MAX);
	uint64_t count = 0;
	int rc = file == NULL ? -errno : bytes == NULL ? -ENOMEM : head_take(file, dump, &count);

	for (uint64_t i = 0; rc == 0 && i < count; i++)
		rc = item_take(file, dump, bytes);
	if (rc == 0 && fgetc(file) != EOF)
		rc = -EBADMSG;
	free(bytes);
	if (file != NULL)
		(void)fclose(file);
	return rc;
}
