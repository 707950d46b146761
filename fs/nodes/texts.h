/*
 * Limits the memory of open files' texts, for each user and in total.
 *
 * An open file keeps its text, so that a reader who continues gets the rest of the same text. A user may have a million
 * files open. So each user has a budget of bytes: a text beyond it drops the oldest texts of this user's files; beyond
 * the total budget, texts of the users who have most are dropped. A dropped text is made again when it is needed, and
 * must then be the same (struct content's `sum`); if not, the reader gets EIO instead of parts of two texts.
 *
 * Lock order: a content's mutex, then that of the texts. Texts of other files are dropped only if their mutex is free.
 */
#ifndef TEXTS_H
#define TEXTS_H

#include "handle.h"

#define TEXTS_OF_USER ((size_t)1 << 20) /* bytes */
#define TEXTS_IN_ALL ((size_t)16 << 20)
#define TAILS_OF_USER ((size_t)4 << 20)
#define TAILS_IN_ALL ((size_t)64 << 20)

struct texts *texts_new(void);

/* Call when no content is left. */
void texts_free(struct texts *texts);

/*
 * Call with the content's mutex held: it has a new text, of `bytes`, for this user. That text itself is not dropped to
 * make space.
 */
void texts_keep(struct texts *texts, struct content *content, uid_t uid, size_t bytes);

/* Call with the content's mutex held: it no longer uses memory. */
void texts_leave(struct content *content);

/* Call with the content's mutex held: frees its text, and keeps its checksum. */
void texts_drop(struct content *content);

/*
 * Call with the content's mutex held, before its `tail_len` changes to `len`: counts the unfinished writes of the
 * handle's user, which cannot be dropped. -EDQUOT if they, or those of all users, would exceed their budget. Fewer bytes than before
 * never fail.
 */
int texts_tail(const struct handle *handle, const struct content *content, size_t len);

/* The refusal of a write for which texts_tail() returned -EDQUOT. */
int texts_tail_refuse(struct call *call);

/* Whether this text is the one that was dropped. */
bool texts_same(const struct content *content, const char *text, size_t len);

#endif
