/*
 * Why a caller's last call was refused: one line per session, for the file `why`. A caller whose session is not known,
 * or was not refused anything yet, gets the last refusal of its uid. The table is bounded: when it is full, the user
 * with the most lines loses the oldest of them.
 */
#ifndef WHY_LINES_H
#define WHY_LINES_H

#include "fs.h"

struct whys *whys_new(void);
void whys_free(struct whys *whys);

void why_record(struct fs *fs, const struct fuse_ctx *ctx, const struct atlock_why *why);

/*
 * Whether the last refusal of this very thread said that another holder has the same lock: then a new line would say
 * less.
 */
bool why_told_held(struct whys *whys, const struct fuse_ctx *ctx, const struct atlock_why *why);

/* A malloc'ed "CODE: text\n", "" if nothing was refused; NULL without memory. */
char *why_text(struct whys *whys, const struct fuse_ctx *ctx, size_t *len);

/*
 * One part of the line, for programs: its "code"; the "fact", without the advice at its end; the "advice", as a word.
 * -ENODATA if there is none.
 */
int why_part(struct whys *whys, const struct fuse_ctx *ctx, const char *key, char *out, size_t len);

#endif
