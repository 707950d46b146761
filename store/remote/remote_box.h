/*
 * A host's own record in the realm: its box. Each commit of the host compares and writes it, and one commit of a host is under way at a
 * time. So the box says which commit was the last and which of its parts were applied; a request that arrives late finds another version
 * and does nothing; and a box that does not change for long is that of a host which is gone.
 *
 * The chain is the host's number in the realm, for ever. An incarnation is one life of it: bound locks and tickets carry both, and are void
 * when the box has a higher incarnation. A host that starts raises its own; others raise that of a host which is gone.
 */
#ifndef STORE_REMOTE_BOX_H
#define STORE_REMOTE_BOX_H

#include "remote_adapter.h"

#define BOX_NAME 64 /* longest name of a host */

struct box {
	uint64_t incarnation;
	uint64_t instance; /* random, drawn by the process that registered: tells it from a copy of its host */
	uint64_t commit;   /* number of the commit that wrote the box last, of this instance */
	uint32_t timeout;  /* ms that it may stay unchanged before the host counts as gone */
	bool gone;         /* another host has raised the incarnation, and no process has registered since */
	char name[BOX_NAME + 1];
	size_t part_count; /* of that commit */
	unsigned char applied[REMOTE_PARTS];
};

/* The key of a chain's box: "b" and the chain, big-endian. */
struct box_key {
	unsigned char bytes[3];
};

struct box_key box_key(uint16_t chain);
struct slice box_key_slice(const struct box_key *key);

/* The chain whose box has this key; -1 if it is not the key of a box. */
int box_chain(struct slice key);

/* Without the parts, which the engine appends. Returns the length. */
size_t box_encode(const struct box *box, unsigned char out[static REMOTE_BOX_MAX]);

/* With the parts; a box that another host rewrites keeps them. */
size_t box_encode_whole(const struct box *box, unsigned char out[static REMOTE_BOX_MAX]);

/* 0 or -EBADMSG. */
int box_decode(struct slice bytes, struct box *out);

#endif
