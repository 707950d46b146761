/*
 * What a transport does for store/remote: the table of functions that Redis or etcd fills in. No other file of the room knows how a request
 * travels.
 *
 * A realm is what several hosts share: an id, ordered keys with values, and a history. Each commit adds one entry to the history and has a
 * revision, which rises, and a tag, 8 random bytes. An entry names its own tag and that of the entry before it, so two hosts that have the
 * same tag have the same history up to it. The version of a key is the revision that wrote it; 0 is an absent key.
 *
 * An epoch is a stretch of history in one server process. A process that the realm has not been opened in (after a restart, a failover, a
 * restore) commits nothing: see remote_hello.h.
 *
 *	adapter->ops->hello()                       before anything else, and after each REMOTE_HELLO
 *	adapter->ops->commit(), barrier(), ...      any number of times
 *	adapter->ops->close()
 *
 * Threads: calls with different lines may come at the same time, calls with the same line do not. A line is a connection; a transport makes
 * it when it is first used, and again after an error. Every call ends within the time-out that the transport was given, and a call that
 * waits for the feed within that and its `wait`.
 *
 * Results: 0 is done; a value of enum remote_result means that nothing was applied, and why; a negative errno is a failure. Only commit()
 * may return -EINPROGRESS: the request was sent and the answer is lost, so that it may have been applied, or may still be. After any other
 * errno nothing was applied, and never will be.
 */
#ifndef STORE_REMOTE_ADAPTER_H
#define STORE_REMOTE_ADAPTER_H

#include "reads.h"
#include "writes.h"

#include <stdbool.h>
#include <stdint.h>

#define REMOTE_ID 16        /* bytes of a realm's id */
#define REMOTE_PARTS 256    /* most parts of one commit, whatever the transport allows */
#define REMOTE_BOX_MAX 1024 /* longest box, in bytes, with what a commit appends to it */
#define REMOTE_CHAINS 1024  /* most hosts that a realm has had */
#define REMOTE_TROUBLE 256

enum remote_line {
	REMOTE_LINE_COMMIT, /* of the thread that leads: commits, hello, resync */
	REMOTE_LINE_READ,   /* barriers, and catching up after them */
	REMOTE_LINE_FEED,   /* the feed's thread */
	REMOTE_LINE_TELL,   /* of the thread that publishes */
	REMOTE_LINES,
};

enum remote_result {
	REMOTE_DONE,
	REMOTE_FENCED, /* the box has another version: the reply says what is in it */
	REMOTE_HELLO,  /* the epoch is over, or the engine does not have the history that the request builds on */
};

/* A place in the history. Revision 0: nowhere. */
struct remote_at {
	uint64_t epoch;
	uint64_t revision;
	uint64_t tag;
};

/* A version in a part's compares: the key as part `i` of the same commit leaves it, which is never so if that part is not applied. */
#define REMOTE_PART_VERSION(i) (UINT64_C(1) << 63 | (uint64_t)(i))

/* One update function's compares and writes. Applied if every key has the version given; otherwise not at all. */
struct remote_part {
	const struct txn_read *compares;
	size_t compare_count;
	struct txn_write *const *writes;
	size_t write_count;
};

/*
 * The parts are decided one after the other. The box is compared first: if it has another version the commit is REMOTE_FENCED. It is
 * written with one byte for each part behind it, '1' if the part was applied and '0' if not.
 */
struct remote_commit {
	struct remote_at base; /* of the mirror that the functions ran on: must be in the engine's history */
	uint64_t tag;          /* of this commit */
	struct slice box_key;
	uint64_t box_version;
	struct slice box;
	const struct remote_part *parts;
	size_t count;

	/* If not NULL: called with entries between base and this one, oldest first, as many as come with the answer. */
	int (*missed)(void *arg, struct slice entry);
	void *missed_arg;
};

struct remote_reply {
	struct remote_at at; /* where the commit is in the history */
	unsigned char applied[REMOTE_PARTS];
	/* REMOTE_FENCED: the box as it is; version 0 if there is none. */
	uint64_t box_version;
	unsigned char box[REMOTE_BOX_MAX];
	size_t box_len;
};

/* What a host tells a server process that the realm has not been opened in: how far its mirror is. */
struct remote_report {
	uint16_t chain;
	struct remote_at base;
};

struct remote_welcome {
	unsigned char id[REMOTE_ID];
	struct remote_at at;
	uint64_t process; /* tells one server process from another */
	bool opened;      /* the realm is open in this process */
	size_t count;     /* reports made to this process, if it is not */
	struct remote_report reports[REMOTE_CHAINS];
};

struct remote_limits {
	size_t parts; /* of one commit */
	size_t keys;  /* compared or written */
	size_t bytes; /* of all of them, with their values */
};

struct remote_adapter;

/* Called with each entry (remote_entry.h), oldest first; a result that is not 0 ends it and is returned. */
typedef int remote_entry_fn(void *arg, struct slice entry);

/* Called with each key; as above. */
typedef int remote_scan_fn(void *arg, struct slice key, uint64_t version, struct slice value);

struct remote_ops {
	void (*close)(struct remote_adapter *adapter);

	/*
	 * Looks at the realm, and leaves `report` unless it is NULL or the realm is open. -ENOENT: there is no realm; it is never made by
	 * this. `distrust`: this host has seen history of this epoch that the engine does not show. If that epoch is still open, it is over:
	 * the next one begins, and is not open.
	 */
	int (*hello)(struct remote_adapter *adapter, const struct remote_report *report,
		     const struct remote_at *distrust, struct remote_welcome *out);

	/*
	 * Adds an entry that is not a commit, in a process that is not open: one that was lost, or, with an `epoch`, the one that opens it.
	 * REMOTE_HELLO if the history does not end at `before`, or the process is open already.
	 */
	int (*append)(struct remote_adapter *adapter, const struct remote_at *before, struct slice entry,
		      uint64_t epoch);

	/* Compares and writes. The reply is set for REMOTE_DONE and REMOTE_FENCED. */
	int (*commit)(struct remote_adapter *adapter, const struct remote_commit *commit, struct remote_reply *reply);

	/*
	 * Where the history ends, by a server that could have committed at that time. REMOTE_HELLO as for a commit on `base`, which has
	 * revision 0 if the caller has no history yet.
	 */
	int (*barrier)(struct remote_adapter *adapter, enum remote_line line, const struct remote_at *base,
		       struct remote_at *at);

	/* The entries behind `after`; if there are none, waits for one, at most `wait` ms. Those that were trimmed are missing. */
	int (*entries)(struct remote_adapter *adapter, enum remote_line line, const struct remote_at *after, int wait,
		       remote_entry_fn *each, void *arg);

	/* As store_publish(); NULL: it never does. By one thread, on REMOTE_LINE_TELL. */
	int (*publish)(struct remote_adapter *adapter, const char *event, struct slice text);

	/* Every key that is there from beginning to end; others that change meanwhile may come, or come twice. */
	int (*scan)(struct remote_adapter *adapter, remote_scan_fn *each, void *arg);
};

/* First in what a transport keeps: cast back to it. */
struct remote_adapter {
	const struct remote_ops *ops;
	struct remote_limits limits;
	char trouble
		[REMOTE_TROUBLE]; /* a line for people about the last failure of REMOTE_LINE_COMMIT, and its; may be empty */
};

#endif
