/*
 * How much memory the texts of open files take, for each user and in all.
 *
 * An open file keeps the text that it shows, so that a reader who comes back for the rest gets the rest of the same. A user may have
 * a million files open. So each user has a budget of bytes: what comes beyond it drops the texts that this user's files kept
 * longest; beyond the budget of all, those of the users who have most. A dropped text is made again when it is needed, and
 * must then be what it was (struct content's `sum`); if not, the reader is told (EIO) instead of being given parts of two texts.
 *
 * Lock order: a content's mutex, then that of the texts. Texts of other files are dropped only if their mutex is free.
 */
#ifndef TEXTS_H
#define TEXTS_H

#include "handle.h"

#define TEXTS_OF_USER ((size_t)1 << 20) /* bytes */
#define TEXTS_IN_ALL ((size_t)16 << 20)

struct texts *texts_new(void);

/* Once no content is left. */
void texts_free(struct texts *texts);

/* With the content's mutex held: it has another text, of `bytes`, for this user. Its own is not dropped for it. */
void texts_keep(struct texts *texts, struct content *content, uid_t uid, size_t bytes);

/* With the content's mutex held: it takes no memory any more. */
void texts_leave(struct content *content);

/* With the content's mutex held: frees its text, and remembers what it was. */
void texts_drop(struct content *content);

/* Whether this text is the one that was dropped. */
bool texts_same(const struct content *content, const char *text, size_t len);

#endif
