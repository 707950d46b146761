/*
 * Sending a commit, and finding out what became of it. A lost answer is never looked up: the request may still be on its way, and be
 * applied after the look. Instead the box is written once more with the version that the lost commit compares. If that is done, the lost
 * commit can never be applied; if the box has another version already, the box says which commit wrote it. By the leader.
 */
#ifndef STORE_REMOTE_COMMIT_H
#define STORE_REMOTE_COMMIT_H

#include "remote_box.h"

struct engine;

/* Results beside those of the adapter. */
#define COMMIT_LOST 16 /* it was not applied, and never will be: run the functions again */

/*
 * Sends the parts, with the box, on the mirror as it was at `base`, and takes what was applied into the mirror. REMOTE_DONE with
 * reply->applied; COMMIT_LOST; REMOTE_FENCED or REMOTE_HELLO: nothing was applied, and the host must join again; -EINPROGRESS: the engine
 * cannot be asked, and the doubt is open; -EIO: another process has the chain, and it cannot be known; another negative errno: nothing was
 * applied.
 */
int commit_send(struct engine *engine, const struct remote_at *base, const struct remote_part *parts, size_t count,
		struct remote_reply *reply);

/*
 * Closes an open doubt: 0, 1 if the commit was applied, or as above. After 0 or 1 it cannot be applied any more.
 */
int commit_resolve(struct engine *engine, struct remote_reply *reply);

#endif
