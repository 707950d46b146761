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
 * While a flush runs, commits go on in the other half of the file, as a second run of entries. Its mark is
 * the one that LMDB gets; and each of its entries says which run it continues. So whether or not LMDB has got that far, the
 * store is LMDB's newest transaction, the run with its mark, and the run that continues this one. A half is written over only
 * when LMDB has what was in it. An older program would not look for a second run: before there is one, the file gets
 * longer, and such a program refuses it.
 *
 * The file is written with zeros once, so that an append changes nothing but bytes: a file system then has no metadata to
 * write along with them.
 */
#include "commit_log.h"

#include "commit_log_format.h"
#include "crc32c.h"
#include "file_new.h"

#include <bsd/stdlib.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_FILE "commit.log"
#define WIDE_SIZE (LOG_SIZE + 4096) /* of a file that may have two runs; the rest is never written */

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
	int fd = file_new(dir, temporary);

	if (fd < 0)
		return fd;
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

int commit_log_open_file(struct commit_log *log)
{
	struct stat st;
	int fd = openat(log->dir, LOG_FILE, (log->readonly ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : errno == ELOOP || errno == EISDIR || errno == ENXIO ? -EUCLEAN : -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || ((size_t)st.st_size != LOG_SIZE && st.st_size != WIDE_SIZE)) {
		close(fd);
		return -EUCLEAN;
	}
	log->wide = st.st_size == WIDE_SIZE;
	log->fd = fd;
	log->dev = st.st_dev;
	log->ino = st.st_ino;
	return 0;
}

int commit_log_open(struct commit_log *log, int dir, bool readonly)
{
	*log = (struct commit_log){ .fd = -1, .dir = dir, .readonly = readonly };
	/* A number that no entry of an earlier run has: what is left of those never continues what is written now. */
	log->number = (uint64_t)arc4random() << 32 | arc4random();
	int rc = commit_log_open_file(log);
	if (rc < 0 || log->fd >= 0 || readonly)
		return rc;
	/* Without space for a log every commit is one of LMDB's, which works as well and takes longer. */
	int fd = file_make(dir);
	if (fd < 0)
		return 0;
	close(fd);
	return commit_log_open_file(log);
}

void commit_log_close(struct commit_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	free(log->entry);
	log->fd = -1;
	log->entry = NULL;
}

bool commit_log_exists(int dir)
{
	struct stat st;

	return fstatat(dir, LOG_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool commit_log_is_there(const struct commit_log *log)
{
	struct stat st;

	if (log->fd < 0)
		return true;
	if (fstatat(log->dir, LOG_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno != ENOENT;
	return st.st_dev == log->dev && st.st_ino == log->ino && (size_t)st.st_size >= LOG_SIZE;
}

bool commit_log_is_deleted(const struct commit_log *log)
{
	struct stat st;

	return log->fd >= 0 && fstat(log->fd, &st) == 0 && st.st_nlink == 0;
}

int commit_log_sync(const struct commit_log *log)
{
	return log->fd >= 0 && fdatasync(log->fd) < 0 ? -errno : 0;
}

/* --- Writing --- */

static int bytes_put(const struct commit_log *log, const void *data, size_t len, size_t at, bool sync)
{
	ssize_t n = pwrite(log->fd, data, len, (off_t)at);

	if (n != (ssize_t)len)
		return n < 0 ? -errno : -EIO;
	return sync && fdatasync(log->fd) < 0 ? -errno : 0;
}

static void run_begin(struct commit_log *log, size_t start, size_t limit)
{
	log->start = start;
	log->end = start;
	log->limit = limit;
	log->last_crc = 0;
}

void commit_log_void(struct commit_log *log)
{
	static const struct entry_head nothing;

	run_begin(log, 0, LOG_SIZE);
	if (log->fd >= 0 && log->used)
		log->broken = bytes_put(log, &nothing, sizeof(nothing), LOG_HALF, false) < 0 ||
			      bytes_put(log, &nothing, sizeof(nothing), 0, true) < 0;
	log->used = log->broken;
	/* An older program may go on from here. */
	if (log->wide && !log->used)
		log->wide = ftruncate(log->fd, (off_t)LOG_SIZE) < 0;
}

void commit_log_restart(struct commit_log *log, uint64_t base, uint64_t mark)
{
	log->base = base;
	log->mark = mark;
	log->run = mark;
	log->before = 0;
	log->held = 0;
	log->broken = false;
	run_begin(log, 0, LOG_SIZE);
}

/* From now on the file is refused by programs that know of one run only. */
static bool file_widen(struct commit_log *log)
{
	if (!log->wide && !log->narrow) {
		log->wide = ftruncate(log->fd, WIDE_SIZE) == 0 && fsync(log->fd) == 0;
		log->narrow = !log->wide;
	}
	return log->wide;
}

bool commit_log_can_turn(struct commit_log *log)
{
	bool in_half = log->start != 0 || log->end <= LOG_HALF;

	return log->fd >= 0 && !log->broken && log->mark != 0 && log->run == log->mark && log->end > log->start &&
	       in_half && file_widen(log);
}

void commit_log_turn(struct commit_log *log, uint64_t mark)
{
	size_t other = log->start == 0 ? LOG_HALF : 0;

	log->held = log->end - log->start;
	log->before = log->run;
	log->run = mark;
	run_begin(log, other, other + LOG_HALF);
}

void commit_log_flushed(struct commit_log *log, uint64_t base)
{
	log->base = base;
	log->mark = log->run;
	log->held = 0;
}

size_t commit_log_bytes(const struct commit_log *log)
{
	return log->held + (log->end - log->start) + log->len;
}

bool commit_log_fills(const struct commit_log *log)
{
	return log->end - log->start >= LOG_HALF / 2;
}

void commit_log_begin(struct commit_log *log)
{
	log->len = sizeof(struct entry_head);
}

static bool bytes_add(struct commit_log *log, const void *data, size_t len)
{
	if (LOG_SIZE - log->len < len)
		return false;
	if (data != NULL)
		memcpy(log->entry + log->len, data, len);
	log->len += len;
	return true;
}

void commit_log_add(struct commit_log *log, const struct writes *writes)
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

bool commit_log_fits(const struct commit_log *log)
{
	return log->fd >= 0 && !log->broken && log->len <= log->limit - log->end;
}

static bool head_read(const struct commit_log *log, size_t at, struct entry_head *head)
{
	return pread(log->fd, head, sizeof(*head), (off_t)at) == (ssize_t)sizeof(*head);
}

/* Whether another program wrote over the last entry, or added to it. Entries are few bytes from each other, and in memory. */
static bool is_foreign(const struct commit_log *log)
{
	struct entry_head head;

	if (log->last_crc == 0)
		return false;
	if (head_read(log, log->last, &head) && head.crc != log->last_crc)
		return true;
	return log->limit - log->end >= sizeof(head) && head_read(log, log->end, &head) &&
	       le64toh(head.mark) == log->run && le64toh(head.number) == log->number;
}

int commit_log_write(struct commit_log *log, bool ordered, bool sync)
{
	static const struct entry_head nothing;
	struct entry_head head = {
		.len = htole32((uint32_t)log->len),
		.base = htole64(log->before != 0 ? log->before : log->base),
		.mark = htole64(log->run),
		.number = htole64(log->number),
		.flags = htole64((ordered ? ORDERED : 0) | (log->before != 0 ? CONTINUES : 0)),
	};

	if (is_foreign(log))
		return -ESTALE;
	memcpy(log->entry, &head, sizeof(head));
	head.crc = htole32(crc32c(log->entry + sizeof(head.crc), log->len - sizeof(head.crc)));
	memcpy(log->entry, &head.crc, sizeof(head.crc));
	log->used = true;
	int rc = bytes_put(log, log->entry, log->len, log->end, sync);
	if (rc < 0) {
		/* A commit that was answered as failed must not be there after a crash. */
		(void)bytes_put(log, &nothing, sizeof(nothing), log->end, sync);
		log->broken = true;
		return rc;
	}
	log->last = log->end;
	log->last_crc = head.crc;
	log->end += log->len;
	log->number++;
	return 0;
}
