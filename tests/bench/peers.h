/*
 * Redis and etcd, started for the run with the durability of a lock: both answer when the write is on the disk.
 */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <stdbool.h>

#include "procs.h"

/* Whether their programs are installed. */
bool peers_there(void);

/* Starts both below `run.dir`, waits until they answer and sets their ports in `run`. They die with the caller. */
void peers_start(void);
void peers_stop(void);

/* Put if absent and delete if it is still ours, over one connection that is kept. */
struct peer {
	unsigned int port;
	void *connection;
	char key[32];
	char words[4][512]; /* what is said again and again: the peer's own affair */
};

/* Over a struct peer with its port set. */
extern const struct work work_redis;
extern const struct work work_etcd;

#endif
