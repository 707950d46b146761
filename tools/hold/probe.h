/* Asks apps over HTTP whether they are up, with the curl program. In doubt the status is UNKNOWN. */
#ifndef TOOLS_PROBE_H
#define TOOLS_PROBE_H

#include <stddef.h>
#include <sys/types.h>

#include <atlock.h>

struct probe {
	const char *app;
	const char *url;
	enum atlock_app_status status; /* UNKNOWN unless it answered 2xx (UP) or refused the connection (DOWN) */
	pid_t pid;                     /* curl, while it runs */
	int fd;                        /* what it prints */
};

/* Asks all at once, each for `timeout` nanoseconds at most. 0, or a negative errno if curl cannot be run. */
int probe_all(struct probe *probes, size_t n, int64_t timeout);

#endif
