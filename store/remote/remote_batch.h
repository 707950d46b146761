/*
 * A batch of updates as one commit of parts. Each function runs on the mirror and on what the functions before it in the batch wrote; the
 * engine applies each part whose reads still hold. What failed runs again, on a mirror that has caught up.
 *
 * A refusal, and any other result without writes, is an answer about the realm: it counts only if the mirror it was computed on has all that
 * the realm had when a request was answered that was sent after the update began, and no part of this batch which may not be applied.
 */
#ifndef STORE_REMOTE_BATCH_H
#define STORE_REMOTE_BATCH_H

#include "commit.h"
#include "txn_run.h"

/* A commit_fn. A job without a function joins the realm if need be, and writes the box if that is due. */
void remote_batch_run(struct engine *engine, struct job_list *batch);

/* Reads the mirror: the view is a transaction of mirror_view(). */
extern const struct txn_source mirror_source;

#endif
