/*
 * The figures of the project's goals, all in one run. Every probe is taken in each repetition, rates in several turns, so
 * that what disturbs the machine meanwhile disturbs both sides of a comparison alike. A goal that is missed is said, and is
 * no failure; a probe that fails is.
 *
 *	bench_goals [-s full|quick|smoke] [-r REPETITIONS] [-p] [-c CHART] BUILD
 *
 * -p measures Redis and etcd, too, and starts them. Stores are made below BUILD, where the programs are, which should be on
 * a real disk. The tables are printed in Markdown; -c draws a chart; BENCH_JSON=file keeps everything.
 */
#include <bsd/stdlib.h>
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peers.h"
#include "probes.h"
#include "scratch.h"

#define PROBE_SECONDS 300 /* before a probe is given up */

static struct scale scales[] = {
	{ "full", 7, 5, 0.15, 100, 300, 10000, 2, 1000000, 10000, 5000 },
	{ "quick", 3, 2, 0.08, 15, 60, 2000, 1, 100000, 1000, 500 },
	{ "smoke", 1, 1, 0.02, 2, 5, 20, 1, 1000, 20, 10 },
};

static const enum place mounted[] = { PLACE_FLOOR, PLACE_KEPT, PLACE_OFF, PLACE_COMMIT, PLACE_DISK, PLACE_TMPFS };
/* The lock before the others: they are filled with what it says. */
static const enum place prepared[] = { PLACE_OFF, PLACE_FLOOR, PLACE_KEPT };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct run run;

/* Into `values`, NAN if it failed. */
static void probe_take(const struct probe *probe, double *values)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		err(1, "fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(PROBE_SECONDS);
		probe->measure(probe, values + probe->into);
		_exit(0);
	}
	if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	warnx("not measured: %s", value_names[probe->into].name);
	for (unsigned int i = 0; i < probe->values; i++)
		values[probe->into + i] = NAN;
}

static bool is_wanted(const struct probe *probe)
{
	return !probe->peers || run.redis_port != 0;
}

/* Rates in short turns, of which the mean counts; then, once, what takes its time. `scratch` is shared with probes. */
static void repetition_take(struct repetition *done, struct repetition *scratch)
{
	for (size_t value = 0; value < VALUES; value++)
		done->values[value] = NAN;
	for (unsigned int turn = 0; turn < run.scale->turns; turn++) {
		for (size_t p = 0; p < probes_count; p++) {
			double *value = &done->values[probes[p].into];

			if (probes[p].once || !is_wanted(&probes[p]))
				continue;
			probe_take(&probes[p], scratch->values);
			*value = (turn == 0 ? 0 : *value) + scratch->values[probes[p].into] / run.scale->turns;
		}
	}
	for (size_t p = 0; p < probes_count; p++) {
		if (probes[p].once && is_wanted(&probes[p]))
			probe_take(&probes[p], done->values);
	}
}

/* `done` has room for one more. Returns how many probes failed. */
static unsigned int repetitions_take(struct repetition *done)
{
	unsigned int failed = 0;

	for (unsigned int i = 0; i < run.scale->repetitions; i++) {
		repetition_take(&done[i], &done[run.scale->repetitions]);
		for (size_t p = 0; p < probes_count; p++)
			failed += is_wanted(&probes[p]) && isnan(done[i].values[probes[p].into]) ? 1 : 0;
		(void)fprintf(stderr, "repetition %u of %u\n", i + 1, run.scale->repetitions);
	}
	return failed;
}

static void held_fill(void)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		err(1, "fork");
	if (child == 0) {
		held_prepare();
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		errx(1, "the locks to be held were not taken");
}

static unsigned int measure(bool peers, struct repetition *done)
{
	unsigned int failed;

	held_fill();
	if (peers)
		peers_start();
	for (size_t i = 0; i < COUNT(mounted); i++)
		mount_start(mounted[i]);
	for (size_t i = 0; i < COUNT(prepared); i++)
		read_prepare(prepared[i]);
	failed = repetitions_take(done);
	for (size_t i = 0; i < COUNT(mounted); i++)
		mount_stop(mounted[i]);
	peers_stop();
	return failed;
}

/* Measures in a child, so that whatever becomes of it, mounts and files are removed. Processes die with it. */
static int measure_apart(bool peers, const char *chart)
{
	struct repetition *done = mmap(NULL, (REPETITIONS + 1) * sizeof(*done), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int status;

	if (done == MAP_FAILED)
		err(1, "mmap");
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (child == 0) {
		unsigned int failed;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* A lock that is taken without @who belongs to the caller's session. */
		setsid();
		failed = measure(peers, done);
		_exit(failed == 0 ? 0 : 2);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		kill(child, SIGKILL);
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 1)
		return 1;
	goals_print(done, run.scale->repetitions);
	if (getenv("BENCH_JSON") != NULL)
		goals_save(getenv("BENCH_JSON"), done, run.scale->repetitions);
	if (chart != NULL)
		goals_draw(chart, done, run.scale->repetitions);
	return WEXITSTATUS(status);
}

static void on_signal(int number)
{
	(void)number;
}

static void signals_catch(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < COUNT(ends); i++)
		(void)sigaction(ends[i], &action, NULL);
}

static struct scale *scale_find(const char *name)
{
	for (size_t i = 0; i < COUNT(scales); i++) {
		if (strcmp(scales[i].name, name) == 0)
			return &scales[i];
	}
	errx(2, "%s: the scales are full, quick and smoke", name);
}

/* Everything of this run is below a directory of its own, and one in memory. */
static int run_all(bool peers, const char *chart)
{
	char memory[PATH_MAX];
	char *remove[] = { "rm", "-rf", memory, NULL };
	char *scratch;
	int status;

	if (setenv("TMPDIR", run.build, 1) != 0)
		err(1, "setenv");
	scratch = scratch_new();
	run.dir = scratch;
	(void)snprintf(memory, sizeof(memory), "/dev/shm/%s", strrchr(scratch, '/') + 1);
	/* Orphans become this process's children, so it can wait for their end before it removes anything. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	status = measure_apart(peers, chart);
	mounts_clean(scratch);
	(void)program_run(remove, 1);
	while (wait(NULL) > 0) {}
	scratch_remove(scratch);
	return status;
}

int main(int argc, char **argv)
{
	char build[PATH_MAX];
	struct scale *scale = &scales[0];
	const char *repetitions = NULL;
	const char *wrong = NULL;
	const char *chart = NULL;
	bool peers = false;
	int c;

	while ((c = getopt(argc, argv, "s:r:c:p")) != -1) {
		switch (c) {
		case 's': scale = scale_find(optarg); break;
		case 'r': repetitions = optarg; break;
		case 'c': chart = optarg; break;
		case 'p': peers = true; break;
		default: return 2;
		}
	}
	if (argc - optind != 1) {
		(void)fputs("usage: bench_goals [-s full|quick|smoke] [-r REPETITIONS] [-p] [-c CHART] BUILD\n",
			    stderr);
		return 2;
	}
	if (realpath(argv[optind], build) == NULL)
		err(1, "%s", argv[optind]);
	run.build = build;
	run.scale = scale;
	if (repetitions != NULL)
		scale->repetitions = (unsigned int)strtonum(repetitions, 1, REPETITIONS, &wrong);
	if (wrong != NULL)
		errx(2, "repetitions: a number from 1 to %d", REPETITIONS);
	if (peers && !peers_there())
		errx(1, "redis-server, redis-cli, etcd and etcdctl must be installed");
	signals_catch();
	return run_all(peers, chart);
}
