/*
 * The log: what has been committed since LMDB's last transaction, on disk. A commit appends one entry and waits for the
 * disk once, where LMDB writes pages all over its file and waits twice.
 *
 * Each entry says which transaction of LMDB it continues, by its mark. When LMDB has all of the layer that the log
 * describes, it gets a new mark along with it; all entries are void by that very commit, and the log begins again at its
 * start. So at any instant the store is LMDB's newest transaction and then the entries that continue it, up to the first
 * that does not fit: wrong checksum, other mark, other place in the row. An entry that was not answered yet may be torn; one that was
 * answered is whole, unless it was written without waiting for the disk: then a crash of the machine may take any of them,
 * and those before the first that is missing are the store.
 *
 * The file has its size from the start and is written with zeros once, so that an append changes nothing but bytes: a
 * file system then has no metadata to write along with them.
 */
#include "lmdb_engine.h"

#include "crc32c.h"

#include <bsd/stdlib.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_FILE "commit.log"
#define LOG_SIZE ((size_t)1024 * 1024)
#define REMOVED UINT32_MAX /* in place of a value's length */

/* Little-endian, as the next. The checksum is of all that follows it, to the end of the entry. */
struct entry_head {
	uint32_t crc;
	uint32_t len;  /* of the entry, head and all */
	uint64_t base; /* number of the transaction that began the log */
	uint64_t mark;
	uint64_t number; /* one more than that of the entry before; the first has any */
	uint64_t flags;
};

#define ORDERED UINT64_C(1) /* written when all entries before it were on disk */

struct write_head {
	uint32_t key_len;
	uint32_t value_len; /* or REMOVED */
};

/* --- The file --- */

