#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "moment.h"

#define TICK INT64_C(5000000)        /* 5 ms between two looks at the processes */
#define PATIENCE (5 * ATLOCK_SECOND) /* how long a process has to end when it is told so, before it is killed */

/* What the processes share. */
struct shared {
	atomic_uint ready;
	atomic_bool go;
	atomic_bool stop;
	_Atomic int64_t granted;
	struct bench_tally tallies[];
};

struct crew {
	const struct bench_place *place;
	const struct bench_work *work;
	unsigned int jobs;
	struct shared *shared;
	size_t size;
	pid_t pids[BENCH_JOBS_MAX];
	int links[2][2]; /* of a pair: what the first reads, what the second reads */
};

/* --- Signals --- */

static volatile sig_atomic_t came;
static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

static void on_signal(int number)
{
	came = number;
}

void bench_signals_keep(void)
{
	struct sigaction action = { .sa_handler = on_signal }; /* calls that wait must end: no SA_RESTART */
	struct sigaction old;

	for (size_t i = 0; i < SIGNALS; i++) {
		sigaction(signals[i], NULL, &old);
		if (old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

int bench_signal(void)
{
	return came;
}

/* --- A process of the crew --- */

/* The parent gets the terminal's signals and ends its workers with SIGTERM; the kernel does so if the parent dies. */
static void worker_prepare(pid_t parent)
{
	struct sigaction action = { .sa_handler = on_signal };

	came = 0;
	for (size_t i = 0; i < SIGNALS; i++)
		signal(signals[i], SIG_IGN);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		came = SIGTERM;
}

static void worker_loop(const struct crew *crew, struct bench_worker *worker)
{
	struct shared *shared = crew->shared;
	struct bench_tally *tally = worker->tally;
	int err = 0;

	atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load(&shared->go) && came == 0)
		usleep(500);
	tally->begun = tally->ended = moment_steady();
	while (came == 0 && (err == 0 || err == -EAGAIN) && !atomic_load(&shared->stop)) {
		err = crew->work->step(worker);
		tally->ended = moment_steady();
		if (err == -EAGAIN) {
			tally->refused++;
			usleep(BENCH_PAUSE);
		}
	}
	if (came == 0 && err != -EAGAIN && err != -EPIPE)
		tally->err = -err;
}

static void worker_main(const struct crew *crew, unsigned int number, pid_t parent)
{
	struct bench_worker worker = {
		.place = crew->place,
		.number = number,
		.tally = &crew->shared->tallies[number],
		.granted = &crew->shared->granted,
		.link = { -1, -1 },
	};

	worker_prepare(parent);
	if (crew->work->pair) {
		worker.link[0] = crew->links[number][0];
		worker.link[1] = crew->links[1 - number][1];
		close(crew->links[1 - number][0]);
		close(crew->links[number][1]);
	}
	crew->work->begin(&worker);
	worker_loop(crew, &worker);
	crew->work->end(&worker);
	_exit(0);
}

/* --- All of them --- */

static int links_make(struct crew *crew)
{
	for (size_t i = 0; i < 2; i++)
		crew->links[i][0] = crew->links[i][1] = -1;
	for (size_t i = 0; crew->work->pair && i < 2; i++)
		if (pipe2(crew->links[i], O_CLOEXEC) != 0)
			return -errno;
	return 0;
}

static void links_close(const struct crew *crew)
{
	for (size_t i = 0; i < 4; i++)
		if (crew->links[i / 2][i % 2] >= 0)
			close(crew->links[i / 2][i % 2]);
}

static int crew_start(struct crew *crew)
{
	pid_t parent = getpid();
	int err = links_make(crew);

	fflush(NULL);
	for (unsigned int i = 0; err == 0 && i < crew->jobs; i++) {
		crew->pids[i] = fork();
		if (crew->pids[i] == 0)
			worker_main(crew, i, parent);
		if (crew->pids[i] < 0) {
			err = -errno;
			crew->pids[i] = 0;
		}
	}
	links_close(crew);
	return err;
}

static unsigned int crew_left(struct crew *crew)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < crew->jobs; i++) {
		if (crew->pids[i] > 0 && waitpid(crew->pids[i], NULL, WNOHANG) == crew->pids[i])
			crew->pids[i] = 0;
		left += crew->pids[i] > 0;
	}
	return left;
}

static void crew_kill(const struct crew *crew, int number)
{
	for (unsigned int i = 0; i < crew->jobs; i++)
		if (crew->pids[i] > 0)
			kill(crew->pids[i], number);
}

/* Tells the processes to release what they hold and to end; one that blocks in a wait gets SIGTERM. */
static void crew_end(struct crew *crew)
{
	int64_t begun = moment_steady();
	bool told = bench_signal() != 0;

	atomic_store(&crew->shared->stop, true);
	atomic_store(&crew->shared->go, true);
	if (told)
		crew_kill(crew, SIGTERM);
	while (crew_left(crew) > 0) {
		int64_t since = moment_steady() - begun;

		if (!told && since > ATLOCK_SECOND) {
			told = true;
			crew_kill(crew, SIGTERM);
		}
		if (since > PATIENCE)
			crew_kill(crew, SIGKILL);
		moment_sleep(TICK);
	}
}

/* Returns when the time is over, a signal came, or a process ended early because a call failed. */
static void crew_watch(struct crew *crew, int64_t duration, void (*tick)(void *arg, double share), void *arg)
{
	int64_t begun;

	while (atomic_load(&crew->shared->ready) < crew->jobs && crew_left(crew) == crew->jobs && bench_signal() == 0)
		moment_sleep(TICK);
	begun = moment_steady();
	atomic_store(&crew->shared->go, true);
	while (moment_steady() - begun < duration && bench_signal() == 0 && crew_left(crew) == crew->jobs) {
		tick(arg, (double)(moment_steady() - begun) / (double)duration);
		moment_sleep(TICK);
	}
}

static void result_take(const struct crew *crew, struct bench_result *out)
{
	int64_t begun = INT64_MAX;
	int64_t ended = 0;

	*out = (struct bench_result){ .err = 0 };
	for (unsigned int i = 0; i < crew->jobs; i++) {
		const struct bench_tally *tally = &crew->shared->tallies[i];

		histogram_merge(&out->took, &tally->took);
		out->refused += tally->refused;
		if (out->err == 0)
			out->err = tally->err;
		if (tally->begun < begun)
			begun = tally->begun;
		if (tally->ended > ended)
			ended = tally->ended;
	}
	out->seconds = (double)(ended - begun) / (double)ATLOCK_SECOND;
}

int bench_crew(const struct bench_place *place, const struct bench_work *work, unsigned int jobs, int64_t duration,
	       void (*tick)(void *arg, double share), void *arg, struct bench_result *out)
{
	struct crew crew = { .place = place, .work = work, .jobs = jobs };
	int err;

	crew.size = sizeof(*crew.shared) + crew.jobs * sizeof(crew.shared->tallies[0]);
	crew.shared = mmap(NULL, crew.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (crew.shared == MAP_FAILED)
		return -errno;
	err = crew_start(&crew);
	if (err == 0)
		crew_watch(&crew, duration, tick, arg);
	crew_end(&crew);
	result_take(&crew, out);
	munmap(crew.shared, crew.size);
	if (err == 0)
		err = -out->err;
	return bench_signal() != 0 ? bench_signal() : err;
}
