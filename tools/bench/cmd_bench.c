/* atlock bench: what this mount on this host can do, measured by plain system calls on locks that no other program uses. */
#include <bsd/stdlib.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "bench_command.h"
#include "choice.h"
#include "term.h"

#define JOBS 8
#define DURATION (3 * ATLOCK_SECOND)
#define DURATION_MAX (600 * ATLOCK_SECOND)

static const struct {
	const struct bench_work *work;
	bool jobs; /* with all of them; else one */
} plan[] = { { &bench_cycle, false }, { &bench_cycle, true }, { &bench_read, false }, { &bench_hand, false } };

#define PLAN (sizeof(plan) / sizeof(plan[0]))

static const struct {
	const char *key;
	double share;
} shares[] = { { "p50_us", 0.5 }, { "p90_us", 0.9 }, { "p99_us", 0.99 } };

#define SHARES (sizeof(shares) / sizeof(shares[0]))

struct bench {
	struct tool *tool;
	struct mount mount;
	struct bench_place *place;
	struct progress progress;
	unsigned int jobs;
	int64_t duration;
	bool json;
	bool force;
	bool wanted[PLAN];
	char sync[16];
	char rate_limit[32];
	json_t *figures;
	uint64_t refused;
};

/* --- What it shows --- */

static void tick(void *arg, double share)
{
	struct progress *progress = arg;

	progress->done = (uint64_t)(share * 100);
	progress_step(progress);
}

/* "87us", "1.24ms" */
static const char *time_text(uint64_t nanoseconds, char out[32])
{
	double value = (double)nanoseconds / 1000;

	if (value < 1000)
		(void)snprintf(out, 32, "%.*fus", value < 10 ? 1 : 0, value);
	else if (value < 1000000)
		(void)snprintf(out, 32, "%.*fms", value < 100000 ? 1 : 0, value / 1000);
	else
		(void)snprintf(out, 32, "%.1fs", value / 1000000);
	return out;
}

/* A pair has no rate: it pauses between two hand-overs. */
static void figure_print(const struct bench_work *work, unsigned int jobs, const struct bench_result *result)
{
	double rate = (double)result->took.count / result->seconds;
	char text[32] = "-";

	if (!work->pair)
		(void)snprintf(text, sizeof(text), "%.*f", rate < 10 ? 1 : 0, rate);
	printf("%-30s %9u %10s", work->title, jobs, text);
	for (size_t i = 0; i < SHARES; i++)
		printf(" %8s", time_text(histogram_at(&result->took, shares[i].share), text));
	putchar('\n');
	fflush(stdout);
}

static int figure_add(struct bench *bench, const struct bench_work *work, unsigned int jobs,
		      const struct bench_result *result)
{
	json_t *figure = json_pack("{s:s, s:i, s:I, s:f, s:I}", "what", work->name, "processes", (int)jobs, "count",
				   (json_int_t)result->took.count, "seconds", result->seconds, "refused",
				   (json_int_t)result->refused);
	int err = json_array_append_new(bench->figures, figure);

	if (err == 0 && !work->pair)
		err = json_object_set_new(figure, "rate", json_real((double)result->took.count / result->seconds));
	for (size_t i = 0; err == 0 && i < SHARES; i++)
		err = json_object_set_new(figure, shares[i].key,
					  json_real((double)histogram_at(&result->took, shares[i].share) / 1000));
	return err == 0 ? EXIT_DONE : tool_no_memory(bench->tool);
}

static void head_print(const struct bench *bench)
{
	bool off = strcmp(bench->sync, "off") == 0;

	printf("%s: sync=%s%s, %ld processors, in %s\n\n", term_text(bench->mount.path), bench->sync,
	       off ? " (what is acknowledged may be lost in a power cut)" : "", sysconf(_SC_NPROCESSORS_ONLN),
	       bench->place->dir);
	printf("%s%-30s %9s %10s %8s %8s %8s%s\n", term_color(stdout, TERM_BOLD), "", "processes", "a second", "p50",
	       "p90", "p99", term_color(stdout, TERM_PLAIN));
	fflush(stdout);
}

static int json_print(struct bench *bench)
{
	json_t *object = json_pack("{s:s, s:s, s:i, s:f, s:I, s:O}", "mount", bench->mount.path, "sync", bench->sync,
				   "processors", (int)sysconf(_SC_NPROCESSORS_ONLN), "seconds",
				   (double)bench->duration / (double)ATLOCK_SECOND, "refused",
				   (json_int_t)bench->refused, "figures", bench->figures);
	int code = object == NULL || json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)) != 0
			   ? tool_no_memory(bench->tool)
			   : EXIT_DONE;

	json_decref(object);
	putchar('\n');
	return code;
}

/* --- Measuring --- */

/* `why` has the last refusal of this session, which is that of a worker. */
static int measure_failed(const struct bench *bench, int err)
{
	char why[512];

	lockpath_why(&bench->mount, "", why, sizeof(why));
	return tool_fail(bench->tool, err == EDQUOT ? EXIT_TRY_AGAIN : tool_exit_code(err), "%s: %s", bench->place->dir,
			 why[0] == '\0' ? strerror(err) : why);
}

