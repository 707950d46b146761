/* The socket to serve on: a TCP port, a UNIX socket, or one that systemd hands over. */
#ifndef TOOLS_SERVE_LISTEN_H
#define TOOLS_SERVE_LISTEN_H

#include <stdbool.h>

#include "command.h"

#define SERVE_LISTEN_DEFAULT "127.0.0.1:7470"

struct serve_listen {
	int fd;
	bool local;       /* a UNIX socket */
	bool loopback;    /* or not reached from other hosts */
	char shown[160];  /* where to look, for people */
	const char *path; /* of a UNIX socket that was made here, or NULL */
};

/*
 * Opens "HOST:PORT", "[HOST]:PORT" or "unix:PATH"; HOST is an address, and port 0 is any that is free. With NULL it takes the socket that
 * systemd passes (LISTEN_FDS), else SERVE_LISTEN_DEFAULT. EXIT_DONE, or another exit code once it has said what is wrong.
 */
int serve_listen_open(const struct tool *tool, const char *where, struct serve_listen *out);

#endif
