/*
 * Power cuts. Processes write to a store and are killed; everything they do to its files is recorded. Then the recording is
 * played to a model of a disk, and at points of it the files that a power cut might leave are opened, compared with what the
 * store had answered until then, and written to. In some lives the disk begins to fail.
 *
 *	crash [seed [points]]
 *
 * In the end the same is tried on a disk that ignores the log's syncs: if no image fails there, the test sees nothing.
 */
#include "disk.h"
#include "lmdb_flusher.h"
#include "scratch.h"
#include "tape.h"
#include "work.h"

#include <bsd/stdlib.h>
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMITS 150 /* in each life */
#define FLUSH 61    /* commits from one flush to the next */
#define DURABLE 17  /* and from one that is synced without sync to the next */
#define GIVEN 40    /* writes that the flusher gives LMDB beside the commits */
#define PAUSE 200   /* us, at most, from one commit to the next */
#define POINTS 20

static const enum tape_fault lives[] = { TAPE_SOUND, TAPE_META, TAPE_PAGES, TAPE_SOUND };

struct run {
	enum store_sync sync;
	unsigned int seed;
	size_t points;
	bool deaf; /* the disk ignores the log's syncs */
	char *dir; /* where the store is written */
	char *cut; /* where a power cut leaves it */
	struct tape *tape;
	struct disk *disk;
};

/* What the store has answered. */
struct answers {
	unsigned int last;
	unsigned int durable; /* the last one that must be there */
};

static struct store *store_start(const char *dir, enum store_sync sync)
{
	struct store *store;
	char why[512];

	if (store_open(&store, dir, &(struct store_options){ .sync = sync }, why, sizeof(why)) < 0) {
		(void)printf("%s\n", why);
		exit(1);
	}
	return store;
}

/* A commit, and from time to time what LMDB has to do. Negative errno. */
static int life_step(const struct run *run, struct store *store, unsigned int n, enum tape_fault fault)
{
	bool durable = run->sync == STORE_SYNC_COMMIT || n % DURABLE == 0;
	int rc = work_commit(store, n, n % DURABLE == 0);

	/* Where nothing waits for a disk, one thread would be done before the other has begun. */
	(void)usleep(arc4random_uniform(PAUSE));
	if (rc < 0)
		return rc;
	tape_note(n, durable);
	rc = n % FLUSH == 0 ? store_flush(store) : 0;
	return fault == TAPE_PAGES && rc == -EIO ? 0 : rc;
}

/*
 * One life of the store, which a kill ends. A disk that fails to sync is no reason not to go on: there is the log. After the
 * page that makes a transaction current has failed, nothing may be answered any more.
 */
static void life(const struct run *run, enum tape_fault fault)
{
	tape_start(run->tape);
	lmdb_flusher_writes = GIVEN;
	struct store *store = store_start(run->dir, run->sync);
	int state = work_state(store);
	int rc = 0;

	if (state < 0)
		exit(1);
	for (unsigned int i = 1; i <= COMMITS && rc == 0; i++) {
		if (i == COMMITS / 2)
			tape_fail(fault);
		rc = life_step(run, store, (unsigned int)state + i, fault);
	}
	if (fault == TAPE_META && (work_commit(store, 1, false) != -EIO || store_flush(store) != -EIO))
		errx(1, "the store goes on");
	if ((rc < 0) != (fault == TAPE_META) || (tape_failed() > 0) != (fault != TAPE_SOUND))
		errx(1, "fault %d, met %u times: %d", (int)fault, tape_failed(), rc);
	if (fault == TAPE_SOUND && tape_aside() == 0)
		errx(1, "LMDB was given nothing while commits went on");
	_exit(0);
}

/* What comes up after a power cut: a state that may be, and one that can be gone on from. */
static void look(const struct run *run, const struct answers *answers)
{
	struct store *store = store_start(run->cut, run->sync);
	int state = work_state(store);

	if (state < (int)answers->durable || state > (int)answers->last + 1) {
		(void)printf("state %d where %u was promised and %u answered\n", state, answers->durable,
			     answers->last);
		exit(1);
	}
	if (work_commit(store, (unsigned int)state + 1, false) < 0 || work_state(store) != state + 1) {
		(void)printf("state %d cannot be gone on from\n", state);
		exit(1);
	}
	store_close(store);
	exit(0);
}

