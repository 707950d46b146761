/*
 * A realm in memory, and adapters to it: what a shared engine does, with the faults that a test asks for. Several hosts of one process open
 * it, each with an adapter of its own.
 *
 *	struct mem_realm *realm = mem_realm_new();
 *	mem_realm_create(realm);
 *	remote_open(&engine, mem_realm_adapter(realm, &faults), ...);
 *	faults.lose_reply_in = 1;       the next commit is applied and its answer lost
 *
 * One mutex guards the realm. Faults are set while no call of that host runs.
 */
#ifndef TESTS_MEM_REALM_H
#define TESTS_MEM_REALM_H

#include "remote_adapter.h"

struct mem_realm;

/* Of one host. A number counts its commits from now: 1 is the next, 0 none. */
struct mem_line_faults {
	unsigned int lose_request_in; /* it is not applied, which the host cannot know */
	unsigned int lose_reply_in;   /* it is applied, which the host cannot know */
	unsigned int delay_in;        /* it is kept for mem_realm_deliver(); the host does not know */
	unsigned int duplicate_in;    /* it is applied, its answer lost, and it is kept for mem_realm_deliver() */
	bool cut;                     /* no request reaches the realm */
	bool full;                    /* commits that write are refused: out of memory */
	/* Called before each commit, with no lock held: another host may come between. */
	void (*before_commit)(void *arg);
	void *before_arg;
	unsigned int commits; /* that were applied */
	unsigned int barriers;
};

struct mem_realm *mem_realm_new(void);
void mem_realm_free(struct mem_realm *realm);

/* What `atlock realm create` would do. */
void mem_realm_create(struct mem_realm *realm);

struct remote_adapter *mem_realm_adapter(struct mem_realm *realm, struct mem_line_faults *faults);

/* The server is another process from now on, which lacks the newest `lost` entries. */
void mem_realm_restart(struct mem_realm *realm, size_t lost);

/* The same process lacks them. */
void mem_realm_rollback(struct mem_realm *realm, size_t lost);

/* FLUSHALL. */
void mem_realm_flush(struct mem_realm *realm);

/* Of the history, only the newest `kept` entries can be read. */
void mem_realm_trim(struct mem_realm *realm, size_t kept);

/* Requests that were kept arrive now. Returns how many of them applied something. */
size_t mem_realm_deliver(struct mem_realm *realm);

struct remote_at mem_realm_at(struct mem_realm *realm);

#endif
