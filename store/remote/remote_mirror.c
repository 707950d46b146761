#include "remote_mirror.h"

#include "lmdb_store.h"
#include "remote_bytes.h"
#include "remote_entry.h"
#include "remote_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define VERSION 8
#define CHUNK ((size_t)512) /* keys of one transaction, while it is emptied or filled */
#define CHUNK_BYTES ((size_t)1024 * 1024)

static const struct slice key_state = { .data = "\0state", .len = 6 };
static const struct slice key_host = { .data = "\0host", .len = 5 };
static const unsigned char first_key[] = { 1 }; /* of the realm's */

/* What the mirror is of, and how far. */
struct state {
	unsigned char id[REMOTE_ID];
	struct remote_at at;
	bool whole;
	uint64_t boot; /* of this host, when it was filled */
};

#define STATE_LEN (REMOTE_ID + 33)

struct fill {
	unsigned char *bytes; /* writes as in an entry, with the version before each value */
	size_t len;
	size_t cap;
	size_t count;
};

struct mirror {
	struct engine *lmdb;
	const struct store_share *share; /* NULL: every key is the realm's, and its value the same everywhere */
	uint64_t boot;
	int64_t filled;       /* lock: when the newest of the keys in `fill` was read from the engine */
	pthread_mutex_t lock; /* of the rest; held while something is written */
	bool known;           /* it is of a realm */
	struct state state;
	struct ring ring;
	struct fill fill;
};

static int state_get(struct store_txn *txn, struct state *out)
{
	struct slice value;
	struct slice id;
	uint64_t whole;
	int rc = store_get(txn, key_state, &value);

	if (rc != 0)
		return rc;
	if (!bytes_take_slice(&value, REMOTE_ID, &id) || !bytes_take(&value, 8, &out->at.epoch) ||
	    !bytes_take(&value, 8, &out->at.revision) || !bytes_take(&value, 8, &out->at.tag) ||
	    !bytes_take(&value, 1, &whole))
		return -EUCLEAN;
	memcpy(out->id, id.data, id.len);
	out->whole = whole != 0;
	/* Versions before did not write it. */
	if (!bytes_take(&value, 8, &out->boot))
		out->boot = 0;
	return 0;
}

static int state_put(struct store_txn *txn, const struct state *state)
{
	unsigned char bytes[STATE_LEN];
	unsigned char *at = bytes_put_slice(bytes, (struct slice){ .data = state->id, .len = REMOTE_ID });

	at = bytes_put(at, state->at.epoch, 8);
	at = bytes_put(at, state->at.revision, 8);
	at = bytes_put(at, state->at.tag, 8);
	at = bytes_put(at, state->whole, 1);
	(void)bytes_put(at, state->boot, 8);
	return store_put(txn, key_state, (struct slice){ .data = bytes, .len = sizeof(bytes) });
}

static int open_fn(struct store_txn *txn, void *arg)
{
	struct mirror *mirror = arg;
	int rc = state_get(txn, &mirror->state);

	mirror->known = rc == 0;
	return rc < 0 ? rc : ring_load(&mirror->ring, txn);
}

static int close_fn(struct store_txn *txn, void *arg)
{
	return ring_save(&((struct mirror *)arg)->ring, txn);
}

/* Tells the boots of this host apart. With a test's clock there is one. */
static uint64_t boot_tag(const struct store_options *options)
{
	char text[64];
	int fd = options->clock != NULL ? -1 : open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text));

	if (fd >= 0)
		(void)close(fd);
	return slice_hash(SLICE_HASH, (struct slice){ .data = text, .len = len > 0 ? (size_t)len : 0 });
}

int mirror_open(struct mirror **out, const char *dir, const struct store_options *options, char *why, size_t whylen)
{
	const struct store_options lmdb = { .sync = STORE_SYNC_OFF, .owner = options->owner };
	struct mirror *mirror = calloc(1, sizeof(*mirror));

	if (mirror == NULL)
		return -ENOMEM;
	int rc = store_lmdb.open(&mirror->lmdb, dir, &lmdb, why, whylen);
	if (rc < 0) {
		free(mirror);
		return rc;
	}
	mirror->share = options->share;
	mirror->boot = boot_tag(options);
	pthread_mutex_init(&mirror->lock, NULL);
	ring_init(&mirror->ring);
	rc = store_lmdb.update(mirror->lmdb, open_fn, mirror);
	if (rc < 0) {
		ring_empty(&mirror->ring);
		mirror_close(mirror);
		return rc;
	}
	/* A crash may have come between the entries and the rest. */
	if (ring_end(&mirror->ring) != mirror->state.at.tag)
		ring_empty(&mirror->ring);
	*out = mirror;
	return 0;
}

