/* Leftovers, that is claims and references that do not match: finds and repairs them. */
#include <errno.h>
#include <string.h>

#include "atlock/manual.h"
#include "event_log.h"
#include "owners_claim.h"
#include "scan.h"

/* The state of a URL as it is and as it should be. */
struct audit {
	struct record_claim claim; /* as it should be */
	struct record_claim found; /* as it is, if there is one */
	bool claimed;
	uint64_t references; /* of the owner */
	uint64_t strays;     /* of others */
};

static bool audit_agrees(const struct audit *audit)
{
	return audit->strays == 0 && audit->claimed == (audit->references > 0) &&
	       (!audit->claimed || (audit->found.applications == audit->claim.applications &&
				    audit->found.credentials == audit->claim.credentials));
}

/* Counts one reference; with `fix`, removes it if it belongs to another owner. */
static int audit_reference(struct op *op, struct audit *audit, struct slice key, struct slice value, bool fix)
{
	struct record_reference record;
	struct reference_key parts = { .type = ATLOCK_APPLICATIONS };
	int rc = record_decode(RECORD_REFERENCE, value, &record);

	if (rc == 0)
		rc = owners_key_split(key, &parts);
	if (rc < 0)
		return op_corrupt(op, key, rc);
	if (audit->claim.owner.len == 0)
		audit->claim = (struct record_claim){
			.uid = record.uid, .gid = record.gid, .since = record.since, .owner = record.owner
		};
	if (!slice_equal(record.owner, audit->claim.owner)) {
		audit->strays++;
		return fix ? store_del(op->txn, key) : 0;
	}
	audit->references++;
	++*owners_count(&audit->claim, parts.type);
	return 0;
}

static int audit_url(struct op *op, struct slice url, struct audit *audit, bool fix)
{
	struct record_key prefix = record_key_references(url);
	struct scan scan = scan_prefix(&prefix);
	int rc = owners_claim_get(op, url, &audit->found);

	if (rc < 0)
		return rc;
	audit->claimed = rc == 0;
	audit->claim = audit->claimed ? audit->found : (struct record_claim){ .uid = 0 };
	audit->claim.applications = audit->claim.credentials = 0;
	audit->references = audit->strays = 0;
	while ((rc = scan_next(op, &scan)) == 0) {
		rc = audit_reference(op, audit, scan.key, scan.value, fix);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

int owners_mend_url(struct op *op, struct slice url)
{
	struct record_key key = record_key_of(TABLE_CLAIM, url);
	const struct reference_key about = { .url = url };
	char path[OWNERS_PATH_MAX];
	struct audit audit;
	int rc = audit_url(op, url, &audit, true);

	if (rc < 0 || audit_agrees(&audit))
		return rc;
	if (audit.references == 0)
		rc = store_del(op->txn, record_key_slice(&key));
	else
		rc = op_put(op, RECORD_CLAIM, &key, &audit.claim);
	if (rc < 0)
		return rc;
	owners_path_print(&about, path);
	rc = event_owned(op, ATLOCK_EVENT_OWNERS_SWEPT, audit.claim.owner, path);
	return rc < 0 ? rc : 1;
}

/* --- Finding them --- */

/* Walks over the URLs of one of the tables. */
struct walk {
	enum record_table table;
	struct record_key from;
	struct slice url;
	bool damaged; /* its record cannot be read */
	struct audit audit;
};

static void walk_start(struct walk *walk, enum record_table table)
{
	walk->table = table;
	walk->from = record_key_of(table, (struct slice){ NULL, 0 });
}

/* Reads the URL from a key. One seek skips all references of a URL. */
static int walk_url(struct walk *walk, struct slice key)
{
	struct reference_key parts = { .type = ATLOCK_APPLICATIONS };
	struct record_key prefix;
	int rc;

	walk->from = record_key_after(key);
	walk->url = (struct slice){ (const char *)key.data + 1, key.len - 1 };
	if (walk->table == TABLE_CLAIM)
		return walk->url.len > 0 && walk->url.len <= ATLOCK_URL_MAX ? 0 : -EBADMSG;
	rc = owners_key_split(key, &parts);
	if (rc < 0)
		return rc;
	prefix = record_key_references(parts.url);
	walk->from = record_key_after_prefix(record_key_slice(&prefix));
	walk->url = parts.url;
	return 0;
}

/* Moves to the next URL: 0 or 1 (no more). */
static int walk_next(struct op *op, struct walk *walk)
{
	const unsigned char first = (unsigned char)walk->table;
	struct slice key;
	int rc = store_next(op->txn, record_key_slice(&walk->from), (struct slice){ &first, 1 }, &key, NULL);

	if (rc != 0)
		return rc;
	rc = walk_url(walk, key);
	if (rc == 0)
		rc = audit_url(op, walk->url, &walk->audit, false);
	walk->damaged = rc == -EBADMSG || rc == -EIO;
	return walk->damaged ? 0 : rc;
}

struct sweep {
	struct walk walk;
	bool damaged; /* a damaged record was skipped */
	size_t len;   /* of the URL that was found */
	char url[ATLOCK_URL_MAX];
};

/* Moves to the next URL with a leftover: 0 or 1 (no more). */
static int sweep_find(struct op *op)
{
	struct sweep *sweep = op->arg;
	struct walk *walk = &sweep->walk;
	int rc;

	while ((rc = walk_next(op, walk)) == 0) {
		sweep->damaged = sweep->damaged || walk->damaged;
		if (walk->damaged || audit_agrees(&walk->audit))
			continue;
		memcpy(sweep->url, walk->url.data, walk->url.len);
		sweep->len = walk->url.len;
		return 0;
	}
	return rc;
}

static int sweep_fix(struct op *op)
{
	const struct sweep *sweep = op->arg;

	return owners_mend_url(op, (struct slice){ sweep->url, sweep->len });
}

static int sweep_table(struct atlock *al, enum record_table table, struct sweep *sweep)
{
	int count = 0;
	int rc;

	walk_start(&sweep->walk, table);
	do {
		rc = op_look(al, sweep_find, sweep, NULL);
		if (rc != 0)
			break;
		rc = op_call(al, NULL, METRICS_NONE, sweep_fix, sweep, NULL);
		count += rc > 0;
	} while (rc >= 0);
	atomic_fetch_add_explicit(&al->owners_swept, (uint64_t)count, memory_order_relaxed);
	return rc < 0 ? rc : count;
}

int atlock_run_owners(struct atlock *al)
{
	struct sweep sweep = { .damaged = false };
	int claims;
	int references;

	if (al == NULL)
		return -EINVAL;
	claims = sweep_table(al, TABLE_CLAIM, &sweep);
	references = claims < 0 ? claims : sweep_table(al, TABLE_REFERENCE, &sweep);
	if (references < 0)
		return references;
	return sweep.damaged ? -EIO : claims + references;
}
