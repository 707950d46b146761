#include "health.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alarm.h"
#include "atlock/manual.h"
#include "breaker.h"
#include "hook.h"
#include "lease.h"
#include "memory.h"
#include "op.h"
#include "space.h"
#include "text.h"
#include "why.h"

#define SEARCH_LATE (10 * ATLOCK_SECOND) /* what a search may take */
#define PROBE_EVERY ATLOCK_SECOND
#define PROBE_WAIT ATLOCK_SECOND
#define COMMIT_SLOW ATLOCK_SECOND         /* a slower commit means a disk in trouble */
#define ANSWER_LATE (2 * ATLOCK_SECOND)   /* the manager's own thread may be busy for a moment */
#define ANSWER_NEVER (30 * ATLOCK_SECOND) /* that thread hangs */
#define OVERDUE (5 * ATLOCK_SECOND)
#define WRITERS_MANY 4096 /* changes waiting for a commit: more than there are threads to make them */
#define STEP_LEAST ATLOCK_SECOND
#define STEP_SHOWN (300 * ATLOCK_SECOND)
#define DROP_SHOWN (600 * ATLOCK_SECOND)
#define NOTE_SHOWN (600 * ATLOCK_SECOND)
#define MEMORY_LEAST (UINT64_C(64) << 20)

static const char *const level_names[] = {
	[HEALTH_OK] = "ok",
	[HEALTH_DEGRADED] = "degraded",
	[HEALTH_FAILING] = "failing",
};

static const char *level_name(enum health_level level)
{
	return level_names[level];
}

int health_new(struct health **out)
{
	struct health *health = calloc(1, sizeof(*health));
	pthread_condattr_t attr;

	if (health == NULL)
		return -ENOMEM;
	health->searched = steady_now();
	pthread_mutex_init(&health->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&health->answered, &attr);
	pthread_condattr_destroy(&attr);
	*out = health;
	return 0;
}

void health_free(struct health *health)
{
	if (health == NULL)
		return;
	pthread_cond_destroy(&health->answered);
	pthread_mutex_destroy(&health->mutex);
	free(health);
}

/* --- The commit --- */

void health_run(struct atlock *al)
{
	struct health *health = al->health;
	int64_t began = steady_now();
	int rc = lease_note_clock(al);

	pthread_mutex_lock(&health->mutex);
	health->result = rc;
	health->done = steady_now();
	health->took = health->done - began;
	health->asked = 0;
	pthread_cond_broadcast(&health->answered);
	pthread_mutex_unlock(&health->mutex);
}

static void health_probe(struct atlock *al)
{
	struct health *health = al->health;
	int64_t now = steady_now();
	int64_t until = now + PROBE_WAIT;
	struct timespec end = { .tv_sec = until / ATLOCK_SECOND, .tv_nsec = until % ATLOCK_SECOND };
	bool ask;

	pthread_mutex_lock(&health->mutex);
	ask = health->asked == 0 && (health->done == 0 || now - health->done >= PROBE_EVERY);
	if (ask)
		health->asked = now;
	pthread_mutex_unlock(&health->mutex);
	if (!ask)
		return;
	if (al->alarms == NULL) {
		health_run(al);
		return;
	}
	alarm_set(al, ALARM_PROBE, 0);
	pthread_mutex_lock(&health->mutex);
	while (health->asked == now)
		if (pthread_cond_timedwait(&health->answered, &health->mutex, &end) != 0)
			break;
	pthread_mutex_unlock(&health->mutex);
}

/* --- The checks --- */

/* The values that one run of all checks works on. */
struct look {
	struct atlock *al;
	int64_t now; /* lease time */
	int64_t wall;
	struct health health; /* its plain fields only, without mutex and condition */
	struct store_stats stats;
	struct atlock_status status;
	int status_result;
	int64_t due;
};

