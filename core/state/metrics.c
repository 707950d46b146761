#include "metrics.h"

#include <errno.h>
#include <time.h>

#include "state.h"

static const char *const call_names[METRICS_CALLS] = {
	[METRICS_NONE] = "none",
	[METRICS_ACQUIRE] = "acquire",
	[METRICS_RELEASE] = "release",
	[METRICS_FORCE] = "force",
	[METRICS_RENEW] = "renew",
	[METRICS_WRITE] = "write",
	[METRICS_TRANSFER] = "transfer",
	[METRICS_CHMOD] = "chmod",
	[METRICS_CLAIM] = "claim",
	[METRICS_WAIT] = "wait",
	[METRICS_ENQUEUE] = "enqueue",
	[METRICS_CANCEL] = "cancel",
	[METRICS_REPRIORITISE] = "reprioritise",
	[METRICS_DIRECTORY] = "directory",
	[METRICS_OWNERS] = "owners",
	[METRICS_SHARED] = "shared",
	[METRICS_PULLS] = "pulls",
};

#define US INT64_C(1000)
#define MS INT64_C(1000000)

/* From a call served in memory to a night's maintenance: one scale for all histograms, so that they can be compared. */
static const int64_t bounds[METRICS_BOUNDS] = {
	10 * US,
	30 * US,
	100 * US,
	300 * US,
	MS,
	3 * MS,
	10 * MS,
	30 * MS,
	100 * MS,
	300 * MS,
	ATLOCK_SECOND,
	3 * ATLOCK_SECOND,
	10 * ATLOCK_SECOND,
	30 * ATLOCK_SECOND,
	60 * ATLOCK_SECOND,
	300 * ATLOCK_SECOND,
	900 * ATLOCK_SECOND,
	3600 * ATLOCK_SECOND,
	14400 * ATLOCK_SECOND,
	86400 * ATLOCK_SECOND,
};

/* Codes of refusals for which the caller passed no `why`. */
static const struct {
	int err;
	enum atlock_code code;
} codes[] = {
	{ EEXIST, ATLOCK_LOCK_EXISTS },      { EBUSY, ATLOCK_LOCK_EXISTS },        { ENOENT, ATLOCK_LOCK_NOT_FOUND },
	{ ESTALE, ATLOCK_LOCK_EXPIRED },     { ETIMEDOUT, ATLOCK_TIMEOUT },        { EDQUOT, ATLOCK_QUOTA },
	{ EDEADLK, ATLOCK_DEADLOCK },        { EHOSTDOWN, ATLOCK_CIRCUIT_OPEN },   { EINVAL, ATLOCK_INVALID_REQUEST },
	{ EPERM, ATLOCK_PERMISSION_DENIED }, { EACCES, ATLOCK_PERMISSION_DENIED }, { ECANCELED, ATLOCK_CANCELLED },
};

const char *metrics_call_name(enum metrics_call call)
{
	return (unsigned int)call < METRICS_CALLS ? call_names[call] : "unknown";
}

int64_t metrics_bound(size_t i)
{
	return i < METRICS_BOUNDS ? bounds[i] : ATLOCK_NEVER;
}

static void add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void histogram_add(struct metrics_histogram *histogram, int64_t value)
{
	size_t i = 0;

	while (i < METRICS_BOUNDS && value > bounds[i])
		i++;
	add(&histogram->counts[i], 1);
	add(&histogram->sum, value > 0 ? (uint64_t)value : 0);
}

static enum atlock_code code_of(int rc, const struct atlock_why *why)
{
	if (rc >= 0)
		return ATLOCK_OK;
	if (why != NULL && why->code != ATLOCK_OK)
		return why->code;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].err == -rc)
			return codes[i].code;
	return ATLOCK_BACKEND_ERROR;
}

int metrics_count(struct metrics *metrics, enum metrics_call call, int64_t began, int rc, const struct atlock_why *why)
{
	if (call == METRICS_NONE)
		return rc;
	add(&metrics->calls[call][code_of(rc, why)], 1);
	histogram_add(&metrics->took[call], steady_now() - began);
	return rc;
}

int metrics_refused(struct atlock *al, enum metrics_call call, int rc, const struct atlock_why *why)
{
	if (al == NULL)
		return rc;
	add(&al->metrics.calls[call][code_of(rc, why)], 1);
	histogram_add(&al->metrics.took[call], 0);
	return rc;
}

void metrics_mark(struct metrics *metrics, const struct metrics_mark *mark)
{
	switch (mark->kind) {
	case MARK_EVENT: add(&metrics->events[mark->label % ATLOCK_EVENTS], 1); break;
	case MARK_WAITED: histogram_add(&metrics->waited[mark->label % ATLOCK_PRIORITIES], mark->value); break;
	case MARK_HELD: histogram_add(&metrics->held, mark->value); break;
	}
}

void metrics_refusal(struct metrics *metrics, enum atlock_code code)
{
	add(&metrics->refusals[code], 1);
}

uint64_t metrics_served(const struct metrics *metrics)
{
	uint64_t served = 0;

	for (size_t i = 0; i < ATLOCK_PRIORITIES; i++)
		for (size_t j = 0; j <= METRICS_BOUNDS; j++)
			served += atomic_load_explicit(&metrics->waited[i].counts[j], memory_order_relaxed);
	return served;
}
