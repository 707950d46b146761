/*
 * A thread that reads the mount when it is asked to. A daemon that hangs stops this thread and nothing else: who draws or serves asks,
 * goes on, and looks at how long a reading has lasted.
 */
#ifndef TOOLS_READING_THREAD_H
#define TOOLS_READING_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * One reading, in the thread, without a mutex. `wants` is what was asked for since the last one began, ORed. Ends early once `*stop` is
 * true. Returns nanoseconds to rest before the next.
 */
typedef int64_t reading_fn(void *arg, unsigned wants, const atomic_bool *stop);

struct reading_thread;

/* Starts it with all signals blocked. 0 or a negative errno. */
int reading_thread_start(struct reading_thread **out, reading_fn *fn, void *arg);

/* Wants a reading that begins after this call; `wants` is not 0. */
void reading_thread_ask(struct reading_thread *thread, unsigned wants);

/* For how long the reading under way has lasted; 0: none is. */
int64_t reading_thread_busy(struct reading_thread *thread);

/*
 * Ends it, also in the middle of a reading, and frees it. False if it hangs in the mount: then it is left behind, its `arg` must stay,
 * and only exit() ends it.
 */
bool reading_thread_stop(struct reading_thread *thread);

#endif
