/*
 * Reads Atlantis' records from a Bolt file, in key order, without writing to it. The walk keeps one page per level in
 * memory. It is stricter than Bolt where a damaged byte could make records vanish: keys must ascend, as Bolt's searches
 * need, and a bucket that Atlantis does not have is an error.
 *
 * A file that a running Atlantis has open can be read, too (FOREIGN_WATCH). Bolt writes a transaction into pages that the state before
 * does not use, and only then the meta page; the pages that it frees are written by the transaction after it. So what was read is one
 * state if the newest meta page is still the same afterwards; if not, it is read again.
 */
#include "bolt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH 32 /* levels of pages: Bolt needs 10 for a million million records */

static const char *const buckets[FOREIGN_KINDS] = {
	[FOREIGN_LOCK] = "runLocks",
	[FOREIGN_PULL] = "pulls",
	[FOREIGN_GLOBAL] = "globalLocks",
};

const char *bolt_bucket_name(enum foreign_kind kind)
{
	return buckets[kind];
}

struct level {
	struct bolt_page page;
	unsigned int next; /* index of the next entry */
	int kind;          /* enum foreign_kind of its bucket; -1: in the root, which has the buckets */
};

struct bolt {
	struct bolt_file file;
	struct level levels[DEPTH];
	size_t depth;
	struct slice last; /* previous key of the same tree; points into a page still in memory, or into `copy` */
	unsigned char *copy;
	unsigned int found; /* buckets found, a bit per kind */
	char *path;         /* of a file that is read while it changes; else NULL */
};

static int bad(struct bolt *bolt, const char *what)
{
	return foreign_fail(&bolt->file.base, -EBADMSG, "page %" PRIu64 ": %s", bolt->file.page, what);
}

/* Descends into a page: the page of that number, or an inline one, which has been read already. */
static int level_push(struct bolt *bolt, uint64_t number, const struct bolt_page *inside, int kind)
{
	struct level *level = &bolt->levels[bolt->depth];
	int err = 0;

	if (bolt->depth == DEPTH)
		return bad(bolt, "is too deep in the tree");
	if (inside == NULL)
		err = bolt_page_read(&bolt->file, number, &level->page);
	else
		level->page = *inside;
	if (err < 0)
		return err;
	level->next = 0;
	level->kind = kind;
	bolt->depth++;
	return 0;
}

static void level_pop(struct bolt *bolt)
{
	free(bolt->levels[--bolt->depth].page.memory);
}

/* Keys of one tree ascend from leaf to leaf; `last` outlives the leaf that it came from. */
static int key_follows(struct bolt *bolt, struct slice key)
{
	size_t least = key.len < bolt->last.len ? key.len : bolt->last.len;
	int order = least == 0 ? 0 : memcmp(bolt->last.data, key.data, least);
	unsigned char *copy;

	if (bolt->last.data != NULL && (order > 0 || (order == 0 && bolt->last.len >= key.len)))
		return bad(bolt, "has its keys out of order");
	copy = realloc(bolt->copy, key.len + 1);
	if (copy == NULL)
		return foreign_fail(&bolt->file.base, -ENOMEM, "out of memory");
	memcpy(copy, key.data, key.len);
	bolt->copy = copy;
	bolt->last = (struct slice){ copy, key.len };
	return 0;
}

static int bucket_kind(struct slice name)
{
	for (int i = 0; i < FOREIGN_KINDS; i++)
		if (strlen(buckets[i]) == name.len && memcmp(buckets[i], name.data, name.len) == 0)
			return i;
	return -1;
}

/* Enters the bucket of a root entry. The three buckets need no order; each may occur once. */
static int bucket_enter(struct bolt *bolt, const struct bolt_entry *entry)
{
	int kind = entry->bucket ? bucket_kind(entry->key) : -1;
	struct bolt_page inside = { .number = 0 };
	uint64_t root = 0;
	int err;

	if (kind < 0)
		return bad(bolt, "has a bucket that is none of Atlantis': damaged, or another program's file");
	if (bolt->found & (1U << kind))
		return bad(bolt, "has a bucket twice");
	bolt->found |= 1U << kind;
	bolt->last = (struct slice){ NULL, 0 };
	err = bolt_bucket_read(&bolt->file, entry->value, &root, &inside);
	return err < 0 ? err : level_push(bolt, root, root == 0 ? &inside : NULL, kind);
}

/* One step of the walk: 0 and a record, 1 at the end, 2 to continue. */
static int step(struct bolt *bolt, struct foreign_item *out)
{
	struct level *level = &bolt->levels[bolt->depth - 1];
	struct bolt_entry entry;
	int err;

	if (level->next == level->page.count) {
		level_pop(bolt);
		return bolt->depth == 0 ? 1 : 2;
	}
	err = bolt_entry_read(&bolt->file, &level->page, level->next++, &entry);
	if (err < 0)
		return err;
	if (level->page.flags == BOLT_BRANCH) {
		err = level_push(bolt, entry.child, NULL, level->kind);
		return err < 0 ? err : 2;
	}
	if (level->kind < 0) {
		err = bucket_enter(bolt, &entry);
		return err < 0 ? err : 2;
	}
	if (entry.bucket)
		return bad(bolt, "has a bucket where a record should be");
	*out = (struct foreign_item){
		.kind = (enum foreign_kind)level->kind, .key = entry.key, .value = entry.value, .ttl = -1
	};
	return key_follows(bolt, entry.key);
}

