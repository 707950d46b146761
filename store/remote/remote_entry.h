/*
 * The bytes of one entry of a realm's history: what a commit wrote.
 *
 *	revision (8)   tag (8)   tag of the entry before (8)   writes
 *
 * and each write is
 *
 *	length of the key (2)   length of the value (4), all ones: the key is removed   key   value
 *
 * Numbers are little-endian. A key may be written twice: the later write counts.
 */
#ifndef STORE_REMOTE_ENTRY_H
#define STORE_REMOTE_ENTRY_H

#include "writes.h"

#include <stdbool.h>
#include <stdint.h>

#define ENTRY_HEAD 24

struct entry_head {
	uint64_t revision;
	uint64_t tag;
	uint64_t before;
};

/* Bytes that a write takes, and putting it at `at`; returns where the next one goes. */
size_t entry_write_size(const struct txn_write *write);
unsigned char *entry_write_put(unsigned char *at, const struct txn_write *write);

/* ENTRY_HEAD bytes. */
unsigned char *entry_head_put(unsigned char *at, const struct entry_head *head);

/* Takes the head from the beginning of `entry`, which then has the writes. False: too short. */
bool entry_head_take(struct slice *entry, struct entry_head *out);

/* Takes one write: 0, 1 (there is none left), -EBADMSG. Its slices point into the entry. */
int entry_write_take(struct slice *entry, struct txn_write *out);

#endif
