#include "procs.h"

#include <err.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NANO 1e9
#define CLOCK_EVERY 16 /* steps between two looks at the clock, as soon as that is short enough */

/* What the processes share. */
struct shared {
	atomic_uint ready;
	atomic_bool go;
	struct {
		uint64_t steps;
		double end;
	} done[PROCS_MAX];
};

/* How long. */
struct span {
	double seconds;
	uint64_t steps;
};

double procs_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / NANO;
}

static void process_run(struct shared *shared, const struct work *work, void *arg, unsigned int number,
			struct span span)
{
	uint64_t every = 1;
	uint64_t count = 0;
	double begun;

	work->begin(arg, number);
	work->step(arg); /* the first one finds out what the following know */
	atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load(&shared->go))
		usleep(500);
	begun = procs_clock();
	do {
		work->step(arg);
		count++;
		if (count == CLOCK_EVERY && procs_clock() - begun < span.seconds / CLOCK_EVERY)
			every = CLOCK_EVERY;
	} while (span.steps > 0 ? count < span.steps : count % every != 0 || procs_clock() - begun < span.seconds);
	shared->done[number].steps = count;
	shared->done[number].end = procs_clock();
}

static void processes_start(pid_t *pids, struct shared *shared, const struct work *work, void *arg,
			    unsigned int processes, struct span span)
{
	for (unsigned int i = 0; i < processes; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			err(1, "fork");
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			process_run(shared, work, arg, i, span);
			_exit(0);
		}
	}
}

/* Waits for those that are left, or with WNOHANG takes what has ended; exits if one did not end well. */
static void processes_reap(pid_t *pids, unsigned int processes, int flags)
{
	int status;

	for (unsigned int i = 0; i < processes; i++) {
		if (pids[i] == 0 || waitpid(pids[i], &status, flags) != pids[i])
			continue;
		pids[i] = 0;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			errx(1, "a process failed");
	}
}

double procs_rate(const struct work *work, void *arg, unsigned int processes, double seconds, uint64_t steps)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[PROCS_MAX];
	uint64_t total = 0;
	double end = 0;
	double begun;

	if (shared == MAP_FAILED)
		err(1, "mmap");
	processes_start(pids, shared, work, arg, processes, (struct span){ seconds, steps });
	while (atomic_load(&shared->ready) < processes) {
		processes_reap(pids, processes, WNOHANG);
		usleep(1000);
	}
	begun = procs_clock();
	atomic_store(&shared->go, true);
	processes_reap(pids, processes, 0);
	for (unsigned int i = 0; i < processes; i++) {
		total += shared->done[i].steps;
		if (shared->done[i].end > end)
			end = shared->done[i].end;
	}
	munmap(shared, sizeof(*shared));
	return (double)total / (end - begun);
}
