/*
 * Releasing from the page, only with --allow-release, and only through a UNIX socket, whose peer the kernel names.
 *
 * The user is the socket's peer, or, if the peer is the user whom --proxy names, the one in the proxy's header. The lock is released
 * by a process of that user: the file system decides and writes its log as for any other `rm`. A process that was forked before
 * anything was served, and has nothing to do with HTTP, starts it; it is root if atlock serve was started as root, and else can only
 * act as its own user.
 *
 * A form names the lock, its id and its token; if another grant has the lock meanwhile, nothing is released. It has a word
 * that another site cannot know: a hash of this process's secret and the user.
 */
#ifndef TOOLS_SERVE_RELEASE_H
#define TOOLS_SERVE_RELEASE_H

#include "serve_http.h"

/* Starts the process. Call it before there are threads. 0 or a negative errno. Closing its socket ends it. */
int serve_release_start(struct serve_release **out, const struct mount *mount);
void serve_release_stop(struct serve_release *release);

/* The socket that has an answer when it can be read; and passes the answers on. The second is false if the process is gone. */
int serve_release_fd(const struct serve_release *release);
bool serve_release_answers(struct serve *serve);

/* Prints the form, if the request's user may use it. */
void serve_release_form(const struct serve_request *request, FILE *out, const json_t *lock);

/* POST /release. False: the request was suspended and comes again. */
bool serve_release_take(struct serve_request *request, struct serve_reply *reply);

#endif
