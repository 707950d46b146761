/* The process that releases locks as the users who ask for it: see serve_release.h. */
#ifndef TOOLS_SERVE_AGENT_H
#define TOOLS_SERVE_AGENT_H

#include <stdint.h>

#include "mount.h"

#define SERVE_USER_MAX 64

struct agent_request {
	int64_t number;
	uint64_t token;
	char user[SERVE_USER_MAX];
	char lock[ATLOCK_PATH_MAX];
	char id[ATLOCK_ID_MAX];
	char reason[ATLOCK_REASON_MAX + 1];
};

struct agent_answer {
	int64_t number;
	int32_t outcome; /* 0 or a negative errno; -ESTALE: another grant has the lock */
};

/* Answers requests on a socket of SOCK_SEQPACKET until it is closed; then ends the process. */
_Noreturn void serve_agent_run(int fd, const struct mount *mount);

#endif
