/*
 * Records that Atlantis keeps, in whatever it keeps them: a Bolt file or a Redis. This module knows files, pages and
 * servers; what a record says is for core/ to read.
 *
 *	foreign_open(&f, "/var/lib/atlantis/atlantis.db", 0, error);
 *	while ((rc = foreign_next(f, &item)) == 0) ...		error text in f->error if rc < 0
 *	foreign_close(f);
 *
 * Errors are negative errnos: -EBADMSG for what is damaged or something else, with the page in the text; -EBUSY for a file
 * that a running Atlantis has; -EHOSTDOWN for a server that does not answer. No text ever has a password in it.
 * One thread at a time.
 */
#ifndef STORE_FOREIGN_H
#define STORE_FOREIGN_H

#include "slice.h"

#include <stdint.h>

enum foreign_kind { FOREIGN_LOCK, FOREIGN_PULL, FOREIGN_GLOBAL, FOREIGN_KINDS };

/* One record. Bytes are valid until the next call. Keys are without what Redis puts in front to tell kinds apart. */
struct foreign_item {
	enum foreign_kind kind;
	struct slice key;
	struct slice value;
};

#define FOREIGN_ERROR_MAX 320
#define FOREIGN_OLDER 1U /* a Bolt file whose newest state is damaged: read the one before it */

struct foreign;

struct foreign_type {
	int (*next)(struct foreign *foreign, struct foreign_item *out);
	int (*get)(struct foreign *foreign, enum foreign_kind kind, const char *key, struct slice *out);
	int (*change)(struct foreign *foreign, const struct foreign_item *item, const struct slice *old);
	void (*close)(struct foreign *foreign);
};

/* What every kind begins with. */
struct foreign {
	const struct foreign_type *type;
	uint64_t total; /* records to come when opened; 0: unknown */
	char error[FOREIGN_ERROR_MAX];
};

/* Opens "redis://[user:password@]host[:port][/db]" or else a file of that name. `error` says what is wrong. */
int foreign_open(struct foreign **out, const char *uri, unsigned int flags, char error[FOREIGN_ERROR_MAX]);
void foreign_close(struct foreign *foreign);

/* The next record: 0, or 1 after the last. */
int foreign_next(struct foreign *foreign, struct foreign_item *out);

/* The value at one key: 0 or 1 (none). Valid until the next call. -EROFS for a file. */
int foreign_get(struct foreign *foreign, enum foreign_kind kind, const char *key, struct slice *out);

/*
 * Writes item->value at item->key, or deletes it if that is empty (data NULL), provided that what is there is still `old`
 * (NULL: nothing). 1 and nothing written if not. -EROFS for a file.
 */
int foreign_change(struct foreign *foreign, const struct foreign_item *item, const struct slice *old);

/* For those who implement one. */
int foreign_fail(struct foreign *foreign, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
int bolt_open(struct foreign **out, const char *path, unsigned int flags, char error[FOREIGN_ERROR_MAX]);
int redis_atlantis_open(struct foreign **out, const char *text, char error[FOREIGN_ERROR_MAX]);

#endif