/* Waits for a child. True if it ended well. */
static bool child_ends_well(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(1, "child");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A store that is there, closed, and on disk. */
static void store_make(const struct run *run)
{
	pid_t pid = fork();

	if (pid == 0) {
		store_close(store_start(run->dir, STORE_SYNC_COMMIT));
		exit(0);
	}
	if (!child_ends_well(pid))
		errx(1, "no store");
}

static void lives_record(const struct run *run)
{
	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		pid_t pid = fork();

		if (pid == 0)
			life(run, lives[i]);
		if (!child_ends_well(pid))
			errx(1, "a life ended badly");
	}
}

static bool cut_survives(const struct run *run, const struct answers *answers)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/lock.mdb", run->cut);
	(void)unlink(path);
	pid_t pid = fork();
	if (pid == 0) {
		if (run->deaf && freopen("/dev/null", "w", stdout) == NULL)
			exit(1);
		look(run, answers);
	}
	return child_ends_well(pid);
}

/* Cuts the power at one point, in all ways. Returns how many images did not survive. */
static size_t cut(struct run *run, const struct answers *answers, size_t op)
{
	size_t failed = 0;

	for (enum disk_loss loss = DISK_LOSES_ALL; loss < DISK_LOSSES; loss++) {
		unsigned int seed = run->seed;

		disk_write(run->disk, loss, &run->seed, run->cut);
		if (cut_survives(run, answers))
			continue;
		failed++;
		if (!run->deaf)
			(void)printf("operation %zu of %zu, loss %d, seed %u\n", op, tape_count(run->tape), (int)loss,
				     seed);
	}
	return failed;
}

/* Plays the tape, with the power cut at points spread over it by chance. */
static size_t play(struct run *run, size_t *images)
{
	struct answers answers = { .last = 0 };
	size_t left = tape_count(run->tape);
	size_t points = run->points;
	size_t failed = 0;

	for (const struct tape_op *op = tape_next(run->tape, NULL); op != NULL; op = tape_next(run->tape, op)) {
		if (op->kind == TAPE_NOTE) {
			answers.last = (unsigned int)op->at;
			answers.durable = op->durable ? answers.last : answers.durable;
		} else if (op->kind != TAPE_SYNC || op->file != TAPE_LOG || !run->deaf) {
			disk_apply(run->disk, op);
		}
		if ((size_t)rand_r(&run->seed) % left-- < points) {
			points--;
			failed += cut(run, &answers, tape_count(run->tape) - left);
			*images += DISK_LOSSES;
		}
	}
	return failed;
}

static size_t run_all(unsigned int seed, size_t points, enum store_sync sync, bool deaf)
{
	struct run run = { .sync = sync, .seed = seed, .points = points, .deaf = deaf };
	size_t images = 0;

	run.dir = scratch_new();
	run.cut = scratch_new();
	store_make(&run);
	run.tape = tape_new(run.dir);
	run.disk = disk_new(run.dir);
	lives_record(&run);
	size_t failed = play(&run, &images);
	(void)printf("sync=%s%s: %zu operations, %zu images, %zu did not survive\n",
		     sync == STORE_SYNC_COMMIT ? "commit" : "off", deaf ? ", the log's syncs ignored" : "",
		     tape_count(run.tape), images, failed);
	disk_free(run.disk);
	tape_free(run.tape);
	scratch_remove(run.cut);
	scratch_remove(run.dir);
	return failed;
}

static unsigned int number_of(const char *text, unsigned int most)
{
	const char *error;
	unsigned int number = (unsigned int)strtonum(text, 1, most, &error);

	if (error != NULL)
		errx(2, "%s is %s: crash [seed [points]]", text, error);
	return number;
}

int main(int argc, char **argv)
{
	unsigned int seed = argc > 1 ? number_of(argv[1], INT_MAX) : 1;
	size_t points = argc > 2 ? number_of(argv[2], INT_MAX) : POINTS;

	setlinebuf(stdout); /* children must not print what is the parent's */
	(void)printf("seed %u\n", seed);
	size_t failed = run_all(seed, points, STORE_SYNC_COMMIT, false);
	failed += run_all(seed, points, STORE_SYNC_OFF, false);
	if (run_all(seed, POINTS, STORE_SYNC_COMMIT, true) == 0) {
		(void)printf("a disk that ignores syncs was not noticed\n");
		failed++;
	}
	return failed == 0 ? 0 : 1;
}