void mirror_close(struct mirror *mirror)
{
	if (mirror == NULL)
		return;
	/* A process that was killed saves nothing, and can give nothing back. */
	(void)store_lmdb.update(mirror->lmdb, close_fn, mirror);
	store_lmdb.close(mirror->lmdb);
	ring_free(&mirror->ring);
	free(mirror->fill.bytes);
	pthread_mutex_destroy(&mirror->lock);
	free(mirror);
}

struct remote_at mirror_at(struct mirror *mirror)
{
	pthread_mutex_lock(&mirror->lock);
	struct remote_at at = mirror->state.at;
	pthread_mutex_unlock(&mirror->lock);
	return at;
}

bool mirror_is_old(const struct mirror *mirror)
{
	return mirror->state.boot != mirror->boot;
}

int mirror_id(struct mirror *mirror, unsigned char id[static REMOTE_ID])
{
	pthread_mutex_lock(&mirror->lock);
	int rc = mirror->known ? 0 : 1;
	memcpy(id, mirror->state.id, REMOTE_ID);
	pthread_mutex_unlock(&mirror->lock);
	return rc;
}

static int state_fn(struct store_txn *txn, void *arg)
{
	return state_put(txn, arg);
}

/* With the lock held: makes `next` the state. */
static int state_set(struct mirror *mirror, const struct state *next)
{
	int rc = store_lmdb.update(mirror->lmdb, state_fn, (void *)(uintptr_t)next);

	if (rc == 0) {
		mirror->state = *next;
		mirror->known = true;
	}
	return rc;
}

int mirror_set_epoch(struct mirror *mirror, uint64_t epoch)
{
	pthread_mutex_lock(&mirror->lock);
	struct state next = mirror->state;
	next.at.epoch = epoch;
	int rc = mirror->state.at.epoch == epoch ? 0 : state_set(mirror, &next);
	pthread_mutex_unlock(&mirror->lock);
	return rc;
}

static int host_fn(struct store_txn *txn, void *arg)
{
	struct mirror_host *host = arg;
	struct slice value;
	uint64_t chain;
	int rc = store_get(txn, key_host, &value);

	*host = (struct mirror_host){ .incarnation = 0 };
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (!bytes_take(&value, 2, &chain) || !bytes_take(&value, 8, &host->incarnation))
		return -EUCLEAN;
	host->chain = (uint16_t)chain;
	return 0;
}

int mirror_host(struct mirror *mirror, struct mirror_host *out)
{
	return store_lmdb.view(mirror->lmdb, host_fn, out);
}

static int set_host_fn(struct store_txn *txn, void *arg)
{
	const struct mirror_host *host = arg;
	unsigned char bytes[10];

	(void)bytes_put(bytes_put(bytes, host->chain, 2), host->incarnation, 8);
	store_txn_sync(txn);
	return store_put(txn, key_host, (struct slice){ .data = bytes, .len = sizeof(bytes) });
}

int mirror_set_host(struct mirror *mirror, const struct mirror_host *host)
{
	return store_lmdb.update(mirror->lmdb, set_host_fn, (void *)(uintptr_t)host);
}

struct view {
	store_fn *fn;
	void *arg;
	struct remote_at *at;
};

static int view_fn(struct store_txn *txn, void *arg)
{
	const struct view *view = arg;
	struct state state = { .whole = false };
	int rc = state_get(txn, &state);

	if (rc < 0)
		return rc;
	if (rc == 1 || !state.whole)
		return -EHOSTDOWN;
	*view->at = state.at;
	return view->fn(txn, view->arg);
}

int mirror_view(struct mirror *mirror, store_fn *fn, void *arg, struct remote_at *at)
{
	struct view view = { .fn = fn, .arg = arg, .at = at };

	return store_lmdb.view(mirror->lmdb, view_fn, &view);
}

/* Takes the version from before a value. */
static int value_split(struct slice *value, uint64_t *version)
{
	return bytes_take(value, VERSION, version) ? 0 : -EUCLEAN;
}

int mirror_get(struct store_txn *txn, struct slice key, struct slice *value, uint64_t *version)
{
	const unsigned char *bytes = key.data;
	uint64_t found = 0;
	int rc = key.len == 0 || bytes[0] == 0 ? 1 : store_get(txn, key, value);

	if (rc == 0)
		rc = value_split(value, &found);
	if (version != NULL)
		*version = found;
	return rc;
}