static enum health_level check_store(const struct look *look, char *text, size_t len)
{
	if (look->stats.changed) {
		(void)snprintf(
			text, len,
			"its files were moved, removed or written to by another program: nothing is answered until "
			"the daemon is started again");
		return HEALTH_FAILING;
	}
	if (look->stats.dead) {
		(void)snprintf(text, len,
			       "a write to its main file failed: nothing works until the daemon is started again");
		return HEALTH_FAILING;
	}
	if (look->status_result < 0) {
		(void)snprintf(text, len, "it cannot be read: %s", strerror(-look->status_result));
		return HEALTH_FAILING;
	}
	if (look->health.result < 0) {
		(void)snprintf(text, len, "it cannot be written: %s", strerror(-look->health.result));
		return HEALTH_FAILING;
	}
	/* Another check reports a lack of space. */
	if (look->stats.flush_error < 0 && look->stats.flush_error != -ENOSPC) {
		(void)snprintf(text, len, "its main file cannot be written: %s; changes go on until the log is full",
			       strerror(-look->stats.flush_error));
		return HEALTH_FAILING;
	}
	if (look->health.took < COMMIT_SLOW)
		return HEALTH_OK;
	(void)snprintf(text, len, "a commit took %" PRId64 " ms", look->health.took / 1000000);
	return HEALTH_DEGRADED;
}

static enum health_level check_space(const struct look *look, char *text, size_t len)
{
	if (!look->status.store_low)
		return HEALTH_OK;
	if (look->status.events_full)
		(void)snprintf(
			text, len,
			"taking locks is refused: events have used their share of the store: atlock audit archive "
			"--before now FILE");
	else if (!space_archive_helps(look->status.events_used, look->status.store_used))
		(void)snprintf(
			text, len,
			"taking locks is refused, and it is not for events: make room on the disk of the store, release "
			"locks, or rmdir pulls/ that are closed");
	else
		(void)snprintf(
			text, len,
			"taking locks is refused: archive events (atlock audit archive --before now FILE), or make "
			"room on the disk of the store");
	return HEALTH_DEGRADED;
}

static enum health_level check_sweeper(const struct look *look, char *text, size_t len)
{
	int64_t silent = look->health.asked != 0 ? steady_now() - look->health.asked : 0;

	if (silent >= ANSWER_LATE) {
		(void)snprintf(text, len, "it has not answered for %" PRId64 " s: a commit or a sweep hangs",
			       silent / ATLOCK_SECOND);
		return silent >= ANSWER_NEVER ? HEALTH_FAILING : HEALTH_DEGRADED;
	}
	if (look->al->alarms == NULL || look->due >= look->now - OVERDUE)
		return HEALTH_OK;
	(void)snprintf(text, len, "leases have been over for %" PRId64 " s and are not ended",
		       (look->now - look->due) / ATLOCK_SECOND);
	return HEALTH_DEGRADED;
}

static enum health_level check_writer(const struct look *look, char *text, size_t len)
{
	if (look->stats.waiting < WRITERS_MANY)
		return HEALTH_OK;
	(void)snprintf(text, len, "%" PRIu64 " changes wait for a commit", look->stats.waiting);
	return HEALTH_DEGRADED;
}

static enum health_level check_clock(const struct look *look, char *text, size_t len)
{
	if (look->status_result == 0 && look->now < look->status.last_change) {
		(void)snprintf(text, len, "lease time is behind the newest change");
		return HEALTH_FAILING;
	}
	if (look->health.stepped == 0 || steady_now() - look->health.stepped >= STEP_SHOWN)
		return HEALTH_OK;
	(void)snprintf(text, len, "the wall clock was set by %" PRId64 " s; leases go on as they were",
		       look->health.step / ATLOCK_SECOND);
	return HEALTH_DEGRADED;
}

static enum health_level check_memory(const struct look *look, char *text, size_t len)
{
	uint64_t left = memory_available();

	(void)look;
	if (left == 0 || left >= MEMORY_LEAST)
		return HEALTH_OK;
	(void)snprintf(text, len, "the host has %" PRIu64 " MiB left, the daemon uses %" PRIu64 " MiB", left >> 20,
		       memory_resident() >> 20);
	return HEALTH_DEGRADED;
}

/* The engine of a store that hosts share. */
static enum health_level check_engine(const struct look *look, char *text, size_t len)
{
	const struct store_stats *stats = &look->stats;

	if (stats->breaker == BREAKER_CLOSED)
		return HEALTH_OK;
	(void)snprintf(text, len,
		       "it has not answered for %" PRId64
		       " s: calls fail at once with EHOSTDOWN (breaker %s); tried all the time",
		       stats->breaker_since / ATLOCK_SECOND + state_options(look->al)->engine_timeout / ATLOCK_SECOND,
		       stats->breaker == BREAKER_OPEN ? "open" : "half open");
	return HEALTH_FAILING;
}

static enum health_level check_hooks(const struct look *look, char *text, size_t len)
{
	struct hook_stats stats;

