/*
 * The interface for programs. Lists are JSON lines as in the tree, sent from memory piece by piece. openapi.json describes it, and
 * a test compares both.
 */
#ifndef TOOLS_SERVE_API_H
#define TOOLS_SERVE_API_H

#include "serve_http.h"

void serve_api_locks(struct serve_request *request, struct serve_reply *reply);   /* /api/locks */
void serve_api_queue(struct serve_request *request, struct serve_reply *reply);   /* /api/queue */
void serve_api_events(struct serve_request *request, struct serve_reply *reply);  /* /api/events */
void serve_api_health(struct serve_request *request, struct serve_reply *reply);  /* /health: 503 unless it is ok */
void serve_api_metrics(struct serve_request *request, struct serve_reply *reply); /* /metrics */
void serve_api_quick(struct serve_request *request, struct serve_reply *reply);   /* /status/quick?app= */

#endif
