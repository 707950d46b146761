/*
 * Records of Atlantis, in a Bolt file or in Redis. This module knows files, pages and servers; core/ interprets the
 * records.
 *
 *	foreign_open(&f, "/var/lib/atlantis/atlantis.db", 0, error);
 *	while ((rc = foreign_next(f, &item)) == 0) ...		error text in f->error if rc < 0
 *	foreign_close(f);
 *
 * Errors are negative errnos: -EBADMSG for data that is damaged or not Atlantis', with the page in the text; -EBUSY for
 * a file that a running Atlantis has open; -EHOSTDOWN for a server that does not answer. No text ever contains a
 * password. One thread at a time.
 */
#ifndef STORE_FOREIGN_H
#define STORE_FOREIGN_H

#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

/* Of Atlantis; and, only in a Redis, of its enhanced lock manager: a lock, and a member of a lock's queue. */
enum foreign_kind {
	FOREIGN_LOCK,
	FOREIGN_PULL,
	FOREIGN_GLOBAL,
	FOREIGN_KINDS,
	FOREIGN_ENHANCED = FOREIGN_KINDS,
	FOREIGN_QUEUE
};

/* One record. Its bytes are valid until the next call. Keys are without the prefix that tells kinds apart in Redis. */
struct foreign_item {
	enum foreign_kind kind;
	struct slice key;
	struct slice value;
	int64_t ttl; /* milliseconds until the key ends; -1: it does not, or is not known */
};

#define FOREIGN_ERROR_MAX 320
#define FOREIGN_OLDER 1U /* a Bolt file whose newest state is damaged: read the one before it */
#define FOREIGN_WATCH \
	4U /* a Redis: be told of changes, where it tells; a Bolt file: read it while Atlantis has it open */

struct foreign;

struct foreign_type {
	int (*next)(struct foreign *foreign, struct foreign_item *out);
	int (*again)(struct foreign *foreign);
	int (*get)(struct foreign *foreign, enum foreign_kind kind, const char *key, struct slice *out);
	int (*change)(struct foreign *foreign, const struct foreign_item *item, const struct slice *old);
	int (*enqueue)(struct foreign *foreign, const char *key, const char *member, double score);
	bool (*changed)(struct foreign *foreign);
	void (*close)(struct foreign *foreign);
};

/* Common first member of every implementation. */
struct foreign {
	const struct foreign_type *type;
	uint64_t total;     /* records to come when opened; 0: unknown */
	uint64_t others;    /* keys there that are another program's */
	char other[200];    /* the first of them, with commas between */
	unsigned int nodes; /* of a Redis Cluster, of which one was read; 0: it is none */
	/* How often the server had been told to forget all it has, before and after its keys were read; -1: not known. */
	int64_t flushes_before;
	int64_t flushes;
	int watch; /* a descriptor that can be read when something changed; -1: changes are not told */
	char error[FOREIGN_ERROR_MAX];
};

/* Opens "redis://[user:password@]host[:port][/db]", or a file of that name. `error` says what is wrong. */
int foreign_open(struct foreign **out, const char *uri, unsigned int flags, char error[FOREIGN_ERROR_MAX]);
void foreign_close(struct foreign *foreign);

/* The next record: 0, or 1 after the last. */
int foreign_next(struct foreign *foreign, struct foreign_item *out);

/* Begins again with the first record, as they are now. */
int foreign_again(struct foreign *foreign);

/*
 * Whether something may have changed since the last call: true unless the source tells of changes and has told of none. A source that stops
 * telling has `watch` -1 from then on.
 */
bool foreign_changed(struct foreign *foreign);

/* The value at one key: 0 or 1 (none). Valid until the next call. -EROFS for a file. */
int foreign_get(struct foreign *foreign, enum foreign_kind kind, const char *key, struct slice *out);

/*
 * Writes item->value at item->key, or deletes the key if the value is empty (data NULL), provided that the present
 * value is still `old` (NULL: none). If not, returns 1 and writes nothing. -EROFS for a file.
 */
int foreign_change(struct foreign *foreign, const struct foreign_item *item, const struct slice *old);

/* Adds a member to a queue of the enhanced manager's: 0, or 1 if it has it. -EROFS for a file. */
int foreign_enqueue(struct foreign *foreign, const char *key, const char *member, double score);

/*
 * Makes a new Bolt file at `path` with these records, in any order. It is whole and on the disk before the name is there. -EEXIST: there
 * is such a file, which stays, or two records have one key; `error` says which.
 */
int bolt_write(const char *path, const struct foreign_item *items, size_t count, char error[FOREIGN_ERROR_MAX]);

/* For implementations. */
int foreign_fail(struct foreign *foreign, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
int bolt_open(struct foreign **out, const char *path, unsigned int flags, char error[FOREIGN_ERROR_MAX]);
int redis_atlantis_open(struct foreign **out, const char *text, unsigned int flags, char error[FOREIGN_ERROR_MAX]);

#endif