	hook_stats(look->al, &stats);
	if (stats.breaker != BREAKER_CLOSED)
		(void)snprintf(text, len,
			       "the command of on_event fails: %" PRIu64 " events wait, tried again in %" PRId64
			       " s, %" PRIu64 " were dropped",
			       stats.behind, stats.retry_in / ATLOCK_SECOND + 1, stats.dropped);
	else if (stats.drop_age < DROP_SHOWN)
		(void)snprintf(text, len,
			       "the command of on_event has missed %" PRIu64 " events, the last %" PRId64
			       " s ago: it is too slow or failed; events/ has them",
			       stats.dropped, stats.drop_age / ATLOCK_SECOND);
	else
		return HEALTH_OK;
	return HEALTH_DEGRADED;
}

static enum health_level check_ends(const struct look *look, char *text, size_t len)
{
	if (look->status.ends == 0)
		return HEALTH_OK;
	(void)snprintf(text, len,
		       "%" PRIu64 " ends of holders or waits wait to be written: what they end is held until the store "
		       "works",
		       look->status.ends);
	return HEALTH_DEGRADED;
}

/* A search is late if two were due and none has ended. */
static enum health_level check_deadlocks(const struct look *look, char *text, size_t len)
{
	const struct atlock_options *options = state_options(look->al);
	int64_t age = steady_now() - look->health.searched;

	if (options->deadlock_policy == ATLOCK_DEADLOCK_OFF) {
		(void)snprintf(text, len, "not looked for: deadlock_policy=off");
		return HEALTH_OK;
	}
	if (!look->al->readonly && look->health.search < 0) {
		(void)snprintf(text, len, "the last search of all waits failed: %s", strerror(-look->health.search));
		return HEALTH_DEGRADED;
	}
	if (look->al->readonly || look->al->alarms == NULL || age < 2 * options->deadlock_interval + SEARCH_LATE)
		return HEALTH_OK;
	(void)snprintf(text, len, "no search of all waits has ended for %" PRId64 " s", age / ATLOCK_SECOND);
	return HEALTH_DEGRADED;
}

void health_searched(struct atlock *al, int result)
{
	struct health *health = al->health;

	pthread_mutex_lock(&health->mutex);
	health->searched = steady_now();
	health->search = result;
	pthread_mutex_unlock(&health->mutex);
}

/* --- What the mirror says --- */

static bool is_noted(const struct health *health)
{
	return health->noted != 0 && steady_now() - health->noted < NOTE_SHOWN;
}

static enum health_level check_mirror(const struct look *look, char *text, size_t len)
{
	const struct health *health = &look->health;

	if (!is_noted(health) || (health->conflicts == 0 && health->note[0] == '\0'))
		return HEALTH_OK;
	if (health->conflicts == 0)
		(void)snprintf(text, len, "%s", health->note);
	else
		(void)snprintf(text, len, "%" PRIu64 " conflict%s with Atlantis: %s", health->conflicts,
			       health->conflicts == 1 ? "" : "s", health->note);
	return HEALTH_DEGRADED;
}

uint64_t health_conflicts(struct atlock *al)
{
	struct health *health = al->health;
	uint64_t conflicts;

	pthread_mutex_lock(&health->mutex);
	conflicts = is_noted(health) ? health->conflicts : 0;
	pthread_mutex_unlock(&health->mutex);
	return conflicts;
}

static int note_refuse(struct atlock_why *why)
{
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
		       "what can be written here is a line mirror=<number of conflicts> <text>");
}

int atlock_health_note(struct atlock *al, const struct atlock_caller *caller, const char *line, size_t len,
		       struct atlock_why *why)
{
	static const char key[] = "mirror=";
	char text[HEALTH_TEXT + 32];
	uint64_t conflicts;
	char *rest;

	if (!caller->admin)
		return why_set(why, -EPERM, ATLOCK_PERMISSION_DENIED,
			       "administrators and their mirror write to health");
	if (len > 0 && line[len - 1] == '\n')
		len--;
	if (len >= sizeof(text))
		len = sizeof(text) - 1;
	memcpy(text, line, len);
	text[len] = '\0';
	if (len <= strlen(key) || strncmp(text, key, strlen(key)) != 0 || !isdigit((unsigned char)text[strlen(key)]) ||
	    text_bad_byte(text, len) != 0)
		return note_refuse(why);
	conflicts = strtoull(text + strlen(key), &rest, 10);
	if (*rest != '\0' && *rest != ' ')
		return note_refuse(why);
	pthread_mutex_lock(&al->health->mutex);
	al->health->noted = steady_now();
	al->health->conflicts = conflicts;
	strlcpy(al->health->note, *rest == ' ' ? rest + 1 : "", sizeof(al->health->note));
	pthread_mutex_unlock(&al->health->mutex);
	return 0;
}

