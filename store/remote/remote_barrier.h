/*
 * A barrier: the mirror has everything that was committed, on any host, before the caller asked. One request answers all callers that came
 * before it was sent.
 */
#ifndef STORE_REMOTE_BARRIER_H
#define STORE_REMOTE_BARRIER_H

struct engine;

/* 0, REMOTE_HELLO or a negative errno. */
int barrier_pass(struct engine *engine);

#endif