static int measure(struct bench *bench, size_t i)
{
	const struct bench_work *work = plan[i].work;
	unsigned int jobs = work->pair ? 2 : plan[i].jobs ? bench->jobs : 1;
	struct bench_result *result = calloc(1, sizeof(*result));
	char title[64];
	int code = EXIT_DONE;
	int err;

	if (result == NULL)
		return tool_no_memory(bench->tool);
	(void)snprintf(title, sizeof(title), "%s, %u process%s", work->title, jobs, jobs == 1 ? "" : "es");
	progress_begin(&bench->progress, title, 100);
	err = bench_crew(bench->place, work, jobs, bench->duration, tick, &bench->progress, result);
	progress_clear(&bench->progress);
	bench->refused += result->refused;
	if (err < 0)
		code = measure_failed(bench, -err);
	else if (err == 0 && (result->took.count == 0 || result->seconds <= 0))
		code = tool_fail(bench->tool, EXIT_TRY_AGAIN, "%s: not once in that time: measure longer (--time)",
				 work->title);
	else if (err == 0 && bench->json)
		code = figure_add(bench, work, jobs, result);
	else if (err == 0)
		figure_print(work, jobs, result);
	free(result);
	return code;
}

static int bench_all(struct bench *bench)
{
	int code = EXIT_DONE;

	if (!bench->json)
		head_print(bench);
	for (size_t i = 0; code == EXIT_DONE && i < PLAN && bench_signal() == 0; i++)
		if (bench->wanted[i])
			code = measure(bench, i);
	if (code == EXIT_DONE && bench_signal() == 0 && bench->json)
		code = json_print(bench);
	if (code == EXIT_DONE && bench->refused > 0)
		(void)tool_fail(bench->tool, 0,
				"%" PRIu64 " call%s refused by the option rate_limit=%s, and made again later",
				bench->refused, bench->refused == 1 ? " was" : "s were", bench->rate_limit);
	return code;
}

static int bench_run(struct bench *bench)
{
	char hook[256];
	int code;
	int left;

	mount_line(&bench->mount, "config/sync", bench->sync, sizeof(bench->sync));
	if (bench->sync[0] == '\0')
		(void)snprintf(bench->sync, sizeof(bench->sync), "unknown");
	mount_line(&bench->mount, "config/rate_limit", bench->rate_limit, sizeof(bench->rate_limit));
	/* Only administrators may read it, unless it is empty. */
	if ((mount_line(&bench->mount, "config/on_event", hook, sizeof(hook)) == -EACCES || hook[0] != '\0') &&
	    !bench->force)
		return tool_fail(
			bench->tool, EXIT_REFUSED,
			"the option on_event is set, and its command would be told of every lock: --force does it");
	bench_signals_keep();
	bench->place = bench_place_open(bench->tool, &bench->mount, bench->jobs);
	if (bench->place == NULL)
		return tool_fail(bench->tool, EXIT_SYSTEM,
				 "the process that cleans up afterwards cannot be started: %s", strerror(errno));
	code = bench_place_make(bench->place);
	if (code == EXIT_DONE)
		code = bench_all(bench);
	left = bench_place_close(bench->place);
	if (bench_signal() != 0) {
		signal(bench_signal(), SIG_DFL);
		raise(bench_signal());
	}
	return code == EXIT_DONE ? left : code;
}

static int option_take(void *arg, int letter)
{
	struct bench *bench = arg;
	const char *wrong = NULL;
	int code;

	switch (letter) {
	case 'J':
		bench->jobs = (unsigned int)strtonum(optarg, 1, BENCH_JOBS_MAX, &wrong);
		if (wrong == NULL)
			return -1;
		return tool_usage(bench->tool, "--jobs is a number from 1 to %d, not \"%s\"", BENCH_JOBS_MAX, optarg);
	case 'T':
		code = tool_duration(bench->tool, "time", false, &bench->duration);
		if (code < 0 && bench->duration > DURATION_MAX)
			code = tool_usage(bench->tool, "--time is at most 10m");
		return code;
	case 'j': bench->json = true; return -1;
	case 'f': bench->force = true; return -1;
	default: return CHOICE_UNKNOWN;
	}
}

/* Selects the measurements that are named, or all. */
static int plan_take(struct bench *bench, char *const *words)
{
	bool all = *words == NULL;

	for (size_t i = 0; i < PLAN; i++)
		bench->wanted[i] = all && (!plan[i].jobs || bench->jobs > 1);
	for (; *words != NULL; words++) {
		bool known = false;

		for (size_t i = 0; i < PLAN; i++)
			if (strcmp(plan[i].work->name, *words) == 0) {
				bench->wanted[i] = !plan[i].jobs || bench->jobs > 1;
				known = true;
			}
		if (!known)
			return tool_usage(bench->tool, "\"%s\" is none of cycle, read and handover", *words);
	}
	return -1;
}

int cmd_bench(struct tool *tool, int argc, char **argv)
{
	struct bench bench = { .tool = tool, .jobs = JOBS, .duration = DURATION };
	int code;

	code = choice_read(tool, argc, argv, CHOICE_ANYWHERE, option_take, &bench);
	if (code >= 0)
		return code;
	code = plan_take(&bench, argv + optind);
	if (code >= 0)
		return code;
	code = mount_open(tool, &bench.mount);
	if (code != EXIT_DONE)
		return code;
	bench.figures = json_array();
	code = bench_run(&bench);
	json_decref(bench.figures);
	mount_close(&bench.mount);
	return code;
}
