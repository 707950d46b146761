/* The text of metrics/atlockfs.prom: Prometheus' exposition format, written anew for each reader. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrival.h"
#include "ends.h"
#include "health.h"
#include "hook.h"
#include "memory.h"
#include "op.h"
#include "scan.h"
#include "space.h"
#include "table.h"
#include "utf8.h"

/* Values that are read at this moment, not counted. */
struct sample {
	bool unread;      /* the store could not be read: its values are unknown */
	uint64_t started; /* wall time, ns */
	uint64_t held;
	uint64_t events;
	uint64_t queues;
	uint64_t longest; /* waiters of the longest queue */
	uint64_t used, free, low;
	uint64_t updates, waiting, commit_time;
	uint64_t memory;
	uint64_t health;
	uint64_t search_late;
	uint64_t conflicts;
	uint64_t owners_swept;
	uint64_t ends;
	uint64_t waiters[ATLOCK_PRIORITIES];
	uint64_t oldest[ATLOCK_PRIORITIES]; /* ns that the longest waiter has waited */
	uint64_t event_lag;
	uint64_t engine_breaker, engine_opened;
	uint64_t hook_behind, hook_dropped, hook_breaker, hook_opened;
	struct hook_stats hook;
	struct store_stats store;
};

/* --- Looking --- */

static int sample_queues(struct op *op, struct sample *sample)
{
	struct scan scan = scan_table(TABLE_QUEUE);
	struct record_queue queue;
	int rc;

	while ((rc = scan_record(op, &scan, RECORD_QUEUE, &queue)) == 0) {
		sample->queues += queue.count > 0;
		if (queue.count > sample->longest)
			sample->longest = queue.count;
	}
	return rc < 0 ? rc : 0;
}

static int sample_tickets(struct op *op, struct sample *sample)
{
	struct scan scan = scan_table(TABLE_TICKET);
	struct record_ticket ticket;
	int rc;

	while ((rc = scan_record(op, &scan, RECORD_TICKET, &ticket)) == 0) {
		if (ticket.priority < ATLOCK_PRIORITIES && !table_ticket_is_over(op, &ticket)) {
			uint64_t waited = op->now > ticket.since ? (uint64_t)(op->now - ticket.since) : 0;

			sample->waiters[ticket.priority]++;
			if (waited > sample->oldest[ticket.priority])
				sample->oldest[ticket.priority] = waited;
		}
	}
	return rc < 0 ? rc : 0;
}

static int sample_in_txn(struct op *op)
{
	struct sample *sample = op->arg;
	struct store_space space;
	uint64_t waiting;
	int rc = op_tail(op);

	store_space(op->al->store, &space);
	sample->low = space_share_is_used(&space, &op->tail);
	sample->events = op->tail.seq;
	if (rc == 0)
		rc = arrival_counts(op, &sample->held, &waiting);
	if (rc == 0)
		rc = sample_queues(op, sample);
	return rc == 0 ? sample_tickets(op, sample) : rc;
}

static void sample_take(struct atlock *al, struct sample *sample)
{
	struct health_report health;
	struct store_space space;

	health_look(al, true, &health);
	*sample = (struct sample){ .started = (uint64_t)al->opened, .health = health.level };
	for (size_t i = 0; i < HEALTH_CHECKS; i++)
		if (strcmp(health.checks[i].name, "deadlocks") == 0)
			sample->search_late = health.checks[i].level != HEALTH_OK;
	int rc = op_look(al, sample_in_txn, sample, NULL);
	sample->unread = rc < 0;
	store_space(al->store, &space);
	sample->used = space.used;
	sample->free = space.free;
	sample->low = sample->low || space.low;
	store_stats(al->store, &sample->store);
	sample->updates = sample->store.updates;
	sample->engine_breaker = sample->store.breaker;
	sample->engine_opened = sample->store.breaker_opened;
	sample->waiting = sample->store.waiting;
	sample->commit_time = sample->store.commit_time;
	sample->memory = memory_resident();
	hook_stats(al, &sample->hook);
	sample->event_lag = (uint64_t)sample->hook.lag;
	sample->hook_behind = sample->hook.behind;
	sample->hook_dropped = sample->hook.dropped;
	sample->hook_breaker = sample->hook.breaker;
	sample->hook_opened = sample->hook.opened;
	sample->conflicts = health_conflicts(al);
	sample->ends = ends_count(al);
	sample->owners_swept = atomic_load_explicit(&al->owners_swept, memory_order_relaxed);
}

