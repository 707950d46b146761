/* Owners of Git URLs, and the references that keep them. */
#include <errno.h>
#include <string.h>

#include "fsck.h"
#include "owners_claim.h"
#include "scan.h"

static bool is_one_spelling(struct slice url)
{
	char text[ATLOCK_URL_MAX + 1];
	char spelled[ATLOCK_URL_MAX + 1];

	if (url.len == 0 || url.len > ATLOCK_URL_MAX)
		return false;
	memcpy(text, url.data, url.len);
	text[url.len] = '\0';
	return atlock_url_normalise(text, spelled, NULL) == 0 && strcmp(spelled, text) == 0;
}

static struct record_claim claim_from(const struct record_reference *record)
{
	return (struct record_claim){
		.uid = record->uid, .gid = record->gid, .since = record->since, .owner = record->owner
	};
}

/* The owner of a URL, from its claim or else from the first readable reference: 0, or 1 if there is neither. */
static int owner_find(struct fsck *fsck, struct slice url, struct record_claim *out)
{
	struct record_key at = record_key_of(TABLE_CLAIM, url);
	struct record_key prefix = record_key_references(url);
	struct record_key from = prefix;
	struct record_reference record;
	struct slice key;
	struct slice value;
	int rc = fsck_get(fsck, RECORD_CLAIM, &at, out);

	while (rc == 1) {
		rc = store_next(fsck->op->txn, record_key_slice(&from), record_key_slice(&prefix), &key, &value);
		if (rc != 0)
			return rc;
		from = record_key_after(key);
		rc = fsck_decode(fsck, RECORD_REFERENCE, key, value, &record);
		if (rc == 0)
			*out = claim_from(&record);
	}
	return rc;
}

/* A damaged reference stays as one of the URL's owner, so that the URL is not freed. */
static int reference_mend(struct fsck *fsck, struct slice key, struct slice url)
{
	struct record_key at = { .len = key.len };
	struct record_reference record;
	struct record_claim claim;
	int rc = owner_find(fsck, url, &claim);

	if (rc != 0)
		return rc < 0 ? rc : fsck_drop(fsck, key, "the reference's record is damaged");
	fsck_problem(fsck, key, "the reference's record is damaged", "it is that of the URL's owner");
	if (!fsck->fix)
		return 0;
	record = (struct record_reference){
		.uid = claim.uid, .gid = claim.gid, .since = claim.since, .owner = claim.owner
	};
	memcpy(at.data, key.data, key.len);
	return op_put(fsck->op, RECORD_REFERENCE, &at, &record);
}

static int reference_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct reference_key parts = { .type = ATLOCK_APPLICATIONS };
	struct record_reference record;
	int rc;

	if (owners_key_split(key, &parts) < 0)
		return fsck_drop(fsck, key, "the reference's key is damaged");
	if (!is_one_spelling(parts.url))
		return fsck_drop(fsck, key, "is not the one spelling of a URL");
	rc = fsck_decode(fsck, RECORD_REFERENCE, key, value, &record);
	return rc == 1 ? reference_mend(fsck, key, parts.url) : rc;
}

static int claim_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_claim record;
	int rc;

	if (!is_one_spelling(fsck_rest(key)))
		return fsck_drop(fsck, key, "is not the one spelling of a URL");
	rc = fsck_decode(fsck, RECORD_CLAIM, key, value, &record);
	return rc == 1 ? fsck_drop(fsck, key, "the claim's record is damaged") : rc;
}

/* Every reference must belong to the URL's owner. Without a claim, that is the owner of the first reference. */
static int reference_agree(struct fsck *fsck, struct slice key, struct slice value)
{
	struct reference_key parts = { .type = ATLOCK_APPLICATIONS };
	struct record_reference record;
	struct record_claim claim;
	struct record_key at;
	int rc;

	if (owners_key_split(key, &parts) < 0 || record_decode(RECORD_REFERENCE, value, &record) < 0)
		return 0;
	at = record_key_of(TABLE_CLAIM, parts.url);
	rc = fsck_get(fsck, RECORD_CLAIM, &at, &claim);
	if (rc == 1) {
		fsck_problem(fsck, key, "a reference to a URL without an owner", "its owner has the URL again");
		claim = claim_from(&record);
		return fsck->fix ? op_put(fsck->op, RECORD_CLAIM, &at, &claim) : 0;
	}
	if (rc == 0 && !slice_equal(claim.owner, record.owner))
		return fsck_drop(fsck, key, "a reference of another than the URL's owner");
	return rc;
}

static int references_count(struct fsck *fsck, struct slice url, struct record_claim *claim)
{
	struct record_key prefix = record_key_references(url);
	struct scan scan = scan_prefix(&prefix);
	struct reference_key parts = { .type = ATLOCK_APPLICATIONS };
	int rc;

	claim->applications = claim->credentials = 0;
	while ((rc = scan_next(fsck->op, &scan)) == 0) {
		if (owners_key_split(scan.key, &parts) == 0)
			++*owners_count(claim, parts.type);
	}
	return rc < 0 ? rc : 0;
}

static int claim_agree(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_key at = record_key_of(TABLE_CLAIM, fsck_rest(key));
	struct record_claim found;
	struct record_claim right;
	int rc;

	if (record_decode(RECORD_CLAIM, value, &found) < 0)
		return 0;
	right = found;
	rc = references_count(fsck, fsck_rest(key), &right);
	if (rc < 0)
		return rc;
	if (right.applications + right.credentials == 0)
		return fsck_drop(fsck, key, "a claim without references");
	if (right.applications == found.applications && right.credentials == found.credentials)
		return 0;
	fsck_problem(fsck, key, "the number of references is wrong", "counted anew");
	return fsck->fix ? op_put(fsck->op, RECORD_CLAIM, &at, &right) : 0;
}

int fsck_owners(struct fsck *fsck)
{
	int rc = fsck_table(fsck, TABLE_REFERENCE, reference_one);

	if (rc == 0)
		rc = fsck_table(fsck, TABLE_CLAIM, claim_one);
	if (rc == 0)
		rc = fsck_table(fsck, TABLE_REFERENCE, reference_agree);
	return rc == 0 ? fsck_table(fsck, TABLE_CLAIM, claim_agree) : rc;
}
