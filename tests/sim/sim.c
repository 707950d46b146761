/*
 * The simulation: made-up steps against the manager and the model, compared after each. The manager runs through its
 * public header alone, on a clock that stands still between steps and a store that fails and crashes on demand.
 *
 *	sim [--seed N] [--steps N] [--engine mem|lmdb] [--verbose]	or SEED= STEPS= in the environment
 *
 * A difference ends it with the seed, the last steps, what was expected and what was found. The same seed and number of
 * steps do the same again.
 */
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compare.h"
#include "gen.h"
#include "match.h"
#include "model.h"
#include "rig.h"

#define EPOCH 4000     /* steps on one store: the event log only grows */
#define LONG_RUN 50000 /* from here on everything interesting must have happened */
#define RECENT 24

enum mishap { MISHAP_TWICE, MISHAP_FAILED, MISHAP_BEFORE, MISHAP_AFTER, MISHAP_REOPENED, MISHAP_UNCLEAN, MISHAPS };

static const char *const mishap_names[MISHAPS] = {
	"functions run twice",    "commit failed", "crashed before a commit",
	"crashed after a commit", "reopened",      "opened or closed through a failure",
};

struct sim {
	uint64_t seed;
	uint64_t steps;
	bool verbose;
	const char *lmdb;
	uint64_t at;
	struct gen gen;
	struct model model;
	struct rig rig;
	struct rig_result result;
	struct compare compare;
	struct match match;
	int64_t commit_now; /* lease time of the last change */
	bool stepped;       /* the wall clock was set since */
	char recent[RECENT][400];
	uint64_t mishaps[MISHAPS];
};

static const struct model_options defaults = {
	.default_ttl = 30 * ATLOCK_SECOND,
	.max_ttl = 120 * ATLOCK_SECOND,
	.queue_timeout = 60 * ATLOCK_SECOND,
	.claim_timeout = 10 * ATLOCK_SECOND,
	.lock_delay = 0,
	.max_queue = 5,
	.policy = ATLOCK_DEADLOCK_LIFO,
};

static bool sim_fail(struct sim *sim)
{
	(void)fflush(stdout);
	(void)fprintf(stderr, "simulation: seed %" PRIu64 " step %" PRIu64 "\n", sim->seed, sim->at);
	for (int i = RECENT - 1; i >= 0; i--) {
		if (sim->at >= (uint64_t)i && sim->recent[(sim->at - (uint64_t)i) % RECENT][0])
			(void)fprintf(stderr, "  %s\n", sim->recent[(sim->at - (uint64_t)i) % RECENT]);
	}
	(void)fprintf(stderr, "%s\n", sim->compare.text);
	return false;
}

static void step_note(struct sim *sim, const struct step *step)
{
	char *line = sim->recent[sim->at % RECENT];
	char text[320];
	step_print(step, text, sizeof text);
	(void)snprintf(line, sizeof sim->recent[0], "%" PRIu64 " [%" PRId64 "] %s", sim->at, sim->model.now, text);
	if (sim->verbose)
		(void)printf("%s\n", line);
}

static void result_note(struct sim *sim)
{
	char *line = sim->recent[sim->at % RECENT];
	size_t used = strlen(line);
	(void)snprintf(line + used, sizeof sim->recent[0] - used, " -> %d", sim->result.ret);
	for (int i = 0; i < sim->result.told_len; i++) {
		used = strlen(line);
		(void)snprintf(line + used, sizeof sim->recent[0] - used, " %d:%d", sim->result.told[i].waiter,
			       sim->result.told[i].err);
	}
	if (sim->verbose)
		(void)printf("    %s\n", line + strcspn(line, ">") - 1);
}

/* Lease time after a reopening: on by as much as the wall clock, never back, and not moved by steps of it while open. */
static bool lease_time_fits(struct sim *sim, const struct step *step, int64_t now)
{
	int64_t passed = step->advance + step->wall;
	int64_t expected = sim->model.now + (passed > 0 ? passed : 0);
	bool exact = !sim->result.unclean || (!sim->stepped && passed >= 0);
	bool fits = exact ? now == expected : now >= sim->commit_now && (sim->stepped || now <= expected);
	return fits || compare_differ(&sim->compare, "lease time is %" PRId64 " after reopening, expected %s %" PRId64,
				      now, exact ? "exactly" : "about", expected);
}

