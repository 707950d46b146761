#include "scan.h"

struct scan scan_prefix(const struct record_key *prefix)
{
	return (struct scan){ .prefix = *prefix, .from = *prefix };
}

struct scan scan_table(enum record_table table)
{
	struct record_key prefix = record_key_of(table, (struct slice){ NULL, 0 });

	return scan_prefix(&prefix);
}

void scan_after(struct scan *scan, const struct record_key *last)
{
	scan->from = record_key_after(record_key_slice(last));
}

int scan_next(struct op *op, struct scan *scan)
{
	int rc = store_next(op->txn, record_key_slice(&scan->from), record_key_slice(&scan->prefix), &scan->key,
			    &scan->value);

	if (rc == 0)
		scan->from = record_key_after(scan->key);
	return rc;
}

int scan_record(struct op *op, struct scan *scan, enum record_kind kind, void *record)
{
	int rc = scan_next(op, scan);

	if (rc != 0)
		return rc;
	rc = record_decode(kind, scan->value, record);
	return rc < 0 ? op_corrupt(op, scan->key, rc) : 0;
}

static struct slice key_behind(const struct scan *scan, size_t skip)
{
	return (struct slice){ (const unsigned char *)scan->key.data + skip, scan->key.len - skip };
}

struct slice scan_rest(const struct scan *scan)
{
	return key_behind(scan, scan->prefix.len);
}

struct slice scan_name(const struct scan *scan)
{
	return key_behind(scan, 1);
}
