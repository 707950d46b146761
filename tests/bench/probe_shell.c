#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes.h"
#include "procs.h"

static void number_export(const char *name, unsigned int number)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", number);
	if (setenv(name, text, 1) != 0)
		err(1, "setenv");
}

void probe_shell(const struct probe *probe, double *out)
{
	char loop[4096];
	char *argv[] = { "sh", "-c", loop, NULL };
	double begun;

	/* A process that loses its place would measure something else: any failure ends the loop. */
	(void)snprintf(loop, sizeof(loop), "i=0; while [ $i -lt $N ]; do { %s; } || exit; i=$((i + 1)); done",
		       probe->script);
	number_export("N", run.scale->shells);
	number_export("REDIS_PORT", run.redis_port);
	number_export("ETCD_PORT", run.etcd_port);
	if (chdir(mount_path(probe->place, "")) != 0)
		err(1, "%s", mount_path(probe->place, ""));
	begun = procs_clock();
	if (program_run(argv, 0) != 0)
		errx(1, "failed: %s", probe->script);
	*out = run.scale->shells / (procs_clock() - begun);
}
