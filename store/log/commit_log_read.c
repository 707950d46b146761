/*
 * Reading the log: when the store is opened, and before each view of a readonly process. What is read is the run with
 * the mark of LMDB's transaction and then the one that continues it; see commit_log.c.
 */
#include "commit_log.h"

#include "commit_log_format.h"
#include "crc32c.h"
#include "layer.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* Adds what an entry says to a layer. After a right checksum only a bug makes the rest wrong. */
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

static bool entry_is_whole(const unsigned char *bytes, size_t at, size_t limit)
{
	struct entry_head head;

	memcpy(&head, bytes + at, sizeof(head));
	size_t len = le32toh(head.len);
	return len >= sizeof(head) && len <= limit - at &&
	       crc32c(bytes + at + sizeof(head.crc), len - sizeof(head.crc)) == le32toh(head.crc);
}

static struct entry_head head_at(const unsigned char *bytes, size_t at)
{
	struct entry_head head;

	memcpy(&head, bytes + at, sizeof(head));
	return (struct entry_head){
		.len = le32toh(head.len),
		.base = le64toh(head.base),
		.mark = le64toh(head.mark),
		.number = le64toh(head.number),
		.flags = le64toh(head.flags),
	};
}

static bool continues(const struct entry_head *head)
{
	return (head->flags & CONTINUES) != 0;
}

/* Whether a head has the mark, of the transaction or of one that left it as it was. */
static bool head_has_mark(const struct commit_log *log, const struct entry_head *head, uint64_t mark)
{
	return head->mark == mark && (continues(head) || head->base <= log->base);
}

/* A run that continues another has a half for itself; one that does not may be all of the log. */
static size_t run_limit(size_t start, const struct entry_head *head)
{
	return continues(head) ? start + LOG_HALF : LOG_SIZE;
}

static void run_take(struct commit_log *log, size_t start, const struct entry_head *head)
{
	log->start = start;
	log->end = start;
	log->limit = run_limit(start, head);
	log->run = head->mark;
	log->before = continues(head) ? head->base : 0;
}

/* The run with the transaction's mark. Its first entry may have any number. */
static bool run_find(struct commit_log *log, const unsigned char *bytes)
{
	for (size_t start = 0; start < LOG_SIZE; start += LOG_HALF) {
		struct entry_head head = head_at(bytes, start);

		if (head_has_mark(log, &head, log->mark) && (start == 0 || continues(&head)) &&
		    entry_is_whole(bytes, start, run_limit(start, &head))) {
			run_take(log, start, &head);
			return true;
		}
	}
	return false;
}

/* At the end of that run: the one that continues it, without a gap. */
static bool run_follow(struct commit_log *log, const unsigned char *bytes)
{
	size_t other = log->start == 0 ? LOG_HALF : 0;
	struct entry_head head = head_at(bytes, other);

	if (log->run != log->mark || (log->start == 0 && log->end > LOG_HALF) || !continues(&head) ||
	    head.base != log->mark || head.number != log->number ||
	    !entry_is_whole(bytes, other, run_limit(other, &head)))
		return false;
	log->held = log->end - log->start;
	run_take(log, other, &head);
	return true;
}

static bool entry_is_due(const struct commit_log *log, const unsigned char *bytes)
{
	if (log->limit - log->end < sizeof(struct entry_head))
		return false;
	struct entry_head head = head_at(bytes, log->end);
	bool same_run = head_has_mark(log, &head, log->run) && continues(&head) == (log->before != 0) &&
			(log->before == 0 || head.base == log->before);
	return same_run && head.number == log->number && entry_is_whole(bytes, log->end, log->limit);
}

/* Whether there is an entry to be read at the end of what was read. */
static bool entry_find(struct commit_log *log, const unsigned char *bytes)
{
	if (log->end == log->start)
		return run_find(log, bytes);
	return entry_is_due(log, bytes) || run_follow(log, bytes);
}

/*
 * With sync, an entry is written when the one before it is on disk. So a whole entry after one that is not whole means that
 * answered entries were damaged. Entries of earlier transactions have other marks.
 */
static bool log_is_damaged(const struct commit_log *log, const unsigned char *bytes)
{
	for (size_t at = 0; at <= LOG_SIZE - sizeof(struct entry_head); at++) {
		struct entry_head head = head_at(bytes, at);
		bool current = head_has_mark(log, &head, log->mark) || (continues(&head) && head.base == log->mark);
		bool read = log->end != log->start && (int64_t)(head.number - log->number) < 0;

		if (current && !read && (head.flags & ORDERED) != 0 && entry_is_whole(bytes, at, LOG_SIZE))
			return true;
	}
	return false;
}

/* Adds the entries that are new to the layer. */
static int entries_read(struct commit_log *log, const unsigned char *bytes, struct layer **layer)
{
	int rc = 0;

	while (rc == 0 && entry_find(log, bytes)) {
		struct entry_head head = head_at(bytes, log->end);

		/* A readonly process may read an entry while the writer replaces it; LMDB's transaction tells it so afterwards. */
		if (head.len < sizeof(head) || head.len > log->limit - log->end)
			return -EUCLEAN;
		log->used = true;
		rc = entry_read(bytes + log->end, head.len, layer);
		log->number = head.number + 1;
		log->end += head.len;
	}
	return rc == 0 && !log->readonly && log_is_damaged(log, bytes) ? -EUCLEAN : rc;
}

static int layer_restart(struct commit_log *log, uint64_t base, uint64_t mark, struct layer **layer)
{
	struct layer *empty = layer_new(base);

	if (empty == NULL)
		return -ENOMEM;
	layer_drop(*layer);
	*layer = empty;
	commit_log_restart(log, base, mark);
	return 0;
}

/* A readonly process closes a log that was removed: the next daemon makes another. */
static bool file_follow(struct commit_log *log)
{
	if (!log->readonly || !commit_log_is_deleted(log))
		return false;
	close(log->fd);
	log->fd = -1;
	return true;
}

int commit_log_read(struct commit_log *log, uint64_t base, uint64_t mark, struct layer **layer)
{
	bool anew = file_follow(log);
	int rc = log->fd < 0 && log->readonly ? commit_log_open_file(log) : 0;
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
	/* It may have a part of an entry. */
	if (rc < 0) {
		layer_drop(*layer);
		*layer = NULL;
	}
	return rc;
}
