/*
 * Event streams (server-sent events). A stream has a place in the ring of events; one that is too slow to keep up is told to
 * reload. A stream without news is suspended, and hears a comment every 15 s, so that a browser that is gone is noticed.
 */
#ifndef TOOLS_SERVE_STREAM_H
#define TOOLS_SERVE_STREAM_H

#include "serve_http.h"

/* GET /events: makes the reply's response; 503 if there are too many. */
void serve_stream_open(struct serve_request *request, struct serve_reply *reply);

/* Both with serve->mutex held: resumes those that have something to send; ends all. */
void serve_streams_tend(struct serve *serve, int64_t now);
void serve_streams_end(struct serve *serve);

#endif