/* Scripts read the names. */
static const struct {
	const char *name;
	enum health_level (*check)(const struct look *look, char *text, size_t len);
} checks[HEALTH_CHECKS] = {
	{ "engine", check_engine },       { "store", check_store },   { "room", check_space },
	{ "sweeper", check_sweeper },     { "writer", check_writer }, { "clock", check_clock },
	{ "memory", check_memory },       { "hooks", check_hooks },   { "ends", check_ends },
	{ "deadlocks", check_deadlocks }, { "mirror", check_mirror },
};

/* The difference of wall time and lease time is constant unless the wall clock is set. */
static void health_note_step(struct health *health, int64_t offset)
{
	int64_t step = offset - health->offset;

	if (step < STEP_LEAST && step > -STEP_LEAST)
		return;
	health->stepped = steady_now();
	health->step = step;
	health->offset = offset;
}

static void look_take(struct atlock *al, struct look *look)
{
	struct health *health = al->health;

	*look = (struct look){ .al = al };
	clock_read(&al->clock, &look->now, &look->wall);
	look->status_result = atlock_status(al, &look->status);
	look->due = atlock_next_due(al);
	store_stats(al->store, &look->stats);
	pthread_mutex_lock(&health->mutex);
	health_note_step(health, look->wall - look->now);
	look->health.asked = health->asked;
	look->health.took = health->took;
	look->health.result = health->result;
	look->health.stepped = health->stepped;
	look->health.step = health->step;
	look->health.searched = health->searched;
	look->health.search = health->search;
	look->health.noted = health->noted;
	look->health.conflicts = health->conflicts;
	memcpy(look->health.note, health->note, sizeof(health->note));
	pthread_mutex_unlock(&health->mutex);
}

void health_look(struct atlock *al, bool probe, struct health_report *out)
{
	struct look look;

	if (probe && !al->readonly)
		health_probe(al);
	look_take(al, &look);
	out->level = HEALTH_OK;
	out->worst = NULL;
	for (size_t i = 0; i < HEALTH_CHECKS; i++) {
		struct health_check *check = &out->checks[i];

		check->name = checks[i].name;
		check->text[0] = '\0';
		check->level = checks[i].check(&look, check->text, sizeof(check->text));
		if (check->level > out->level) {
			out->level = check->level;
			out->worst = check;
		}
	}
}

/* --- What `cat health` prints --- */

static void print_counts(FILE *out, struct atlock *al)
{
	struct atlock_status status;

	if (atlock_status(al, &status) == 0)
		fprintf(out,
			"held=%" PRIu64 "\nwaiting=%" PRIu64 "\nstore_used=%" PRIu64 "\nstore_free=%" PRIu64
			"\nstore_size=%" PRIu64 "\nevents_used=%" PRIu64 "\nupdates=%" PRIu64 "\ncommits=%" PRIu64
			"\nevents=%" PRIu64 "\nowners_swept=%" PRIu64 "\n",
			status.held, status.waiting, status.store_used, status.store_free, status.store_size,
			status.events_used, status.updates, status.commits, status.events, status.owners_swept);
	fprintf(out, "uptime=%" PRId64 "s\n", (clock_now(&al->clock) - al->clock.base) / ATLOCK_SECOND);
}

char *atlock_health_text(struct atlock *al, bool probe, size_t *len)
{
	struct health_report report;
	char *text = NULL;
	FILE *out;

	if (al == NULL || len == NULL)
		return NULL;
	out = open_memstream(&text, len);
	if (out == NULL)
		return NULL;
	health_look(al, probe, &report);
	if (report.worst == NULL)
		fprintf(out, "%s\n", level_name(report.level));
	else
		fprintf(out, "%s %s: %s\n", level_name(report.level), report.worst->name, report.worst->text);
	for (size_t i = 0; i < HEALTH_CHECKS; i++)
		fprintf(out, "%s=%s%s%s\n", report.checks[i].name, level_name(report.checks[i].level),
			report.checks[i].text[0] != '\0' ? " " : "", report.checks[i].text);
	print_counts(out, al);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
