/*
 * Three hosts, each a manager of its own, on one realm in memory. Their clocks are hours apart and run on their own. Nothing happens by
 * itself: a test moves the clocks, and says which hosts are awake meanwhile.
 */
#ifndef TESTS_UNIT_HOSTS_FIXTURE_H
#define TESTS_UNIT_HOSTS_FIXTURE_H

#include "mem_realm.h"
#include "stage.h"

#define HOSTS_COUNT 3

struct hosts_place {
	struct hosts *hosts;
	int number;
	char *dir;
	struct engine *engine; /* while it is open */
};

struct hosts {
	struct mem_realm *realm;
	struct stage *stages[HOSTS_COUNT];
	struct mem_line_faults faults[HOSTS_COUNT];
	struct hosts_place places[HOSTS_COUNT];
};

int hosts_setup(void **state);
int hosts_teardown(void **state);

/* The host takes in what the others wrote, and acts on it. */
void hosts_follow(struct hosts *h, int host);

/* So many seconds pass, on all clocks; the hosts of the mask follow, beat and sweep meanwhile. */
void hosts_run(struct hosts *h, int seconds, unsigned int mask);

/* The host is stopped, and started again without its mirror. */
void hosts_forget(struct hosts *h, int host);

/* The host tells of nothing any more, and is started again with its mirror: another life of the same host. */
void hosts_kill(struct hosts *h, int host);

/* The host fetches the realm again, in the same life. */
void hosts_refill(struct hosts *h, int host);

/* What `test -e lock@who` says on this host to a caller that is not the holder. */
bool hosts_is_sure(struct stage *s, const char *lock, const char *who);

/* For mem_line_faults.before_commit, with the faults as argument: the line is cut after the commit whose reply is lost. */
void hosts_cut_after(void *arg);

#endif
