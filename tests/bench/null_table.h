/*
 * The files of the null file system: a tree in memory, found by parent and name through one hash table.
 *
 * Threads. Any call from any thread; one mutex protects everything but a node's address and name. A node lives as long as
 * it has a name or a reference.
 */
#ifndef BENCH_NULL_TABLE_H
#define BENCH_NULL_TABLE_H

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct node {
	LIST_ENTRY(node) bucket;
	TAILQ_ENTRY(node) sibling;
	TAILQ_HEAD(, node) children;
	struct node *parent; /* NULL: has no name any more, or is the root */
	uint64_t refs;
	uint64_t entries; /* in a directory */
	struct stat st;
	char *data;
	char name[];
};

/* Makes the root. -ENOMEM. */
int table_init(void);
struct node *table_root(void);

/* Finds `name` and refers to it; `st` gets its attributes. NULL if it is not there. */
struct node *table_find(struct node *parent, const char *name, struct stat *st);

/* Makes a file or directory and refers to it. NULL with errno: EEXIST, ENOENT if the parent is gone, ENOMEM. */
struct node *table_make(struct node *parent, const char *name, const struct stat *like, struct stat *st);

/* Takes a name away. -ENOENT, -ENOTEMPTY, -EISDIR or -ENOTDIR if it is not of this type. */
int table_remove(struct node *parent, const char *name, mode_t type);

/* Refers to a node once more and gets its attributes; false if it has no name any more. */
bool table_again(struct node *node, struct stat *st);

/* Refers `count` times less. */
void table_forget(struct node *node, uint64_t count);

void table_stat(struct node *node, struct stat *st);

/* Sets what stat shows; the size is at most FILE_MAX. */
void table_set(struct node *node, const struct stat *st);

/* Reads or overwrites a file's bytes, at most FILE_MAX of them; the bytes done, or -EFBIG, -ENOMEM. */
#define FILE_MAX 4096
ptrdiff_t table_read(struct node *node, char *buf, size_t size, size_t off);
ptrdiff_t table_write(struct node *node, const char *buf, size_t size, size_t off);

/* All that is in a directory, each referred to: `*count` of them in a malloc'ed array, or NULL. */
struct node **table_list(struct node *dir, size_t *count);

#endif
