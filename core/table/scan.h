/*
 * Every key that begins with a prefix, in order, inside an operation's transaction. Private to core/.
 *
 *	struct scan scan = scan_table(TABLE_LOCK);
 *	while ((rc = scan_record(op, &scan, RECORD_LOCK, &record)) == 0)
 *		...			scan.key and scan.value, which stay valid as long as the transaction
 *	return rc < 0 ? rc : 0;
 *
 * A key that is written during the scan is found if it is ahead.
 */
#ifndef CORE_SCAN_H
#define CORE_SCAN_H

#include "op.h"

struct scan {
	struct record_key prefix;
	struct record_key from; /* where to look for the next */
	struct slice key;
	struct slice value;
};

struct scan scan_table(enum record_table table);
struct scan scan_prefix(const struct record_key *prefix);

/* Starts after this key instead of at the first. */
void scan_after(struct scan *scan, const struct record_key *last);

/* The next key and its value: 0 or 1 (no more). */
int scan_next(struct op *op, struct scan *scan);

/* The same, decoded; -EIO, explained, for an unreadable record. */
int scan_record(struct op *op, struct scan *scan, enum record_kind kind, void *record);

/* The part of the key after the prefix; the part after the table byte. */
struct slice scan_rest(const struct scan *scan);
struct slice scan_name(const struct scan *scan);

#endif