/* --- Printing --- */

static uint64_t count_of(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void print_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP atlockfs_%s %s\n# TYPE atlockfs_%s %s\n", name, help, name, type);
}

static void print_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64 "\n", ns / (uint64_t)ATLOCK_SECOND, ns % (uint64_t)ATLOCK_SECOND);
}

/* Prints one histogram of a family. `label` is 'priority="low"' or empty. */
static void print_histogram(FILE *out, const char *name, const char *label, const struct metrics_histogram *histogram)
{
	const char *comma = label[0] != '\0' ? "," : "";
	char braced[64] = "";
	uint64_t count = 0;

	if (label[0] != '\0')
		(void)snprintf(braced, sizeof(braced), "{%s}", label);
	for (size_t i = 0; i < METRICS_BOUNDS; i++) {
		count += count_of(&histogram->counts[i]);
		fprintf(out, "atlockfs_%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, label, comma,
			(double)metrics_bound(i) / (double)ATLOCK_SECOND, count);
	}
	count += count_of(&histogram->counts[METRICS_BOUNDS]);
	fprintf(out, "atlockfs_%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, label, comma, count);
	fprintf(out, "atlockfs_%s_sum%s ", name, braced);
	print_seconds(out, count_of(&histogram->sum));
	fprintf(out, "atlockfs_%s_count%s %" PRIu64 "\n", name, braced, count);
}

/* A code appears after its first occurrence; success always, so that a rate has a start. */
static void print_calls(FILE *out, const struct metrics *metrics)
{
	char label[64];

	print_head(out, "operations_total", "counter", "Calls that ended, by operation and outcome.");
	for (enum metrics_call call = METRICS_NONE + 1; call < METRICS_CALLS; call++) {
		for (enum atlock_code code = ATLOCK_OK; code < ATLOCK_CODES; code++) {
			uint64_t count = count_of(&metrics->calls[call][code]);

			if (count > 0 || code == ATLOCK_OK)
				fprintf(out, "atlockfs_operations_total{operation=\"%s\",code=\"%s\"} %" PRIu64 "\n",
					metrics_call_name(call), atlock_code_name(code), count);
		}
	}
	print_head(out, "operation_duration_seconds", "histogram",
		   "Time from a call to its answer; for the operation wait that is the wait.");
	for (enum metrics_call call = METRICS_NONE + 1; call < METRICS_CALLS; call++) {
		(void)snprintf(label, sizeof(label), "operation=\"%s\"", metrics_call_name(call));
		print_histogram(out, "operation_duration_seconds", label, &metrics->took[call]);
	}
}

static void print_events(FILE *out, const struct metrics *metrics)
{
	print_head(out, "events_total", "counter", "Events written, by type: grants, expiries, deadlocks and so on.");
	for (enum atlock_event_type type = 0; type < ATLOCK_EVENTS; type++)
		fprintf(out, "atlockfs_events_total{type=\"%s\"} %" PRIu64 "\n", atlock_event_name(type),
			count_of(&metrics->events[type]));
	print_head(out, "refusals_total", "counter", "Calls that were refused, by code, also those that are no event.");
	for (enum atlock_code code = ATLOCK_OK + 1; code < ATLOCK_CODES; code++)
		fprintf(out, "atlockfs_refusals_total{code=\"%s\"} %" PRIu64 "\n", atlock_code_name(code),
			count_of(&metrics->refusals[code]));
}

static void print_waiting(FILE *out, const struct metrics *metrics, const struct sample *sample)
{
	char label[64];

	print_head(out, "waiters", "gauge", "Tickets in all queues, by priority.");
	for (enum atlock_priority p = ATLOCK_LOW; p < ATLOCK_PRIORITIES; p++)
		fprintf(out, "atlockfs_waiters{priority=\"%s\"} %" PRIu64 "\n", atlock_priority_name(p),
			sample->waiters[p]);
	print_head(out, "oldest_wait_seconds", "gauge",
		   "How long the ticket that waits longest has waited, by priority.");
	for (enum atlock_priority p = ATLOCK_LOW; p < ATLOCK_PRIORITIES; p++) {
		fprintf(out, "atlockfs_oldest_wait_seconds{priority=\"%s\"} ", atlock_priority_name(p));
		print_seconds(out, sample->oldest[p]);
	}
	print_head(out, "wait_duration_seconds", "histogram",
		   "Time in a queue of those who got the lock, by priority.");
	for (enum atlock_priority p = ATLOCK_LOW; p < ATLOCK_PRIORITIES; p++) {
		(void)snprintf(label, sizeof(label), "priority=\"%s\"", atlock_priority_name(p));
		print_histogram(out, "wait_duration_seconds", label, &metrics->waited[p]);
	}
	print_head(out, "hold_duration_seconds", "histogram",
		   "Time that locks were held which were released or expired.");
	print_histogram(out, "hold_duration_seconds", "", &metrics->held);
}

static void print_batches(FILE *out, const struct store_stats *stats)
{
	uint64_t count = 0;

	print_head(out, "store_commit_updates", "histogram", "Changes that shared a commit: its batch.");
	for (size_t i = 0; i < STORE_BATCHES - 1; i++) {
		count += stats->batches[i];
		fprintf(out, "atlockfs_store_commit_updates_bucket{le=\"%ju\"} %" PRIu64 "\n", (uintmax_t)1 << i,
			count);
	}
	count += stats->batches[STORE_BATCHES - 1];
	fprintf(out, "atlockfs_store_commit_updates_bucket{le=\"+Inf\"} %" PRIu64 "\n", count);
	fprintf(out, "atlockfs_store_commit_updates_sum %" PRIu64 "\n", stats->updates);
	fprintf(out, "atlockfs_store_commit_updates_count %" PRIu64 "\n", count);
}

#define NUMBERS_ALWAYS 4 /* the first ones, which are known even if the store cannot be read */

/* Metrics with a single number each. */
static const struct {
	const char *name;
	const char *type;
	const char *help;
	size_t offset;
	bool time; /* nanoseconds, shown in seconds */
} numbers[] = {
	{ "start_time_seconds", "gauge", "When the daemon opened its store.", offsetof(struct sample, started), true },
	{ "health", "gauge", "What the file health says: 0 is ok, 1 degraded, 2 failing.",
	  offsetof(struct sample, health), false },
	{ "engine_breaker", "gauge",
	  "State of the breaker around the engine of a store that hosts share: 0 is closed, 1 open, 2 half open.",
	  offsetof(struct sample, engine_breaker), false },
	{ "engine_breaker_opened_total", "counter", "Times that breaker opened.",
	  offsetof(struct sample, engine_opened), false },
	{ "locks_held", "gauge", "Locks that are held.", offsetof(struct sample, held), false },
	{ "queues", "gauge", "Locks that have waiters.", offsetof(struct sample, queues), false },
	{ "longest_queue_waiters", "gauge", "Tickets in the longest queue.", offsetof(struct sample, longest), false },
	{ "event_sequence", "gauge", "Number of the newest event.", offsetof(struct sample, events), false },
	{ "store_used_bytes", "gauge", "Size of the store.", offsetof(struct sample, used), false },
	{ "store_free_bytes", "gauge", "What can be written before locks are refused.", offsetof(struct sample, free),
	  false },
	{ "store_low", "gauge", "1 while locks are refused because the store has no space.",
	  offsetof(struct sample, low), false },
	{ "store_updates_total", "counter", "Changes committed.", offsetof(struct sample, updates), false },
	{ "store_commit_seconds_total", "counter", "Time spent on commits.", offsetof(struct sample, commit_time),
	  true },
	{ "store_waiting_updates", "gauge", "Changes that wait for the next commit.", offsetof(struct sample, waiting),
	  false },
	{ "memory_resident_bytes", "gauge", "Memory of the daemon.", offsetof(struct sample, memory), false },
	{ "deadlock_search_failing", "gauge", "1 while the periodic search for deadlocks fails or does not end.",
	  offsetof(struct sample, search_late), false },
	{ "mirror_conflicts", "gauge", "Locks that atlock mirror found to be another's on the other side.",
	  offsetof(struct sample, conflicts), false },
	{ "owners_swept_total", "counter", "URLs below owners/ whose leftovers were set right.",
	  offsetof(struct sample, owners_swept), false },
	{ "unwritten_ends", "gauge",
	  "Ends of holders or waits that the store could not write yet; what they end is held meanwhile.",
	  offsetof(struct sample, ends), false },
	{ "event_lag_seconds", "gauge", "Age of the first event that on_event has not been given.",
	  offsetof(struct sample, event_lag), true },
	{ "hook_waiting_events", "gauge", "Events that on_event has not been given.",
	  offsetof(struct sample, hook_behind), false },
	{ "hook_dropped_events_total", "counter",
	  "Events that no command of on_event took: it could not keep up, or failed three times.",
	  offsetof(struct sample, hook_dropped), false },
	{ "hook_breaker", "gauge", "State of the breaker around on_event: 0 is closed, 1 open, 2 half open.",
	  offsetof(struct sample, hook_breaker), false },
	{ "hook_breaker_opened_total", "counter", "Times the breaker around on_event opened.",
	  offsetof(struct sample, hook_opened), false },
};

static void print_numbers(FILE *out, const struct sample *sample)
{
	size_t count = sample->unread ? NUMBERS_ALWAYS : sizeof(numbers) / sizeof(numbers[0]);

	for (size_t i = 0; i < count; i++) {
		uint64_t value = *(const uint64_t *)(const void *)((const char *)sample + numbers[i].offset);

		print_head(out, numbers[i].name, numbers[i].type, numbers[i].help);
		fprintf(out, "atlockfs_%s ", numbers[i].name);
		if (numbers[i].time)
			print_seconds(out, value);
		else
			fprintf(out, "%" PRIu64 "\n", value);
	}
}

/* A label's value must be UTF-8, with quotes and backslashes escaped; a name is any bytes. */
static void print_resource(FILE *out, const char *resource)
{
	const unsigned char *at = (const unsigned char *)resource;

	while (*at != '\0') {
		size_t n = utf8_len(at, strlen((const char *)at));

		if (*at == '"' || *at == '\\')
			fputc('\\', out);
		if (n == 0)
			fputc('?', out);
		else
			fwrite(at, 1, n, out);
		at += n == 0 ? 1 : n;
	}
}

static void print_guard_runs(FILE *out, const struct guard_count *count)
{
	for (int i = 0; i < ATLOCK_GUARD_RESULTS; i++) {
		fputs("atlockfs_guard_runs_total{resource=\"", out);
		print_resource(out, count->resource);
		fprintf(out, "\",result=\"%s\"} %" PRIu64 "\n", atlock_guard_result_name((enum atlock_guard_result)i),
			count->results[i]);
	}
}

static void print_guard_tries(FILE *out, const struct guard_count *count)
{
	fputs("atlockfs_guard_tries_total{resource=\"", out);
	print_resource(out, count->resource);
	fprintf(out, "\"} %" PRIu64 "\n", count->tries);
}

static void print_guard_time(FILE *out, const struct guard_count *count)
{
	fputs("atlockfs_guard_try_seconds_total{resource=\"", out);
	print_resource(out, count->resource);
	fputs("\"} ", out);
	print_seconds(out, count->time);
}

static void print_guards(FILE *out, struct guards *guards)
{
	print_head(
		out, "guard_runs_total", "counter",
		"Runs of atlock guard, by shared resource: stopped, skipped because in use, skipped because contended.");
	guards_each(guards, print_guard_runs, out);
	print_head(out, "guard_tries_total", "counter", "Tries of these runs to take the lock, by shared resource.");
	guards_each(guards, print_guard_tries, out);
	print_head(out, "guard_try_seconds_total", "counter", "Time that these tries took, with pauses between them.");
	guards_each(guards, print_guard_time, out);
}

static void print_hook(FILE *out, const struct hook_stats *stats)
{
	print_head(out, "hook_runs_total", "counter", "Commands of on_event that ended, by how they did.");
	fprintf(out, "atlockfs_hook_runs_total{result=\"ok\"} %" PRIu64 "\n", stats->ok);
	fprintf(out, "atlockfs_hook_runs_total{result=\"failed\"} %" PRIu64 "\n", stats->failed);
	fprintf(out, "atlockfs_hook_runs_total{result=\"timeout\"} %" PRIu64 "\n", stats->timed_out);
}

char *atlock_metrics_text(struct atlock *al, size_t *len)
{
	struct sample sample;
	char *text = NULL;
	FILE *out;

	if (al == NULL || len == NULL)
		return NULL;
	sample_take(al, &sample);
	out = open_memstream(&text, len);
	if (out == NULL)
		return NULL;
	print_head(out, "build_info", "gauge", "Which version runs.");
	fprintf(out, "atlockfs_build_info{version=\"%s\"} 1\n", ATLOCK_VERSION);
	print_numbers(out, &sample);
	if (!sample.unread)
		print_waiting(out, &al->metrics, &sample);
	print_calls(out, &al->metrics);
	print_events(out, &al->metrics);
	print_batches(out, &sample.store);
	print_hook(out, &sample.hook);
	print_guards(out, &al->guards);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
