#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core_million.h"
#include "core_queue.h"
#include "probes.h"
#include "procs.h"
#include "scratch.h"
#include "work_cycle.h"

#define MICRO 1e6
#define JOIN_TURNS 10U /* a check is short beside what else happens: with and without in turns */

void held_prepare(void)
{
	struct side *side = side_new(mount_store(PLACE_HELD), false, NULL);

	million_fill(side, run.scale->held);
	side_free(side);
}

void probe_store(const struct probe *probe, double *out)
{
	struct cycle cycle = { .directory = mount_path(probe->place, "cycle-%") };
	double begun = procs_clock();

	mount_start(probe->place);
	out[0] = (procs_clock() - begun) * MICRO;
	out[1] = procs_rate(&work_cycle, &cycle, probe->processes, run.scale->seconds, 0);
	out[2] = mount_anon(probe->place);
	mount_stop(probe->place);
}

void probe_bytes(const struct probe *probe, double *out)
{
	char path[4096];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%sdata.mdb", mount_store(probe->place));
	if (stat(path, &st) != 0)
		err(1, "%s", path);
	*out = (double)st.st_blocks * 512 / run.scale->held;
}

/* A store that is gone when the probe is over. */
static struct side *side_fresh(char **dir)
{
	if (setenv("TMPDIR", run.dir, 1) != 0)
		err(1, "setenv");
	*dir = scratch_new();
	return queue_side(*dir, "store");
}

void probe_grant(const struct probe *probe, double *out)
{
	unsigned int grants = run.scale->waiters < QUEUE_GRANTS ? run.scale->waiters : QUEUE_GRANTS;
	struct atlock_name one;
	struct atlock_name many;
	struct side *side;
	char *dir;

	(void)probe;
	side = side_fresh(&dir);
	side_name(&one, 2, "cold");
	side_name(&many, 1, "hot");
	queue_fill(side, &many, run.scale->waiters + grants);
	out[0] = queue_grant_short(side, &one, grants);
	out[1] = queue_grant_long(side, &many, 0, grants);
	side_free(side);
	scratch_remove(dir);
}

/* What a check costs is the difference; one that is lost in the noise costs nothing. */
static double check_cost(double with, double without)
{
	return with > without ? with - without : 0;
}

void probe_join(const struct probe *probe, double *out)
{
	unsigned int caller = run.scale->waiters + 1;
	struct atlock_name near;
	struct atlock_name far;
	struct side *side;
	double with = 0;
	char *dir;

	(void)probe;
	side = side_fresh(&dir);
	queue_chain(side, run.scale->waiters);
	side_name(&near, run.scale->waiters, "chain");
	side_name(&far, 0, "chain");
	out[0] = 0;
	for (unsigned int i = 0; i < JOIN_TURNS; i++) {
		out[0] += queue_join_cost(side, &near, caller, "off") / JOIN_TURNS;
		with += queue_join_cost(side, &near, caller, "lifo") / JOIN_TURNS;
	}
	out[1] = check_cost(with, out[0]);
	out[2] = check_cost(queue_join_cost(side, &far, caller, "lifo"), out[0]);
	side_free(side);
	scratch_remove(dir);
}
