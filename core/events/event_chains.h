/*
 * The chains of a store: one of its own for each host that writes to it, and number 0 where there is one host only. A host appends to its
 * own chain and reads all. Private to core/; runs inside an operation's transaction.
 */
#ifndef CORE_EVENT_CHAINS_H
#define CORE_EVENT_CHAINS_H

#include "event_day.h"
#include "event_log.h"

/* Looks whether there is more than one chain, and sets al->chains. */
int event_chains_look(struct atlock *al, struct atlock_why *why);

/* The first chain with a number >= `*chain`, and its end: 0 or 1 (there is none). Sets `*chain` to its number. */
int event_chain_next(struct op *op, uint16_t *chain, struct record_tail *tail);

/* The first event of a chain with a number >= `seq`, and where its record is: 0 or 1. */
int event_chain_first(struct op *op, uint16_t chain, uint64_t *seq, struct slice *value);

#endif
