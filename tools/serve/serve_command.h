/*
 * atlock serve: a page with the locks. This room, serve/, knows HTTP and HTML. It calls cli/, client/ and graph/, and no other
 * room of commands. It sees of the file system what the user sees who runs it.
 *
 * Three threads and one process, so that no browser and no daemon can stop the others:
 *
 *     reader    the only one that touches the mount while it serves: makes snapshots, and collects events (serve_reader.h)
 *     http      libmicrohttpd's thread: answers from snapshots in memory, never waits (serve_http.h)
 *     main      wakes requests that wait for a snapshot, and event streams; ends connections that are too slow (serve_http.h)
 *     releaser  a process that releases a lock as the user who asks for it (serve_release.h); only with --allow-release
 */
#ifndef TOOLS_SERVE_COMMAND_H
#define TOOLS_SERVE_COMMAND_H

#include "command.h"

command_fn cmd_serve;

#endif
