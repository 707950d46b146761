/*
 * How the kernel's page cache is kept from cutting a text off and from showing one user's text to another.
 *
 * read(2) and pread(2) come to us each time: files are opened with direct_io. mmap(2), sendfile(2), splice(2) and
 * copy_file_range(2) read all the same through pages that the kernel keeps with the node, and end at the size that it was told
 * last; at size 0 without asking. And what a file shows may depend on who opened it, and on when. So:
 *
 * - A regular file whose name the kernel must not keep is read through a node of its own (node_own()), and has pages of its own:
 *   it is open once for reading, apart from processes that open their own descriptors again by /proc/self/fd. The kernel drops a
 *   node's pages when it is opened.
 * - A lookup of such a file tells a size that no text has, without a lifetime. A process that goes by the size asks for it (GETATTR),
 *   and is told that of the text which the open file is about to show. One that does not ask reads on to the end of the text, where a
 *   short answer shows the kernel the size.
 * - A node whose name the kernel keeps for a while (a lock that was just made, or that has not changed lately) is read by one file
 *   at a time, if its text is as long as was told and nothing was written through the node. To all others open(2) fails with
 *   ESTALE, at which the kernel looks the name up again and finds another.
 * - What was told is remembered. Where that and a text differ, its pages cannot be read: EIO, never a part of it. The kernel
 *   overlooks a short answer if it was told something about the node meanwhile, and would go on with zeros: pages behind the end
 *   are EIO, too, which it does not ask for otherwise.
 */
#ifndef PAGES_H
#define PAGES_H

#include "kind.h"

struct handle;
struct pages;

/* What a lookup tells as the size if the row does not say (kind->most). */
#define PAGES_MOST ((off_t)16 << 20)

struct pages *pages_new(void);
void pages_free(struct pages *pages);

/* The kernel is being told this size of a node. */
void pages_told(struct node *node, off_t size);

/*
 * The kernel sets the size by itself: a file that does not read is written to; or is opened to be truncated, for which the file
 * must not be open for reading, or the reader finds it empty. -ESTALE, as pages_open().
 */
void pages_written(struct node *node);
int pages_truncate(struct call *call, struct node *node);

/* Whether a text of this length can be read through pages: no other size was told. */
bool pages_fit(const struct node *node, size_t len);

/*
 * The file is open for reading, unless 0 is not returned: -ESTALE, see above; -EACCES, if another user has it open, for whom
 * the text may be another.
 */
int pages_open(struct call *call, struct node *node, struct handle *handle);
void pages_close(struct call *call, struct node *node, const struct handle *handle);

/* The file that was opened last for reading a node of its own, held for the caller; NULL if none is open. */
struct handle *pages_reader(struct call *call, const struct node *node);

#endif
