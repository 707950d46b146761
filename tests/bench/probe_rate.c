#include <err.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_bare.h"
#include "peers.h"
#include "probes.h"
#include "work_cycle.h"

void probe_cycle(const struct probe *probe, double *out)
{
	struct cycle cycle = { .directory = mount_path(probe->place, "cycle-%") };

	*out = procs_rate(&work_cycle, &cycle, probe->processes, run.scale->seconds, 0);
}

void probe_lmdb(const struct probe *probe, double *out)
{
	const char *dir = mount_path(probe->place, "lmdb");
	uint64_t turns = 0;
	struct bare bare;
	double begun;

	if (mkdir(dir, 0700) != 0 && access(dir, W_OK) != 0)
		err(1, "%s", dir);
	bare_open(&bare, dir, true);
	bare_pair(&bare, 0, 0);
	begun = procs_clock();
	while (procs_clock() - begun < run.scale->seconds)
		bare_pair(&bare, 0, ++turns);
	*out = (double)turns / (procs_clock() - begun);
	bare_close(&bare);
}

void probe_redis(const struct probe *probe, double *out)
{
	struct peer peer = { .port = run.redis_port };

	*out = procs_rate(&work_redis, &peer, probe->processes, run.scale->seconds, 0);
}

void probe_etcd(const struct probe *probe, double *out)
{
	struct peer peer = { .port = run.etcd_port };

	*out = procs_rate(&work_etcd, &peer, probe->processes, run.scale->seconds, 0);
}