int mirror_next(struct store_txn *txn, struct slice from, struct slice prefix, struct slice *key, struct slice *value)
{
	const struct slice first = { .data = first_key, .len = sizeof(first_key) };
	struct slice found;
	uint64_t version;
	int rc = store_next(txn, slice_compare(from, first) < 0 ? first : from, prefix, key, &found);

	if (rc == 0)
		rc = value_split(&found, &version);
	if (rc == 0 && value != NULL)
		*value = found;
	return rc;
}

/* A value with its version before it. NULL: no memory. */
static unsigned char *value_join(uint64_t version, struct slice value)
{
	unsigned char *bytes = malloc(VERSION + value.len);

	if (bytes != NULL)
		(void)bytes_put_slice(bytes_put(bytes, version, VERSION), value);
	return bytes;
}

static int value_put(struct store_txn *txn, struct slice key, uint64_t version, struct slice value)
{
	if (value.data == NULL)
		return store_drop(txn, key);
	unsigned char *bytes = value_join(version, value);
	if (bytes == NULL)
		return -ENOMEM;
	int rc = store_put(txn, key, (struct slice){ .data = bytes, .len = VERSION + value.len });
	free(bytes);
	return rc;
}

struct arriving {
	struct store_arrival arrival; /* must be first: cast back */
	struct store_txn *txn;
};

static int local_get(struct store_arrival *arrival, struct slice key, struct slice *value)
{
	return mirror_get(((struct arriving *)arrival)->txn, key, value, NULL);
}

static int local_put(struct store_arrival *arrival, struct slice key, struct slice value)
{
	return value_put(((struct arriving *)arrival)->txn, key, 0, value);
}

/* A batch of writes of one entry, or of a scan. */
struct applying {
	const struct mirror *mirror;
	struct slice writes;
	const struct state *next;
	struct mirror_when when;
};

/* Makes one write, unless a scan has found the key in a later version. */
static int apply_write(struct store_txn *txn, const struct applying *applying, const struct txn_write *write,
		       uint64_t revision)
{
	const struct store_share *share = applying->mirror->share;
	unsigned char buf[STORE_SHARE_BUF];
	struct slice value = write->value;
	struct slice old = { .data = NULL, .len = 0 };
	uint64_t version;
	int rc = mirror_get(txn, write->key, &old, &version);

	if (rc < 0 || version > revision || (rc == 1 && value.data == NULL))
		return rc < 0 ? rc : 0;
	if (share == NULL)
		return value_put(txn, write->key, revision, value);
	struct arriving arriving = {
		.arrival = {
			.key = write->key,
			.old = rc == 0 ? old : (struct slice){ .data = NULL, .len = 0 },
			.new = value,
			.own = applying->when.own,
			.before = applying->when.before,
			.seen = applying->when.seen,
			.get = local_get,
			.put = local_put,
			.buf = buf,
		},
		.txn = txn,
	};
	rc = share->arrive(share->arg, &arriving.arrival, &value);
	return rc < 0 ? rc : value_put(txn, write->key, revision, value);
}

