/* owners/ for readers: the owner of a URL, one reference, the entries of a directory. */
#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "child_walk.h"
#include "owners_claim.h"
#include "place.h"
#include "text.h"

struct owners_read {
	const char *url;
	const struct atlock_owners_path *path;
	struct atlock_ownership *ownership;
	struct atlock_reference *reference;
	struct atlock_place *place;
	atlock_owners_fn *fn;
	void *arg;
};

static void text_copy(char *out, size_t size, struct slice text)
{
	size_t len = text.len < size ? text.len : size - 1;

	if (len > 0)
		memcpy(out, text.data, len);
	out[len] = '\0';
}

static int ownership_in_txn(struct op *op)
{
	const struct owners_read *read = op->arg;
	struct atlock_ownership *out = read->ownership;
	struct record_claim claim;
	int rc = owners_claim_get(op, slice_of(read->url), &claim);

	if (rc != 0)
		return rc;
	*out = (struct atlock_ownership){ .uid = claim.uid, .gid = claim.gid, .since = claim.since };
	(void)strlcpy(out->url, read->url, sizeof(out->url));
	text_copy(out->owner, sizeof(out->owner), claim.owner);
	for (int i = 0; i < ATLOCK_REFERENCE_TYPES; i++)
		out->references[i] = *owners_count(&claim, (enum atlock_reference_type)i);
	return 0;
}

int atlock_ownership_get(struct atlock *al, const char *url, struct atlock_ownership *out)
{
	struct owners_read read = { .url = url, .ownership = out };

	if (al == NULL || url == NULL || out == NULL)
		return -EINVAL;
	return op_look(al, ownership_in_txn, &read, NULL);
}

static int reference_in_txn(struct op *op)
{
	const struct owners_read *read = op->arg;
	const struct atlock_owners_path *path = read->path;
	struct atlock_reference *out = read->reference;
	struct record_key key = record_key_reference(slice_of(path->url), owners_type_byte(path->type),
						     slice_of(path->id));
	struct record_reference record;
	int rc = op_get(op, RECORD_REFERENCE, &key, &record);

	if (rc != 0)
		return rc;
	*out = (struct atlock_reference){
		.path = *path, .uid = record.uid, .gid = record.gid, .pid = (pid_t)record.pid, .since = record.since
	};
	text_copy(out->owner, sizeof(out->owner), record.owner);
	text_copy(out->host, sizeof(out->host), record.host);
	return 0;
}

int atlock_reference_get(struct atlock *al, const struct atlock_owners_path *path, struct atlock_reference *out)
{
	struct owners_read read = { .path = path, .reference = out };

	if (al == NULL || path == NULL || out == NULL || path->kind != ATLOCK_OWNERS_REFERENCE)
		return -EINVAL;
	return op_look(al, reference_in_txn, &read, NULL);
}

/* --- Directories --- */

/* Parts of places: "-" before the longer URLs; inside "-" the types, one part each, before "owner". */
#define PART_DASH '-'
#define PART_TYPE '1'
#define PART_OWNER '9'

static int list_show(const struct owners_read *read, const char *component, bool directory)
{
	return read->fn(read->arg, component, directory);
}

/*
 * Shows the next component of longer URLs, once: the walk yields a component twice if it is a URL and also leads to longer ones.
 */
static int list_child(struct op *op, const struct owners_read *read, const struct child_walk *child)
{
	struct slice own = { child->key.data, child->prefix.len + strlen(child->component) };
	struct slice value;
	int rc = child->directory ? store_get(op->txn, own, &value) : 1;

	if (rc < 0)
		return rc;
	return rc == 0 ? 0 : list_show(read, child->component, true);
}

/* Lists the directory of a URL: "-" if it has an owner, and the components of longer URLs. */
static int list_dir(struct op *op, const struct owners_read *read)
{
	const struct atlock_owners_path *path = read->path;
	struct record_key prefix = record_key_of(TABLE_CLAIM, slice_of(path->prefix));
	struct record_claim claim;
	struct child_walk child;
	int rc = 1;

	if (path->prefix[0] != '\0')
		prefix.data[prefix.len++] = '/';
	child_walk_start(&child, &prefix, read->place);
	if (path->url[0] != '\0' && place_part(read->place) == 0)
		rc = owners_claim_get(op, slice_of(path->url), &claim);
	if (rc == 0) {
		place_set(read->place, PART_DASH, (struct slice){ NULL, 0 });
		rc = list_show(read, "-", true);
	} else if (rc == 1) {
		rc = 0;
	}
	while (rc == 0 && (rc = child_walk_next(op, &child)) == 0)
		rc = list_child(op, read, &child);
	return rc;
}

