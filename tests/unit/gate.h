/*
 * A gate in front of the disk: fdatasync() and fallocate() of a program that uses this are its own, for LMDB too. Syncs of the
 * store's main file on other threads than the first wait while it is shut. So LMDB can be stopped while it is given what the
 * log has; or the same for blocks that are allocated.
 *
 *	gate_set(path of data.mdb)
 *	gate_shut(); ... gate_await(); ... gate_open();
 */
#ifndef UNIT_GATE_H
#define UNIT_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Which file it stands in front of; open, and sound. */
void gate_set(const char *path);

void gate_shut(void);
void gate_shut_blocks(void); /* for blocks, not for syncs */
void gate_open(void);

/* Waits until somebody waits at the gate. And whether somebody does. */
void gate_await(void);
bool gate_is_waited_at(void);

/* From now on syncs of the file fail, on whatever thread; or no more. */
void gate_fail(bool fail);

/* Number of the newest transaction that the file has. */
uint64_t gate_newest(void);

/* Waits until it has a newer one than that. */
void gate_await_newer(uint64_t than);

#endif