/* Bolt locks a file while it is open. While this process has that lock too, no Atlantis can begin to write. */
static int file_open(struct bolt_file *file, const char *path, bool lock)
{
	struct stat st;

	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0 || fstat(file->fd, &st) != 0)
		return foreign_fail(&file->base, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return foreign_fail(&file->base, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL, "%s is not a file", path);
	if (lock && flock(file->fd, LOCK_SH | LOCK_NB) != 0)
		return foreign_fail(&file->base, errno == EWOULDBLOCK ? -EBUSY : -errno,
				    errno == EWOULDBLOCK
					    ? "%s is in use by a running Atlantis: stop it first, or read a copy"
					    : "%s cannot be locked",
				    path);
	/* Again: an Atlantis that ended since the open may have grown the file. */
	if (fstat(file->fd, &st) != 0)
		return foreign_fail(&file->base, -errno, "%s: %s", path, strerror(errno));
	file->size = (uint64_t)st.st_size;
	return 0;
}

/* Whether the file at that path has another state than the one that is being read. */
static bool bolt_changed(struct foreign *foreign)
{
	struct bolt *bolt = (struct bolt *)foreign;
	struct bolt_file now = { .fd = bolt->file.fd };
	struct stat there;
	struct stat st;
	bool changed;

	if (bolt->path == NULL)
		return true;
	if (stat(bolt->path, &there) != 0 || fstat(now.fd, &st) != 0 || there.st_ino != st.st_ino ||
	    there.st_dev != st.st_dev)
		return true;
	now.size = (uint64_t)st.st_size;
	changed = bolt_meta_read(&now, 0) < 0 || now.transaction != bolt->file.transaction;
	free(now.seen);
	return changed;
}

/* What looks damaged, or complete, means nothing if Atlantis wrote meanwhile. */
static int bolt_judge(struct bolt *bolt, int rc)
{
	if (rc == 0 || bolt->path == NULL || !bolt_changed(&bolt->file.base))
		return rc;
	return foreign_fail(&bolt->file.base, -EAGAIN, "%s changes while it is read", bolt->path);
}

static int bolt_next(struct foreign *foreign, struct foreign_item *out)
{
	struct bolt *bolt = (struct bolt *)foreign;
	int rc = 2;

	while (rc == 2)
		rc = bolt->depth == 0 ? 1 : step(bolt, out);
	if (rc == 1 && bolt->found == 0) {
		bolt->file.page = bolt->file.root;
		rc = bad(bolt, "has no bucket of Atlantis' below it");
	}
	return bolt_judge(bolt, rc);
}

/* A file that is open and locked has the state that was read. */
static int bolt_again(struct foreign *foreign)
{
	struct bolt *bolt = (struct bolt *)foreign;
	int err = 0;

	while (bolt->depth > 0)
		level_pop(bolt);
	bolt->found = 0;
	if (bolt->path != NULL) {
		close(bolt->file.fd);
		err = file_open(&bolt->file, bolt->path, false);
		if (err == 0)
			err = bolt_meta_read(&bolt->file, 0);
	} else {
		memset(bolt->file.seen, 0, (size_t)(bolt->file.pages / 8 + 1));
	}
	if (err == 0)
		err = level_push(bolt, bolt->file.root, NULL, -1);
	return bolt->file.fd < 0 ? err : bolt_judge(bolt, err);
}

static void bolt_close(struct foreign *foreign)
{
	struct bolt *bolt = (struct bolt *)foreign;

	while (bolt->depth > 0)
		level_pop(bolt);
	if (bolt->file.fd >= 0)
		close(bolt->file.fd);
	free(bolt->file.seen);
	free(bolt->copy);
	free(bolt->path);
	free(bolt);
}

static const struct foreign_type bolt_type = {
	.next = bolt_next, .again = bolt_again, .changed = bolt_changed, .close = bolt_close
};

int bolt_open(struct foreign **out, const char *path, unsigned int flags, char error[FOREIGN_ERROR_MAX])
{
	struct bolt *bolt = calloc(1, sizeof(*bolt));
	int err;

	if (bolt == NULL) {
		snprintf(error, FOREIGN_ERROR_MAX, "out of memory");
		return -ENOMEM;
	}
	bolt->file.base.type = &bolt_type;
	bolt->file.fd = -1;
	bolt->file.base.watch = -1;
	if (flags & FOREIGN_WATCH)
		bolt->path = strdup(path);
	err = file_open(&bolt->file, path, !(flags & FOREIGN_WATCH));
	if (err == 0)
		err = bolt_meta_read(&bolt->file, flags);
	if (err == 0)
		err = level_push(bolt, bolt->file.root, NULL, -1);
	if (err < 0) {
		memcpy(error, bolt->file.base.error, FOREIGN_ERROR_MAX);
		bolt_close(&bolt->file.base);
		return err;
	}
	*out = &bolt->file.base;
	return 0;
}