static int zeros_write(int fd)
{
	static const unsigned char zeros[64 * 1024];

	for (size_t at = 0; at < LOG_SIZE; at += sizeof(zeros)) {
		ssize_t n = pwrite(fd, zeros, sizeof(zeros), (off_t)at);
		if (n != (ssize_t)sizeof(zeros))
			return n < 0 ? -errno : -ENOSPC;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* Made under another name first: a log under its own name has its full size and all of its blocks. */
static int file_make(int dir)
{
	static const char temporary[] = LOG_FILE ".new";
	int fd = openat(dir, temporary, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	int rc = zeros_write(fd);
	if (rc == 0 && (renameat(dir, temporary, dir, LOG_FILE) < 0 || fsync(dir) < 0))
		rc = -errno;
	if (rc < 0) {
		(void)unlinkat(dir, temporary, 0);
		close(fd);
		return rc;
	}
	return fd;
}

static int file_open(struct lmdb_log *log)
{
	struct stat st;
	int fd = openat(log->dir, LOG_FILE, (log->readonly ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : errno == ELOOP || errno == EISDIR || errno == ENXIO ? -EUCLEAN : -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size != LOG_SIZE) {
		close(fd);
		return -EUCLEAN;
	}
	log->fd = fd;
	return 0;
}

int lmdb_log_open(struct lmdb_log *log, int dir, bool readonly)
{
	*log = (struct lmdb_log){ .fd = -1, .dir = dir, .readonly = readonly };
	/* A number that no entry of an earlier run has: what is left of those never continues what is written now. */
	log->number = (uint64_t)arc4random() << 32 | arc4random();
	int rc = file_open(log);
	if (rc < 0 || log->fd >= 0 || readonly)
		return rc;
	/* Without room for a log every commit is one of LMDB's, which works as well and takes longer. */
	int fd = file_make(dir);
	log->fd = fd < 0 ? -1 : fd;
	return 0;
}

void lmdb_log_close(struct lmdb_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	free(log->entry);
	log->fd = -1;
	log->entry = NULL;
}

bool lmdb_log_is_there(int dir)
{
	struct stat st;

	return fstatat(dir, LOG_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool lmdb_log_is_deleted(const struct lmdb_log *log)
{
	struct stat st;

	return log->fd >= 0 && fstat(log->fd, &st) == 0 && st.st_nlink == 0;
}

int lmdb_log_sync(const struct lmdb_log *log)
{
	return log->fd >= 0 && fdatasync(log->fd) < 0 ? -errno : 0;
}

/* --- Writing --- */

static int entry_put(const struct lmdb_log *log, const void *data, size_t len, bool sync)
{
	ssize_t n = pwrite(log->fd, data, len, (off_t)log->end);

	if (n != (ssize_t)len)
		return n < 0 ? -errno : -EIO;
	return sync && fdatasync(log->fd) < 0 ? -errno : 0;
}

void lmdb_log_void(struct lmdb_log *log)
{
	static const struct entry_head nothing;

	log->end = 0;
	if (log->fd >= 0 && log->used)
		log->broken = entry_put(log, &nothing, sizeof(nothing), true) < 0;
	log->used = log->broken;
}

void lmdb_log_restart(struct lmdb_log *log, uint64_t base, uint64_t mark)
{
	log->base = base;
	log->mark = mark;
	log->end = 0;
	log->broken = false;
}

void lmdb_log_begin(struct lmdb_log *log)
{
	log->len = sizeof(struct entry_head);
}

static bool bytes_add(struct lmdb_log *log, const void *data, size_t len)
{
	if (LOG_SIZE - log->len < len)
		return false;
	if (data != NULL)
		memcpy(log->entry + log->len, data, len);
	log->len += len;
	return true;
}

void lmdb_log_add(struct lmdb_log *log, const struct writes *writes)
{
	if (log->entry == NULL && log->fd >= 0)
		log->entry = malloc(LOG_SIZE);
	bool fits = log->entry != NULL && log->len <= LOG_SIZE;
	for (size_t i = 0; fits && i < writes->count; i++) {
		const struct txn_write *write = writes->list[i];
		bool removed = write->value.data == NULL;
		struct write_head head = {
			.key_len = htole32((uint32_t)write->key.len),
			.value_len = htole32(removed ? REMOVED : (uint32_t)write->value.len),
		};

		fits = bytes_add(log, &head, sizeof(head)) && bytes_add(log, write->key.data, write->key.len) &&
		       bytes_add(log, write->value.data, write->value.len);
	}
	if (!fits)
		log->len = SIZE_MAX;
}

bool lmdb_log_fits(const struct lmdb_log *log)
{
	return log->fd >= 0 && !log->broken && log->len <= LOG_SIZE - log->end;
}

int lmdb_log_write(struct lmdb_log *log, bool ordered, bool sync)
{
	static const struct entry_head nothing;
	struct entry_head head = {
		.len = htole32((uint32_t)log->len),
		.base = htole64(log->base),
		.mark = htole64(log->mark),
		.number = htole64(log->number),
		.flags = htole64(ordered ? ORDERED : 0),
	};

	memcpy(log->entry, &head, sizeof(head));
	head.crc = htole32(crc32c(log->entry + sizeof(head.crc), log->len - sizeof(head.crc)));
	memcpy(log->entry, &head.crc, sizeof(head.crc));
	log->used = true;
	int rc = entry_put(log, log->entry, log->len, sync);
	if (rc < 0) {
		/* Whoever is told that it failed must not find it done after a crash. */
		(void)entry_put(log, &nothing, sizeof(nothing), sync);
		log->broken = true;
		return rc;
	}
	log->end += log->len;
	log->number++;
	return 0;
}

/* --- Reading --- */

/* The next write of an entry; returns how far it reaches, 0 if it does not fit. */
static size_t write_read(const unsigned char *at, size_t len, struct txn_write *out)
{
	struct write_head head;

	if (len < sizeof(head))
		return 0;
	memcpy(&head, at, sizeof(head));
	size_t key_len = le32toh(head.key_len);
	bool removed = le32toh(head.value_len) == REMOVED;
	size_t value_len = removed ? 0 : le32toh(head.value_len);
	len -= sizeof(head);
	if (key_len == 0 || key_len > STORE_KEY_MAX || key_len > len || value_len > len - key_len)
		return 0;
	out->key = (struct slice){ at + sizeof(head), key_len };
	out->value = (struct slice){ removed ? NULL : at + sizeof(head) + key_len, value_len };
	return sizeof(head) + key_len + value_len;
}

/* Adds what an entry says to a layer. A checksum that is right leaves no way for the rest to be wrong but a bug. */
static int entry_read(const unsigned char *entry, size_t len, struct layer **layer)
{
	size_t at = sizeof(struct entry_head);
	struct txn_write write;

	while (at < len) {
		size_t taken = write_read(entry + at, len - at, &write);
		if (taken == 0)
			return -EUCLEAN;
		struct txn_write *copy = layer_copy_write(*layer, &write);
		struct layer *next = copy == NULL ? NULL
						  : layer_add(*layer, &(struct writes){ .list = &copy, .count = 1 });
		if (next == NULL)
			return -ENOMEM;
		layer_drop(*layer);
		*layer = next;
		at += taken;
	}
	return 0;
}

/* Whether a head belongs to entries that continue the transaction, or the one whose mark it has left as it was. */
static bool head_is_current(const struct lmdb_log *log, const struct entry_head *head)
{
	return le64toh(head->base) <= log->base && le64toh(head->mark) == log->mark;
}

static bool entry_is_whole(const struct lmdb_log *log, const unsigned char *bytes, size_t at)
{
	struct entry_head head;

	memcpy(&head, bytes + at, sizeof(head));
	size_t len = le32toh(head.len);
	return head_is_current(log, &head) && len >= sizeof(head) && len <= LOG_SIZE - at &&
	       crc32c(bytes + at + sizeof(head.crc), len - sizeof(head.crc)) == le32toh(head.crc);
}

/*
 * With sync, an entry is written when the one before it is on disk. So such a one behind one that is not whole means that
 * answered entries were damaged. No entry of an earlier transaction is taken for one of this: its mark is another.
 */
static bool log_is_damaged(const struct lmdb_log *log, const unsigned char *bytes)
{
	struct entry_head head;

	for (size_t at = log->end + 1; at <= LOG_SIZE - sizeof(head); at++) {
		memcpy(&head, bytes + at, sizeof(head));
		if (head_is_current(log, &head) && (le64toh(head.flags) & ORDERED) != 0 &&
		    entry_is_whole(log, bytes, at))
			return true;
	}
	return false;
}

/* Adds the entries that are new to the layer. The first may have any number. */
static int entries_read(struct lmdb_log *log, const unsigned char *bytes, struct layer **layer)
{
	struct entry_head head;
	int rc = 0;

	while (rc == 0 && LOG_SIZE - log->end >= sizeof(head)) {
		memcpy(&head, bytes + log->end, sizeof(head));
		uint64_t number = le64toh(head.number);
		if (!entry_is_whole(log, bytes, log->end) || (log->end != 0 && number != log->number))
			return !log->readonly && log_is_damaged(log, bytes) ? -EUCLEAN : 0;
		log->used = true;
		rc = entry_read(bytes + log->end, le32toh(head.len), layer);
		log->number = number + 1;
		log->end += le32toh(head.len);
	}
	return rc;
}

static int layer_restart(struct lmdb_log *log, uint64_t base, uint64_t mark, struct layer **layer)
{
	struct layer *empty = layer_new(base);

	if (empty == NULL)
		return -ENOMEM;
	layer_drop(*layer);
	*layer = empty;
	log->base = base;
	log->mark = mark;
	log->end = 0;
	return 0;
}

/* A process that reads along gives up a log that was removed: the next daemon makes another. */
static bool file_follow(struct lmdb_log *log)
{
	if (!log->readonly || !lmdb_log_is_deleted(log))
		return false;
	close(log->fd);
	log->fd = -1;
	return true;
}

int lmdb_log_read(struct lmdb_log *log, uint64_t base, uint64_t mark, struct layer **layer)
{
	bool anew = file_follow(log);
	int rc = log->fd < 0 && log->readonly ? file_open(log) : 0;
	const unsigned char *bytes = MAP_FAILED;

	if (rc == 0 && log->fd >= 0) {
		bytes = mmap(NULL, LOG_SIZE, PROT_READ, MAP_SHARED, log->fd, 0);
		rc = bytes == MAP_FAILED ? -errno : 0;
	}
	if (rc == 0 && (*layer == NULL || anew || log->base != base || log->mark != mark))
		rc = layer_restart(log, base, mark, layer);
	if (rc == 0 && bytes != MAP_FAILED)
		rc = entries_read(log, bytes, layer);
	if (bytes != MAP_FAILED)
		munmap((void *)(uintptr_t)bytes, LOG_SIZE);
	return rc;
}
