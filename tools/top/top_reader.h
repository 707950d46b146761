/* Reads what is held, who waits and what was counted: at once, or in a thread, so that the screen does not wait for it. */
#ifndef TOOLS_TOP_READER_H
#define TOOLS_TOP_READER_H

#include <stdatomic.h>

#include "filter.h"
#include "top_model.h"

/* What is at the path of the mount now; if it cannot be read, that is in the model. `*stop` ends it early. NULL without memory. */
struct top_model *top_read(const struct mount *mount, const struct filter *filter, const atomic_bool *stop);

/* What is wrong with a mount that cannot be used, for people. */
void top_gone_print(int err, char *out, size_t len);

struct top_reader;

/* Starts the thread. What the filter points to must stay. A negative errno. */
int top_reader_start(struct top_reader **out, const struct mount *mount, const struct filter *filter);

/* Lets the thread read again, once it has finished what it reads. */
void top_reader_ask(struct top_reader *reader);

/* A descriptor that can be read from once a model is ready; and that model, the caller's now, or NULL. `*last`: no other was asked for. */
int top_reader_fd(const struct top_reader *reader);
struct top_model *top_reader_take(struct top_reader *reader, bool *last);

/* For how long it has been reading; 0: it is not. */
int64_t top_reader_busy(struct top_reader *reader);

/* Ends the thread, also in the middle of a reading. False if it blocks on a daemon that hangs: then only exit() ends it. */
bool top_reader_stop(struct top_reader *reader);

#endif
