/* Asks apps over HTTP whether they are up, with the curl program. In doubt the status is UNKNOWN. */
#ifndef TOOLS_PROBE_H
#define TOOLS_PROBE_H

#include <stddef.h>
#include <sys/types.h>

#include <atlock.h>

struct probe {
	const char *app;
	const char *url;
	enum atlock_app_status status; /* UNKNOWN unless it answered */
	pid_t pid;                     /* curl, while it runs */
	int fd;                        /* what it prints */
};

/* Which answers say that an app is up, and which that it is down: "200,204,3xx"; `down` "" are all others. */
struct probe_codes {
	const char *up;
	const char *down;
};

/* Whether a list of answers is written so. */
bool probe_codes_check(const char *codes);

/* Asks all at once with HEAD, each for `timeout` nanoseconds at most. 0, or a negative errno if curl cannot be run. */
int probe_all(struct probe *probes, size_t n, int64_t timeout, const struct probe_codes *codes);

#endif