static void mishaps_count(struct sim *sim, const struct step *step)
{
	sim->mishaps[MISHAP_TWICE] += step->fault == FAULT_TWICE;
	sim->mishaps[MISHAP_FAILED] += sim->result.failed;
	sim->mishaps[MISHAP_BEFORE] += sim->result.crashed && step->fault == FAULT_CRASH_BEFORE;
	sim->mishaps[MISHAP_AFTER] += sim->result.crashed && step->fault == FAULT_CRASH_AFTER;
	sim->mishaps[MISHAP_REOPENED] += sim->result.reopened;
	sim->mishaps[MISHAP_UNCLEAN] += step->op == STEP_REOPEN && sim->result.unclean;
}

static void time_note(struct sim *sim, const struct step *step)
{
	if (step->op == STEP_WALL)
		sim->stepped = true;
	if (!sim->result.reopened && (sim->match.out.dirty == 0 || sim->result.failed))
		return;
	sim->commit_now = sim->model.now;
	sim->stepped = false;
}

static bool sim_step(struct sim *sim, const struct step *step)
{
	int64_t now = sim->model.now + (step->op == STEP_ADVANCE ? step->advance : 0);
	step_note(sim, step);
	rig_play(&sim->rig, step, &sim->result);
	result_note(sim);
	if (!sim->rig.al) {
		compare_differ(&sim->compare, "cannot be opened: %d", sim->result.ret);
		return sim_fail(sim);
	}
	observe_init(&sim->compare.seen, sim->rig.al);
	int64_t found = atlock_now(sim->rig.al);
	if (sim->result.reopened && !lease_time_fits(sim, step, found))
		return sim_fail(sim);
	if (!sim->result.reopened && found != now) {
		compare_differ(&sim->compare, "lease time is %" PRId64 ", expected %" PRId64, found, now);
		return sim_fail(sim);
	}
	bool all = sim->at % 8 == 0 || sim->result.failed;
	if (!match_step(&sim->match, step, &sim->result, found, all))
		return sim_fail(sim);
	sim->compare.floor = compare_floor(&sim->compare, &sim->model, &sim->result);
	mishaps_count(sim, step);
	time_note(sim, step);
	bool deep = sim->at % 256 == 0 || sim->result.reopened;
	if ((all || deep) && !compare_store(&sim->compare, &sim->model, deep))
		return sim_fail(sim);
	return true;
}

/* One store's life. Ends with a reopening, so that nobody who waits is left out of the reckoning. */
static bool sim_epoch(struct sim *sim, uint64_t epoch, uint64_t until)
{
	uint64_t seed = sim->seed * 1000003 + epoch;
	uint64_t tally[TALLY_COUNT];
	memcpy(tally, sim->model.tally, sizeof tally);
	model_init(&sim->model, &defaults);
	memcpy(sim->model.tally, tally, sizeof tally);
	gen_init(&sim->gen, seed, !sim->lmdb);
	sim->compare = (struct compare){ .rig = &sim->rig };
	sim->match.verbose = sim->verbose;
	sim->match.model = &sim->model;
	sim->match.compare = &sim->compare;
	sim->stepped = false;
	int err = rig_init(&sim->rig, sim->lmdb, seed, &defaults, EPOCH + 1);
	if (err < 0) {
		compare_differ(&sim->compare, "cannot be opened: %d", err);
		return sim_fail(sim);
	}
	sim->model.now = atlock_now(sim->rig.al);
	sim->commit_now = sim->model.now;
	bool good = true;
	for (; good && sim->at < until; sim->at++) {
		struct step step;
		gen_step(&sim->gen, &sim->model, &step);
		good = sim_step(sim, &step);
	}
	uint64_t bad = 0;
	if (good && (good = sim_step(sim, &(struct step){ .op = STEP_REOPEN })) &&
	    atlock_events_verify(sim->rig.al, &bad, NULL) != 0) {
		compare_differ(&sim->compare, "the chain of events is broken at %" PRIu64, bad);
		good = sim_fail(sim);
	}
	rig_fini(&sim->rig);
	return good;
}