/* Directories first: `rm -rf` then removes the file owner last, when the claim is gone. */
static int list_url(struct op *op, const struct owners_read *read)
{
	struct record_claim claim;
	unsigned char shown = place_part(read->place);
	int rc = owners_claim_get(op, slice_of(read->path->url), &claim);

	for (int i = 0; rc == 0 && i < ATLOCK_REFERENCE_TYPES; i++) {
		enum atlock_reference_type type = (enum atlock_reference_type)i;

		if (PART_TYPE + i <= shown || *owners_count(&claim, type) == 0)
			continue;
		place_set(read->place, (unsigned char)(PART_TYPE + i), (struct slice){ NULL, 0 });
		rc = list_show(read, owners_type_name(type), true);
	}
	if (rc != 0 || shown == PART_OWNER)
		return rc;
	place_set(read->place, PART_OWNER, (struct slice){ NULL, 0 });
	return list_show(read, "owner", false);
}

static int list_type(struct op *op, const struct owners_read *read)
{
	const struct atlock_owners_path *path = read->path;
	struct record_key prefix = record_key_reference(slice_of(path->url), owners_type_byte(path->type),
							slice_of(""));
	struct child_walk child;
	int rc = 0;

	child_walk_start(&child, &prefix, read->place);
	while (rc == 0 && (rc = child_walk_next(op, &child)) == 0)
		rc = list_show(read, child.component, false);
	return rc;
}

static int list_in_txn(struct op *op)
{
	static int (*const lists[])(struct op *, const struct owners_read *) = {
		[ATLOCK_OWNERS_DIR] = list_dir,
		[ATLOCK_OWNERS_URL] = list_url,
		[ATLOCK_OWNERS_TYPE] = list_type,
		[ATLOCK_OWNERS_REFERENCE] = NULL,
	};
	const struct owners_read *read = op->arg;

	return lists[read->path->kind] == NULL ? -ENOTDIR : lists[read->path->kind](op, read);
}

int atlock_owners_list(struct atlock *al, const struct atlock_owners_path *path, struct atlock_place *place,
		       atlock_owners_fn *fn, void *arg)
{
	struct owners_read read = { .path = path, .place = place, .fn = fn, .arg = arg };
	int rc;

	if (al == NULL || path == NULL || fn == NULL)
		return -EINVAL;
	rc = op_list(al, list_in_txn, &read);
	return rc < 0 ? rc : 0;
}

/* --- Text --- */

char *atlock_ownership_text(struct atlock *al, const struct atlock_ownership *ownership, size_t *len)
{
	char since[TEXT_TIME_MAX];
	char *text = NULL;
	int n;

	atlock_instant_print(al, ownership->since, since, sizeof(since));
	n = asprintf(&text,
		     "id=owner_%" PRId64 "_%08" PRIx64 "\nurl=%s\nowner=%s\nuid=%u\nsince=%s\napplications=%" PRIu64
		     "\ncredentials=%" PRIu64 "\n",
		     ownership->since, slice_hash(SLICE_HASH, slice_of(ownership->url)) & UINT32_MAX, ownership->url,
		     ownership->owner, ownership->uid, since, ownership->references[ATLOCK_APPLICATIONS],
		     ownership->references[ATLOCK_CREDENTIALS]);
	if (n < 0)
		return NULL;
	*len = (size_t)n;
	return text;
}

char *atlock_reference_text(struct atlock *al, const struct atlock_reference *reference, size_t *len)
{
	char since[TEXT_TIME_MAX];
	char *text = NULL;
	int n;

	atlock_instant_print(al, reference->since, since, sizeof(since));
	n = asprintf(&text, "url=%s\ntype=%s\nid=%s\nowner=%s\nuid=%u\nsince=%s\npid=%d\nhost=%s\n",
		     reference->path.url, owners_type_name(reference->path.type), reference->path.id, reference->owner,
		     reference->uid, since, reference->pid, reference->host);
	if (n < 0)
		return NULL;
	*len = (size_t)n;
	return text;
}
