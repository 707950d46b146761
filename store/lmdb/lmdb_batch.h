/* A batch of updates as one commit. */
#ifndef STORE_LMDB_BATCH_H
#define STORE_LMDB_BATCH_H

#include "commit.h"

/* As commit_fn. */
void lmdb_batch_run(struct engine *engine, struct job_list *batch);

#endif
