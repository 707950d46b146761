/* Which address shows what. */
#ifndef TOOLS_SERVE_ROUTES_H
#define TOOLS_SERVE_ROUTES_H

#include "serve_http.h"

/* Writes the reply to a request that has a snapshot. False: the request was suspended and comes again. */
bool serve_route(struct serve_request *request, const char *method, struct serve_reply *reply);

#endif
