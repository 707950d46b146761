/*
 * The pages for people: complete without a script, a table first. A script replaces what is in <main> by asking for the same page
 * with part=1.
 */
#ifndef TOOLS_SERVE_PAGE_H
#define TOOLS_SERVE_PAGE_H

#include "serve_http.h"

typedef void serve_page_fn(struct serve_request *request, struct serve_reply *reply);

serve_page_fn serve_page_locks;  /* /?q=&owner=&repo=&pull=&sort=&from= */
serve_page_fn serve_page_lock;   /* /lock?name= */
serve_page_fn serve_page_user;   /* /user?name= */
serve_page_fn serve_page_pull;   /* /pull?repo=&number= */
serve_page_fn serve_page_graph;  /* /graph */
serve_page_fn serve_graph;       /* /graph.svg */
serve_page_fn serve_page_status; /* /status */

/* What every page begins and ends with; only the part of it if the query says so. Between them stands the content of <main>. */
void serve_page_begin(struct serve_request *request, struct serve_reply *reply, const char *title);
void serve_page_end(struct serve_request *request, struct serve_reply *reply);

/* A link: <a href="/page?key=value">text</a>. */
void serve_page_link(FILE *out, const char *page, const char *key, const char *value, const char *text);

/* How long ago, or until, a time of an object is, as <time>; "-" for never. */
void serve_page_age(FILE *out, const json_t *object, const char *key, bool until);

/* Which waiters; NULL is any. */
struct serve_waiters {
	const char *lock;
	const char *owner;
	const char *who;
	const char *repo; /* whose locks they wait for */
};

/* The table of these waiters; nothing if there is none. */
void serve_page_waiters(struct serve_request *request, FILE *out, const struct serve_waiters *wanted);

#endif
