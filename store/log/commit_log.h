/* The log on disk: what has been committed since LMDB's last transaction. */
#ifndef STORE_COMMIT_LOG_H
#define STORE_COMMIT_LOG_H

#include "writes.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct layer;

/* The log. The leader's; of a readonly engine, under pool_lock. */
struct commit_log {
	int fd;  /* -1: there is none */
	int dir; /* where it is */
	dev_t dev;
	ino_t ino;
	bool readonly;
	bool broken; /* not to be written to before LMDB has a new transaction */
	bool used;   /* may have entries of this process, or of this transaction */
	bool wide;   /* the file is as long as one that may have two runs */
	bool narrow; /* and cannot be made that long */
	uint64_t base;
	uint64_t mark;   /* of that transaction */
	uint64_t run;    /* of the entries that are written or read: a new one begins with each flush */
	uint64_t before; /* the mark that this run continues; 0: it is the first */
	uint64_t number; /* of the next entry */
	size_t held;     /* bytes of the run before, until LMDB has it */
	size_t start;    /* of the run */
	size_t end;      /* where the next entry goes */
	size_t last;     /* offset of the entry before it, if this process wrote that; its checksum is */
	uint32_t last_crc;
	size_t limit;         /* how far the run may reach */
	unsigned char *entry; /* being made */
	size_t len;           /* of that; SIZE_MAX: it does not fit */
};

/* Opens the log, or makes it; without space for one the store works without a log. Negative errno for a log that is damaged. */
int commit_log_open(struct commit_log *log, int dir, bool readonly);
void commit_log_close(struct commit_log *log);
bool commit_log_exists(int dir);                        /* under its name, whatever it is */
bool commit_log_is_there(const struct commit_log *log); /* the one that was opened, under its name */
bool commit_log_is_deleted(const struct commit_log *log);
int commit_log_sync(const struct commit_log *log);

/* Begins at the start again, for entries that continue another transaction of LMDB. */
void commit_log_restart(struct commit_log *log, uint64_t base, uint64_t mark);

/*
 * Begins a second run when a flush begins: `mark` is that of the transaction that the flush makes of the run until now. The
 * entries that follow continue that run. Only if commit_log_can_turn(). The last: the flush is done, as transaction `base`.
 */
bool commit_log_can_turn(struct commit_log *log);
void commit_log_turn(struct commit_log *log, uint64_t mark);
void commit_log_flushed(struct commit_log *log, uint64_t base);

/* Bytes of entries that LMDB does not have, with the one that is being made; and whether a flush is due. */
size_t commit_log_bytes(const struct commit_log *log);
bool commit_log_fills(const struct commit_log *log);

/* Makes all entries void on disk, independently of LMDB's file. */
void commit_log_void(struct commit_log *log);

/* One entry: begun, made of write sets in their order, written. Only if it fits. `ordered`: those before it are on disk. */
void commit_log_begin(struct commit_log *log);
void commit_log_add(struct commit_log *log, const struct writes *writes);
bool commit_log_fits(const struct commit_log *log);
/* -ESTALE: another program wrote to it. */
int commit_log_write(struct commit_log *log, bool ordered, bool sync);

/* Opens the file, if there is one. 0 or a negative errno. */
int commit_log_open_file(struct commit_log *log);

/* commit_log_read.c: brings `*layer` up to what the log says about transaction `base`, from what was read before. -EUCLEAN: damaged. */
int commit_log_read(struct commit_log *log, uint64_t base, uint64_t mark, struct layer **layer);

#endif
