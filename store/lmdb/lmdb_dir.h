/* The directory: made, checked, owned by one process. */
#ifndef STORE_LMDB_DIR_H
#define STORE_LMDB_DIR_H

#include "store_types.h"

#include <bsd/sys/queue.h>

#define LMDB_DATA_FILE "data.mdb"
#define LMDB_FOREIGN_FILE "lock.mdb" /* the table of readers of other programs' LMDB */
#define LMDB_STAMP_MAX 128

/* A directory that this process has open. Descriptors are -1 until they are opened. */
struct lmdb_dir {
	int fd;      /* of the directory; locked unless readonly */
	int owner;   /* of owner.pid, locked; -1 if readonly */
	int data;    /* of the data file; locked unless readonly */
	int foreign; /* of lock.mdb, which keeps other programs' LMDB away; -1 if readonly */
	char *path;  /* absolute, as it was given; NULL: unknown */
	pid_t pid;
	dev_t dev;
	ino_t ino;
	dev_t data_dev;
	ino_t data_ino;
	char stamp[LMDB_STAMP_MAX]; /* as the last daemon wrote it; empty if it wrote none */
	LIST_ENTRY(lmdb_dir) link;
};

/* Makes the directory unless readonly, checks it and locks it against other processes; fills `why`. */
int lmdb_dir_open(struct lmdb_dir *dir, const char *path, const struct store_options *options, char *why,
		  size_t whylen);
void lmdb_dir_close(struct lmdb_dir *dir);

/* Locks a descriptor of the directory or of a file in it. -EBUSY, with `why`, if another process has locked it. */
int lmdb_lock(const struct lmdb_dir *dir, int fd, const char *what, const char *path, char *why, size_t whylen);

#endif
