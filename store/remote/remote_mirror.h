/*
 * The mirror: what the realm has, as of one revision, in an LMDB environment of this host. Reads and update functions run on it. It is a
 * cache: it is not synced, and is filled again from the engine when it cannot be continued.
 *
 *	mirror_open()
 *	mirror_fill_begin(), mirror_fill(), mirror_fill_end()   from a scan
 *	mirror_apply()                                          each entry of the history, in order
 *	mirror_view()                                           from any thread
 *	mirror_close()
 *
 * A mirror that is being filled is not whole: views of it fail with -EHOSTDOWN.
 *
 * In LMDB a value is the key's version (8, little-endian) and what the realm has, in this host's form (struct store_share); local keys have
 * version 0. Keys that begin with a NUL are the mirror's own.
 */
#ifndef STORE_REMOTE_MIRROR_H
#define STORE_REMOTE_MIRROR_H

#include "remote_adapter.h"
#include "store_types.h"
#include "txn.h"

struct mirror;

/* Who this host is in the realm; kept in the mirror's directory, on disk. */
struct mirror_host {
	uint16_t chain;
	uint64_t incarnation; /* 0: the host has no chain yet */
};

int mirror_open(struct mirror **out, const char *dir, const struct store_options *options, char *why, size_t whylen);
void mirror_close(struct mirror *mirror);

/* Where it is; revision 0 if it is empty. */
struct remote_at mirror_at(struct mirror *mirror);

/* The realm that it is a mirror of: 0, or 1 if of none yet. */
int mirror_id(struct mirror *mirror, unsigned char id[static REMOTE_ID]);

/* True if it was filled in another boot of this host, whose clock said other things: it must be filled again. */
bool mirror_is_old(const struct mirror *mirror);

/* The epoch that its place belongs to, which entries do not name. */
int mirror_set_epoch(struct mirror *mirror, uint64_t epoch);

int mirror_host(struct mirror *mirror, struct mirror_host *out);
int mirror_set_host(struct mirror *mirror, const struct mirror_host *host);

/*
 * Runs `fn` with a transaction of LMDB's, for the functions below; `*at` is the place in the history that it sees. -EHOSTDOWN if the mirror
 * is not whole.
 */
int mirror_view(struct mirror *mirror, store_fn *fn, void *arg, struct remote_at *at);

/* As the functions of a txn_source. `version` may be NULL; it is 0 if the key is absent. */
int mirror_get(struct store_txn *txn, struct slice key, struct slice *value, uint64_t *version);
int mirror_next(struct store_txn *txn, struct slice from, struct slice prefix, struct slice *key, struct slice *value);

/* When an entry was committed, by this host's clock: see struct store_arrival. */
struct mirror_when {
	bool own;
	int64_t before;
	int64_t seen;
};

/*
 * Applies an entry: 0, 1 if the mirror has it already, -ESTALE if it does not follow what the mirror has (an entry between them is missing,
 * or the mirror has another history).
 */
int mirror_apply(struct mirror *mirror, struct slice entry, const struct mirror_when *when);

/*
 * Empties it, and puts keys into it. It then is at `at`, where the history ended before the scan began; it is whole once all entries have
 * been applied that were there when the scan ended. Keys that the scan found in a later version keep it.
 */
int mirror_fill_begin(struct mirror *mirror, const unsigned char id[static REMOTE_ID]);
int mirror_fill(struct mirror *mirror, struct slice key, uint64_t version, struct slice value, int64_t now);
int mirror_fill_end(struct mirror *mirror, const struct remote_at *at);
int mirror_fill_whole(struct mirror *mirror);

/*
 * Calls `each` with the newest entries, oldest first, that follow the entry with this tag. No lock is held
 * meanwhile: `each` may ask the engine. 0, what `each` returned, or -ENODATA if they are
 * not all kept any more, or the mirror does not have that history.
 */
int mirror_since(struct mirror *mirror, uint64_t tag, remote_entry_fn *each, void *arg);

#endif
