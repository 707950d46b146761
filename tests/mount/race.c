/*
 * Many processes after one lock.
 *
 *	mount-race exclusive FILE PROCESSES ROUNDS   all create it with O_EXCL: one gets it, the rest EEXIST
 *	mount-race named FILE PROCESSES ROUNDS       the same, each under its own "@" name
 *	mount-race create FILE PROCESSES ROUNDS      all create it without O_EXCL: one gets it, the rest EBUSY
 *	mount-race newcomers FILE PROCESSES          all try without a pause, until SIGTERM; prints how often one got it
 *
 * Every process is a session of its own, so each is another holder. Exits 1 if a round went otherwise, and says how.
 */
#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 1024
#define ROUNDS_MAX 1000000

static const struct contest {
	const char *word;
	int flags;
	int refusal; /* what everybody gets who does not get the lock */
	bool named;
	bool endless;
} contests[] = {
	{ .word = "exclusive", .flags = O_EXCL, .refusal = EEXIST },
	{ .word = "named", .flags = O_EXCL, .refusal = EEXIST, .named = true },
	{ .word = "create", .refusal = EBUSY },
	{ .word = "newcomers", .flags = O_EXCL, .refusal = EEXIST, .named = true, .endless = true },
};

/* What the processes share. */
struct arena {
	pthread_barrier_t barrier;
	atomic_int winners;  /* of this round; of newcomers: of all tries */
	atomic_int surprise; /* an errno that nobody should have got */
	atomic_bool over;
};

static volatile sig_atomic_t terminated;

static void on_term(int signal)
{
	(void)signal;
	terminated = 1;
}

/* Whether this process got the lock. */
static bool attempt(struct arena *arena, const struct contest *contest, const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC | contest->flags, 0644);

	if (fd >= 0) {
		atomic_fetch_add(&arena->winners, 1);
		close(fd);
		return true;
	}
	if (errno != contest->refusal)
		atomic_store(&arena->surprise, errno);
	return false;
}

static void judge(struct arena *arena, long long round)
{
	int winners = atomic_exchange(&arena->winners, 0);
	int surprise = atomic_load(&arena->surprise);

	if (winners == 1 && surprise == 0)
		return;
	fprintf(stderr, "round %lld: %d winners%s%s\n", round, winners,
		surprise == 0 ? "" : ", and somebody got: ", surprise == 0 ? "" : strerror(surprise));
	atomic_store(&arena->over, true);
}

static void run_rounds(struct arena *arena, const struct contest *contest, const char *path, long long rounds,
		       bool judges)
{
	for (long long round = 0; round < rounds; round++) {
		bool won;

		pthread_barrier_wait(&arena->barrier);
		won = attempt(arena, contest, path);
		pthread_barrier_wait(&arena->barrier);
		if (judges)
			judge(arena, round);
		if (won && unlink(path) != 0) {
			fprintf(stderr, "round %lld: the winner cannot release: %s\n", round, strerror(errno));
			atomic_store(&arena->over, true);
		}
		pthread_barrier_wait(&arena->barrier);
		if (atomic_load(&arena->over))
			return;
	}
}

static void run_newcomer(struct arena *arena, const struct contest *contest, const char *path)
{
	while (!terminated && atomic_load(&arena->surprise) == 0)
		attempt(arena, contest, path);
}

static void run_child(struct arena *arena, const struct contest *contest, const char *file, long long rounds, int self)
{
	char path[4096];

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setsid();
	if (contest->named)
		snprintf(path, sizeof(path), "%s@p%d", file, self);
	else
		snprintf(path, sizeof(path), "%s", file);
	if (contest->endless)
		run_newcomer(arena, contest, path);
	else
		run_rounds(arena, contest, path, rounds, self == 0);
	_exit(0);
}

static struct arena *arena_new(unsigned int processes)
{
	struct arena *arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attr;

	if (arena == MAP_FAILED)
		return NULL;
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&arena->barrier, &attr, processes);
	pthread_barrierattr_destroy(&attr);
	return arena;
}

/* Passes SIGTERM on to the children, which have left the session. */
static void wait_all(const pid_t *children, int n)
{
	int left = n;

	while (left > 0) {
		if (waitpid(-1, NULL, 0) > 0)
			left--;
		else if (errno != EINTR)
			return;
		else
			for (int i = 0; i < n; i++)
				kill(children[i], SIGTERM);
	}
}

static int run(const struct contest *contest, const char *file, int processes, long long rounds)
{
	struct sigaction action = { .sa_handler = on_term };
	struct arena *arena = arena_new((unsigned int)processes);
	pid_t children[PROCESSES_MAX];

	if (arena == NULL)
		return 1;
	sigaction(SIGTERM, &action, NULL);
	for (int i = 0; i < processes; i++) {
		children[i] = fork();
		if (children[i] < 0) {
			perror("fork");
			return 1;
		}
		if (children[i] == 0)
			run_child(arena, contest, file, rounds, i);
	}
	wait_all(children, processes);
	if (contest->endless)
		printf("%d\n", atomic_load(&arena->winners));
	if (contest->endless && atomic_load(&arena->surprise) != 0)
		fprintf(stderr, "a newcomer got: %s\n", strerror(atomic_load(&arena->surprise)));
	return atomic_load(&arena->over) || atomic_load(&arena->surprise) != 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
	const char *wrong = NULL;
	long long processes = argc > 3 ? strtonum(argv[3], 1, PROCESSES_MAX, &wrong) : 0;
	long long rounds = argc > 4 && wrong == NULL ? strtonum(argv[4], 1, ROUNDS_MAX, &wrong) : 0;

	for (size_t i = 0; wrong == NULL && i < sizeof(contests) / sizeof(contests[0]); i++)
		if (argc == (contests[i].endless ? 4 : 5) && strcmp(contests[i].word, argv[1]) == 0)
			return run(&contests[i], argv[2], (int)processes, rounds);
	fputs("usage: mount-race exclusive|named|create FILE PROCESSES ROUNDS, or newcomers FILE PROCESSES\n", stderr);
	return 2;
}
