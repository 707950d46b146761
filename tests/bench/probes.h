/*
 * The probes, by file. Each measures what its row of the table says and exits if it cannot; it runs in a process of its own.
 */
#ifndef BENCH_PROBES_H
#define BENCH_PROBES_H

#include "goals.h"

/* probe_rate.c: cycles a second of some processes; pairs of durable commits; the peers' cycles. */
void probe_cycle(const struct probe *probe, double *out);
void probe_lmdb(const struct probe *probe, double *out);
void probe_redis(const struct probe *probe, double *out);
void probe_etcd(const struct probe *probe, double *out);

/* probe_shell.c: rounds a second of a script in sh, which stands in the place's directory. */
void probe_shell(const struct probe *probe, double *out);

/* probe_hand.c: one request and its answer; from a release to the waiter's return, median and 99th percentile. */
void probe_trip(const struct probe *probe, double *out);
void probe_hand(const struct probe *probe, double *out);

/* probe_read.c: reading a file; listing a directory. Both need read_prepare() before. */
void read_prepare(enum place place);
void probe_cat(const struct probe *probe, double *out);
void probe_ls(const struct probe *probe, double *out);

/* probe_growth.c: mount, cycle and memory of a store; its size; both with held_prepare() for the one with all the locks. */
void held_prepare(void);
void probe_store(const struct probe *probe, double *out);
void probe_bytes(const struct probe *probe, double *out);

/* A release that hands over, with one waiter and with many; joining a queue, and the deadlock check's part in it. */
void probe_grant(const struct probe *probe, double *out);
void probe_join(const struct probe *probe, double *out);

/* probe_memory.c: bytes for each parked waiter; for each lock taken through the mount, with what the kernel remembers. */
void probe_parked(const struct probe *probe, double *out);
void probe_cached(const struct probe *probe, double *out);

#endif