static int apply_fn(struct store_txn *txn, void *arg)
{
	const struct applying *applying = arg;
	struct slice writes = applying->writes;
	struct txn_write write;
	int rc;

	while ((rc = entry_write_take(&writes, &write)) == 0) {
		rc = apply_write(txn, applying, &write, applying->next->at.revision);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : state_put(txn, applying->next);
}

/* With the lock held. */
static int apply(struct mirror *mirror, struct slice entry, const struct mirror_when *when)
{
	struct state next = mirror->state;
	struct applying applying = { .mirror = mirror, .writes = entry, .next = &next, .when = *when };
	struct entry_head head;

	if (!entry_head_take(&applying.writes, &head))
		return -EBADMSG;
	if (head.revision <= mirror->state.at.revision)
		return 1;
	if (mirror->state.at.revision == 0 || head.before != mirror->state.at.tag)
		return -ESTALE;
	next.at.revision = head.revision;
	next.at.tag = head.tag;
	int rc = store_lmdb.update(mirror->lmdb, apply_fn, &applying);
	if (rc < 0)
		return rc;
	mirror->state = next;
	ring_add(&mirror->ring, entry);
	return 0;
}

int mirror_apply(struct mirror *mirror, struct slice entry, const struct mirror_when *when)
{
	pthread_mutex_lock(&mirror->lock);
	int rc = apply(mirror, entry, when);
	pthread_mutex_unlock(&mirror->lock);
	return rc;
}

/* Removes up to CHUNK keys of the realm; returns how many. */
static int empty_fn(struct store_txn *txn, void *arg)
{
	struct slice from = { .data = first_key, .len = sizeof(first_key) };
	struct slice key;
	int count = 0;
	int rc = 0;

	(void)arg;
	while (rc == 0 && count < (int)CHUNK) {
		rc = store_next(txn, from, slice_of(""), &key, NULL);
		if (rc == 0) {
			rc = store_drop(txn, key);
			from = key;
			count++;
		}
	}
	return rc < 0 ? rc : count;
}

int mirror_fill_begin(struct mirror *mirror, const unsigned char id[static REMOTE_ID])
{
	struct state next = { .whole = false, .boot = mirror->boot };

	memcpy(next.id, id, REMOTE_ID);
	pthread_mutex_lock(&mirror->lock);
	int rc = state_set(mirror, &next);
	for (int count = (int)CHUNK; rc == 0 && count == (int)CHUNK;) {
		count = store_lmdb.update(mirror->lmdb, empty_fn, NULL);
		rc = count < 0 ? count : 0;
	}
	ring_empty(&mirror->ring);
	mirror->fill.len = mirror->fill.count = 0;
	pthread_mutex_unlock(&mirror->lock);
	return rc;
}

static int fill_fn(struct store_txn *txn, void *arg)
{
	const struct mirror *mirror = arg;
	const struct fill *fill = &mirror->fill;
	const struct applying applying = {
		.mirror = mirror,
		.when = { .before = STORE_UNKNOWN, .seen = mirror->filled },
	};
	struct slice writes = { .data = fill->bytes, .len = fill->len };
	struct txn_write write;
	uint64_t version;
	int rc = 0;

	while (rc == 0 && entry_write_take(&writes, &write) == 0) {
		rc = value_split(&write.value, &version);
		if (rc == 0)
			rc = apply_write(txn, &applying, &write, version);
	}
	return rc;
}

static int fill_flush(struct mirror *mirror)
{
	int rc = mirror->fill.count == 0 ? 0 : store_lmdb.update(mirror->lmdb, fill_fn, mirror);

	mirror->fill.len = mirror->fill.count = 0;
	return rc;
}

static bool fill_reserve(struct fill *fill, size_t more)
{
	if (fill->len + more <= fill->cap)
		return true;
	size_t cap = fill->len + more + CHUNK_BYTES;
	unsigned char *bytes = realloc(fill->bytes, cap);
	if (bytes == NULL)
		return false;
	fill->bytes = bytes;
	fill->cap = cap;
	return true;
}

static int fill_add(struct mirror *mirror, struct slice key, uint64_t version, struct slice value)
{
	struct fill *fill = &mirror->fill;
	unsigned char *bytes = value_join(version, value);
	const struct txn_write write = { .key = key, .value = { .data = bytes, .len = VERSION + value.len } };
	int rc = -ENOMEM;

	if (bytes != NULL && fill_reserve(fill, entry_write_size(&write))) {
		(void)entry_write_put(fill->bytes + fill->len, &write);
		fill->len += entry_write_size(&write);
		fill->count++;
		rc = fill->count == CHUNK || fill->len > CHUNK_BYTES ? fill_flush(mirror) : 0;
	}
	free(bytes);
	return rc;
}

int mirror_fill(struct mirror *mirror, struct slice key, uint64_t version, struct slice value, int64_t now)
{
	pthread_mutex_lock(&mirror->lock);
	mirror->filled = now;
	int rc = fill_add(mirror, key, version, value);
	pthread_mutex_unlock(&mirror->lock);
	return rc;
}

int mirror_fill_end(struct mirror *mirror, const struct remote_at *at)
{
	pthread_mutex_lock(&mirror->lock);
	int rc = fill_flush(mirror);
	struct state next = mirror->state;
	next.at = *at;
	if (rc == 0)
		rc = state_set(mirror, &next);
	pthread_mutex_unlock(&mirror->lock);
	return rc;
}

int mirror_fill_whole(struct mirror *mirror)
{
	pthread_mutex_lock(&mirror->lock);
	struct state next = mirror->state;
	next.whole = true;
	int rc = mirror->state.whole ? 0 : state_set(mirror, &next);
	pthread_mutex_unlock(&mirror->lock);
	return rc;
}

int mirror_since(struct mirror *mirror, uint64_t tag, remote_entry_fn *each, void *arg)
{
	struct entry_head head = { .tag = tag };
	bool more = true;
	int rc = 0;

	while (more && rc == 0) {
		struct slice entry = { .len = 0 };

		pthread_mutex_lock(&mirror->lock);
		more = mirror->state.at.tag != head.tag;
		if (more)
			rc = ring_after(&mirror->ring, head.tag, &entry);
		pthread_mutex_unlock(&mirror->lock);
		if (more && rc == 0) {
			struct slice rest = entry;

			rc = entry_head_take(&rest, &head) ? each(arg, entry) : -EBADMSG;
			free((void *)(uintptr_t)entry.data);
		}
	}
	return rc;
}
