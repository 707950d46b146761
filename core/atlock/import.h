/*
 * Atlantis' records: reading them where Atlantis keeps them, and what they are in the tree; and back. For our own tools: no
 * promise.
 *
 * Calling sequence
 *
 *	struct atlock_foreign_record record = { 0 };
 *	atlock_foreign_open(&foreign, "/var/lib/atlantis/atlantis.db", 0, &why);
 *	while (atlock_foreign_next(foreign, &record, &why) == 0)
 *		...
 *	atlock_foreign_clear(&record);
 *	atlock_foreign_close(foreign);
 *
 * One thread at a time for each source. No token or password is in a record.
 */
#ifndef ATLOCK_IMPORT_H
#define ATLOCK_IMPORT_H

#include "atlock/base.h"
#include "atlock/pull.h"

/* --- Records --- */

/* Of Atlantis; and of other systems: a lock with a lease, a waiter. */
enum atlock_foreign_kind {
	ATLOCK_FOREIGN_LOCK,
	ATLOCK_FOREIGN_PULL,
	ATLOCK_FOREIGN_GLOBAL,
	ATLOCK_FOREIGN_KINDS, /* of Atlantis */
	ATLOCK_FOREIGN_LEASE = ATLOCK_FOREIGN_KINDS,
	ATLOCK_FOREIGN_WAITER, /* `path` is its lock, `text` its priority */
	ATLOCK_FOREIGN_ALL,
};

/* One record, as Atlantis has it and as the tree has it. Zero it before first use; atlock_foreign_clear() frees its strings. */
struct atlock_foreign_record {
	enum atlock_foreign_kind kind;
	char *key;                  /* under which today's Atlantis keeps it; NULL: Atlantis has no such record */
	char *key3;                 /* of a lock: its three-part key, which Atlantis used before 0.40; else NULL */
	int form;                   /* 3: found, or to be written, under key3; 4: under key; 0: not known */
	char *value;                /* its JSON on one line; NULL with `key` */
	char path[ATLOCK_PATH_MAX]; /* below the mount: "repos/...", "global/apply", "pulls/github.com/a/b/-/7" */
	char owner[ATLOCK_OWNER_MAX + 1]; /* "": the user who imports */
	char who[ATLOCK_WHO_MAX + 1];     /* "" for a pull request */
	char *text;                       /* what to write there: key=value lines; for a pull request, projects.tsv */
	char *meta;                       /* for a pull request: its meta */
	int64_t ttl;                      /* of a lease that is written: milliseconds that are left; 0: no end */
	double score;                     /* of a waiter that is written: its place in the queue there */
	bool elsewhere;                   /* found under a key that is neither its new nor its old one */
	bool shortened;                   /* the pull request's description was too long and is left out */
};

void atlock_foreign_clear(struct atlock_foreign_record *record);

/* The key under which the record is, or is to be written. */
const char *atlock_foreign_key(const struct atlock_foreign_record *record);

/* --- Sources --- */

struct atlock_foreign;

/* The key of a lock's text that has its owner here, if an import gave it to another user than Atlantis names. */
#define ATLOCK_FOREIGN_MAPPED "imported_for"

#define ATLOCK_FOREIGN_OLDER 1U       /* of a Bolt file whose newest state is damaged, read the one before it */
#define ATLOCK_FOREIGN_BEFORE_0_25 2U /* statuses have the numbers that Atlantis used before 0.25 */
#define ATLOCK_FOREIGN_WATCH 4U /* for atlock_foreign_changed(); reads a Bolt file also while Atlantis has it open */

/*
 * Opens a Bolt file, a Redis (redis://[user:password@]host[:port][/db]), lines of atlock_foreign_line(), or the JSON of a scan of a
 * DynamoDB table; "-" for standard input. Changes nothing unless atlock_foreign_change() is called. -EBADMSG: none of these, or damaged. -EBUSY: a running
 * Atlantis has the file. -EHOSTDOWN, -EACCES, -ENOENT.
 */
int atlock_foreign_open(struct atlock_foreign **out, const char *from, unsigned int flags, struct atlock_why *why);
void atlock_foreign_close(struct atlock_foreign *foreign);

/* How many records there are; 0 if only reading them all shows it. */
uint64_t atlock_foreign_total(const struct atlock_foreign *foreign);

/* How many keys of a Redis are none of those that are understood; `names` are the first of them, "a, b". */
uint64_t atlock_foreign_others(const struct atlock_foreign *foreign, const char **names);

/* If the source is a Redis Cluster, of how many nodes the records were read: all that have slots; else 0. */
unsigned int atlock_foreign_nodes(const struct atlock_foreign *foreign);

