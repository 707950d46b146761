/*
 * The circuit breaker (breaker.h) around the engine, for calls of users: a call that has tried for the whole time-out and was not answered is a failure.
 * While it is open, calls fail at once with -EHOSTDOWN. The host's own requests (heartbeat, joining) go on all the time, and the first of them that
 * is answered closes it. Any thread.
 */
#ifndef STORE_REMOTE_GATE_H
#define STORE_REMOTE_GATE_H

#include <stdbool.h>

struct engine;
struct store_stats;

void gate_init(struct engine *engine);
void gate_destroy(struct engine *engine);

/* Whether a call may try; if so, gate_done() says how it ended. `*trial`: it is the one that finds out whether the engine is back. */
bool gate_admit(struct engine *engine, bool *trial);
void gate_done(struct engine *engine, bool answered);

/* A request of the host's own was answered. */
void gate_alive(struct engine *engine);

void gate_stats(struct engine *engine, struct store_stats *out);

#endif