static bool sim_report(const struct sim *sim, double seconds)
{
	bool good = true;
	for (int i = 0; i < TALLY_COUNT; i++) {
		(void)printf("%10" PRIu64 "  %s\n", sim->model.tally[i], model_tallies[i]);
		good &= sim->model.tally[i] > 0;
	}
	for (int i = 0; i < MISHAPS; i++) {
		(void)printf("%10" PRIu64 "  %s\n", sim->mishaps[i], mishap_names[i]);
		good &= sim->mishaps[i] > 0 || sim->lmdb;
	}
	for (int i = 0; i < CHOICE_KINDS; i++) {
		if (sim->match.choices[i] > 0)
			(void)printf("%10" PRIu64 "  open in the contract: %s\n", sim->match.choices[i],
				     choice_names[i]);
	}
	(void)printf("simulation: seed %" PRIu64 ", %" PRIu64 " steps in %.1f s, %.0f a second\n", sim->seed,
		     sim->steps, seconds, (double)sim->steps / seconds);
	if (good || sim->steps < LONG_RUN)
		return true;
	(void)fprintf(stderr, "simulation: something above never happened\n");
	return false;
}

static uint64_t number(const char *text, const char *what)
{
	const char *why = NULL;
	long long value = strtonum(text, 0, LLONG_MAX, &why);
	if (!why)
		return (uint64_t)value;
	(void)fprintf(stderr, "sim: %s %s: %s\n", what, text, why);
	exit(2);
}

static void options_read(struct sim *sim, bool *lmdb, int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "steps", required_argument, NULL, 'n' },
		{ "engine", required_argument, NULL, 'e' },
		{ "verbose", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	const char *seed = getenv("SEED");
	const char *steps = getenv("STEPS");
	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (option) {
		case 's': seed = optarg; break;
		case 'n': steps = optarg; break;
		case 'e': *lmdb = strcmp(optarg, "lmdb") == 0; break;
		case 'v': sim->verbose = true; break;
		default:
			(void)fprintf(stderr, "usage: sim [--seed N] [--steps N] [--engine mem|lmdb] [--verbose]\n");
			exit(2);
		}
	}
	if (optind < argc)
		seed = argv[optind++];
	if (optind < argc)
		steps = argv[optind];
	sim->seed = seed ? number(seed, "seed") : 1;
	sim->steps = steps ? number(steps, "steps") : 200000;
}

int main(int argc, char **argv)
{
	static struct sim sim;
	bool lmdb = false;
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	options_read(&sim, &lmdb, argc, argv);
	char dir[PATH_MAX];
	const char *tmp = getenv("TMPDIR");
	(void)snprintf(dir, sizeof dir, "%s/atlock-sim-XXXXXX", tmp ? tmp : "/dev/shm");
	if (lmdb && !mkdtemp(dir)) {
		perror(dir);
		return 2;
	}
	sim.lmdb = lmdb ? dir : NULL;
	if (cast_init() < 0) {
		(void)fprintf(stderr, "simulation: the names of the cast are refused\n");
		return 1;
	}
	(void)printf("simulation: seed %" PRIu64 ", %" PRIu64 " steps, %s\n", sim.seed, sim.steps,
		     lmdb ? dir : "in memory");
	struct timespec begin;
	struct timespec end;
	(void)clock_gettime(CLOCK_MONOTONIC, &begin);
	bool good = true;
	for (uint64_t epoch = 0; good && sim.at < sim.steps; epoch++)
		good = sim_epoch(&sim, epoch, sim.at + EPOCH < sim.steps ? sim.at + EPOCH : sim.steps);
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	if (good)
		good = sim_report(&sim,
				  (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	if (lmdb)
		(void)rmdir(dir);
	return good ? 0 : 1;
}