/*
 * Reads the next record: 0, 1 after the last, 2 for one that cannot be imported (`why` names it); the next call goes on. -EAGAIN: a watched
 * file changed meanwhile, begin again and forget what was read.
 */
int atlock_foreign_next(struct atlock_foreign *foreign, struct atlock_foreign_record *record, struct atlock_why *why);

/* Begins again with the first record, as they are now. -EROFS for lines. */
int atlock_foreign_again(struct atlock_foreign *foreign, struct atlock_why *why);

/*
 * Whether something may have changed there since the last call. A Redis that sends keyspace notifications, and a Bolt file, are known
 * not to have; of all others it is true. The descriptor can be read when a notification came; -1: there are none.
 */
bool atlock_foreign_changed(struct atlock_foreign *foreign);
int atlock_foreign_watch(const struct atlock_foreign *foreign);

/*
 * How often a Redis had been told to forget everything after its records were read, and before that; -1: it does not say. If the first is
 * more than the second was at an earlier reading, records that are missing now were lost, not released.
 */
int64_t atlock_foreign_flushes(const struct atlock_foreign *foreign, int64_t *before);

/*
 * Which keys are written where a record has none yet: 3 or 4 parts, for good. Without this call, 4, unless the records read so far
 * had three parts and none had four.
 */
void atlock_foreign_keys(struct atlock_foreign *foreign, int parts);

/* The parts of the keys that were read so far: 4 if there was such a lock, else 3 if there was one, else 0. */
int atlock_foreign_parts(const struct atlock_foreign *foreign);

/*
 * Reads what is there of the record now: 0 and a malloc'ed `*value`, or 1 (nothing). Both keys of a lock are tried; record->form says
 * which it was, or which is to be written. -EROFS unless the source is a Redis.
 */
int atlock_foreign_get(struct atlock_foreign *foreign, struct atlock_foreign_record *record, char **value,
		       struct atlock_why *why);

/*
 * Writes `value` at the record's key, or deletes the key (NULL), if its value is still `old` byte by byte (NULL: absent, under both
 * keys of a lock). 1, with nothing changed, if it is not. -EROFS unless the source is a Redis.
 */
int atlock_foreign_change(struct atlock_foreign *foreign, struct atlock_foreign_record *record, const char *old,
			  const char *value, struct atlock_why *why);

/* Adds a waiter that atlock_foreign_enhanced() made to its queue: 0, or 1 if it is there already. -EROFS unless the source is a Redis. */
int atlock_foreign_enqueue(struct atlock_foreign *foreign, const struct atlock_foreign_record *record,
			   struct atlock_why *why);

/*
 * Makes a new Bolt file with these records, those without a key left out, for Atlantis to start with. -EEXIST: there is such a file, or
 * two records have one key; `why` says which.
 */
int atlock_foreign_bolt(const char *path, struct atlock_foreign_record *const *records, size_t count,
			struct atlock_why *why);

/* --- From the tree --- */

/*
 * Makes the record of a line of locks.jsonl. 1: Atlantis has no such record: a waiter, a lock of custom/, one held for no pull
 * request. Path, owner and who are filled in for every lock.
 */
int atlock_foreign_from_lock(const char *line, size_t len, struct atlock_foreign_record *record,
			     struct atlock_why *why);

/* Makes the enhanced manager's record of such a line, also a waiter's, to be written. 1: it has none: no lock of repos/ or global/. */
int atlock_foreign_enhanced(const char *line, size_t len, struct atlock_foreign_record *record, struct atlock_why *why);

/* Makes the record of a pull request from its path and the texts of head, meta and projects.tsv. 1: all three are empty. */
int atlock_foreign_from_pull(const char *path, const char *head, const char *meta, const char *projects,
			     struct atlock_foreign_record *record, struct atlock_why *why);

/* A record as a line of JSON without newline: {"bucket":...,"key":...,"value":...}. malloc'ed, or NULL. */
char *atlock_foreign_line(const struct atlock_foreign_record *record);

/* Compares two values as Atlantis reads them: a missing field is zero, tokens do not count. 0, or 1 and a text that says where. */
int atlock_foreign_compare(const char *a, const char *b, char *difference, size_t len);

/* --- Atlantis' key of a pull request, "host::repo::num" --- */

/* Writes it (-EINVAL; -ERANGE if `len` bytes are too few), and reads it (-EINVAL). */
int atlock_legacy_pull_key(const struct atlock_pull *pull, char *out, size_t len);
int atlock_legacy_pull_parse(const char *key, struct atlock_pull *out, struct atlock_why *why);

#endif
