/*
 * Keeps the kernel's page cache from truncating a text and from showing one user's text to another.
 *
 * read(2) and pread(2) always reach the daemon: files are opened with direct_io. But mmap(2), sendfile(2), splice(2)
 * and copy_file_range(2) read through pages that the kernel caches with the node, and stop at the size that it was told
 * last; at size 0 without asking. And the text of a file may depend on the user who opened it, and on the time. So:
 *
 * - A regular file whose name the kernel must not cache is read through a node of its own (node_own()), with pages of
 *   its own: it is open once for reading, apart from processes that open their own descriptors again by /proc/self/fd.
 *   The kernel drops a node's pages when it is opened.
 * - A lookup of such a file reports a size larger than any text, without a lifetime. A process that relies on the size
 *   asks for it (GETATTR), and gets the size of the text which the open file is about to show. A process that does not
 *   ask reads on to the end of the text, where a short read shows the kernel the size.
 * - A node whose name the kernel caches for a while (a lock that was just made, or that has not changed lately) is read
 *   by one file at a time, if its text is as long as was reported and nothing was written through the node. For all
 *   others open(2) fails with ESTALE, at which the kernel looks the name up again and finds another node.
 * - The reported size is remembered. If it differs from the text's, its pages cannot be read: EIO, never a part of the
 *   text. The kernel ignores a short read if it was told something about the node meanwhile, and would continue with
 *   zeros: so pages beyond the end, which it does not ask for otherwise, are EIO, too.
 */
#ifndef PAGES_H
#define PAGES_H

#include "kind.h"

struct handle;
struct pages;

/* The size that a lookup reports if the row does not say (kind->most). */
#define PAGES_MOST ((off_t)16 << 20)

struct pages *pages_new(void);
void pages_free(struct pages *pages);

/* Call when this size of a node is reported to the kernel. */
void pages_told(struct node *node, off_t size);

/* Call where the kernel sets the size itself: a file that does not read is written to. */
void pages_written(struct node *node);

/*
 * Call where a file that does not read is truncated, and so is about to be written to: no other process should be given
 * this node, whose size will not last. A process that reads it already may go on: the size is still that of the text.
 */
void pages_truncated(struct call *call, struct node *node);

/* Whether a text of this length can be read through pages: no other size was reported. */
bool pages_fit(const struct node *node, size_t len);

/*
 * Opens the file for reading. 0, or it is not open: -ESTALE, see above; -EACCES if another user, whose text may differ,
 * has the node open.
 */
int pages_open(struct call *call, struct node *node, struct handle *handle);
void pages_close(struct call *call, struct node *node, const struct handle *handle);

/* The file opened last for reading a node of its own, held for the caller; NULL if none is open. */
struct handle *pages_reader(struct call *call, const struct node *node);

#endif
