#include "core_load.h"

#include <err.h>
#include <pthread.h>
#include <time.h>

#define NANO 1e9
#define CONTENDERS 8 /* at most */
#define TURNS 10     /* of each side in one repetition */
#define TURN_SECONDS 0.05

/* What one side has done in a repetition. */
struct tally {
	uint64_t calls;
	double seconds;
};

struct worker {
	pthread_t thread;
	unsigned int index;
	load_fn *fn;
	void *arg;
	double until;
	uint64_t turns;
};

double load_clock(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / NANO;
}

static void *worker_run(void *arg)
{
	struct worker *worker = arg;

	while (load_clock() < worker->until)
		worker->fn(worker->arg, worker->index, worker->turns++);
	return NULL;
}

static void turn_run(const struct contender *contender, struct tally *tally)
{
	struct worker workers[LOAD_THREADS];
	uint64_t before = tally->calls;
	double begun = load_clock();

	for (unsigned int i = 0; i < LOAD_THREADS; i++) {
		workers[i] = (struct worker){
			.index = i,
			.fn = contender->fn,
			.arg = contender->arg,
			.until = begun + TURN_SECONDS,
			.turns = before,
		};
	}
	for (unsigned int i = 1; i < contender->threads; i++) {
		if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]) != 0)
			errx(1, "cannot start a thread");
	}
	(void)worker_run(&workers[0]);
	for (unsigned int i = 1; i < contender->threads; i++)
		(void)pthread_join(workers[i].thread, NULL);
	for (unsigned int i = 0; i < contender->threads; i++)
		tally->calls += workers[i].turns - before;
	tally->seconds += load_clock() - begun;
}

void load_compare(struct contender *contenders, size_t count)
{
	for (int repetition = 0; repetition < REPETITIONS; repetition++) {
		struct tally tallies[CONTENDERS] = { { .calls = 0 } };

		for (int turn = 0; turn < TURNS; turn++)
			for (size_t i = 0; i < count; i++)
				turn_run(&contenders[i], &tallies[i]);
		for (size_t i = 0; i < count; i++)
			series_add(&contenders[i].rate, (double)tallies[i].calls / tallies[i].seconds);
	}
}

double load_times(uint64_t count, load_fn *fn, void *arg)
{
	double begun = load_clock();

	for (uint64_t turn = 0; turn < count; turn++)
		fn(arg, 0, turn);
	return (double)count / (load_clock() - begun);
}
