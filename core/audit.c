/*
 * Checks lines of the event log wherever they come from: that each has the hash it should have, and that they make up one chain.
 *
 * Within a file events come in order. Which file they are in does not matter: what follows on each other makes up a run, and in
 * the end the runs must follow on each other, without a gap.
 */
#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_line.h"
#include "why.h"

#define HEX (2 * EVENT_HASH)
#define BEGIN "{\"seq\":"
#define PREV ",\"prev\":\""
#define HASH "\",\"hash\":\""
#define END "\"}"

/* What a line ends with: where it came from, and its own hash. */
#define TAIL (sizeof(PREV HASH END) - 1 + 2 * HEX)

struct run {
	uint64_t first;
	uint64_t last;
	char prev[HEX];
	char hash[HEX]; /* of the last */
};

struct atlock_audit {
	char file[ATLOCK_PATH_MAX];
	uint64_t line;  /* number in that file */
	uint64_t after; /* the event that was last in it; 0: none yet */
	bool broken;    /* since then there was a line that is none: the next begins a run */
	struct run *runs;
	size_t count;
	uint64_t events;
	uint64_t anchor; /* an event that must be there; 0: none */
	char anchor_hash[HEX];
	bool anchored;
	struct atlock_audit_result result;
};

struct atlock_audit *atlock_audit_new(void)
{
	return calloc(1, sizeof(struct atlock_audit));
}

void atlock_audit_free(struct atlock_audit *audit)
{
	if (audit == NULL)
		return;
	free(audit->runs);
	free(audit);
}

void atlock_audit_file(struct atlock_audit *audit, const char *name)
{
	if (audit == NULL || name == NULL)
		return;
	(void)strlcpy(audit->file, name, sizeof(audit->file));
	audit->line = 0;
	audit->after = 0;
	audit->broken = false;
}

static bool is_hex(const char *text, size_t len)
{
	return strspn(text, "0123456789abcdef") >= len;
}

int atlock_audit_anchor(struct atlock_audit *audit, const char *text, struct atlock_why *why)
{
	char *end = NULL;
	uint64_t seq;

	if (audit == NULL || text == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no event given");
	errno = 0;
	seq = strtoull(text, &end, 10);
	if (text[0] < '1' || text[0] > '9' || errno != 0 || *end != ':' || strlen(end + 1) != HEX ||
	    !is_hex(end + 1, HEX))
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "an event to be found is written NUMBER:HASH, as the end of the log is printed");
	audit->anchor = seq;
	memcpy(audit->anchor_hash, end + 1, HEX);
	return 0;
}

/* Remembers what is wrong with an event, if it is wrong with none before it. */
__attribute__((format(printf, 3, 4))) static void problem(struct atlock_audit *audit, uint64_t seq, const char *format,
							  ...)
{
	struct atlock_audit_result *result = &audit->result;
	va_list list;

	if (result->bad != 0 && result->bad <= seq)
		return;
	result->bad = seq == 0 ? 1 : seq;
	va_start(list, format);
	(void)vsnprintf(result->text, sizeof(result->text), format, list);
	va_end(list);
}

/* The parts of a line that the chain consists of. */
struct line {
	uint64_t seq;
	const char *prev;
	const char *hash;
};

/* Takes a line apart that has the shape of an event; its hash may still be another. */
static bool line_parse(const char *text, size_t len, struct line *out)
{
	const char *tail = text + len - TAIL;
	char *end = NULL;

	if (len < sizeof(BEGIN) + TAIL || strncmp(text, BEGIN, strlen(BEGIN)) != 0)
		return false;
	errno = 0;
	out->seq = strtoull(text + strlen(BEGIN), &end, 10);
	if (errno != 0 || *end != ',' || out->seq == 0 || text[strlen(BEGIN)] < '1' || text[strlen(BEGIN)] > '9')
		return false;
	out->prev = tail + strlen(PREV);
	out->hash = out->prev + HEX + strlen(HASH);
	return strncmp(tail, PREV, strlen(PREV)) == 0 && is_hex(out->prev, HEX) &&
	       strncmp(out->prev + HEX, HASH, strlen(HASH)) == 0 && is_hex(out->hash, HEX) &&
	       memcmp(out->hash + HEX, END, strlen(END)) == 0;
}

static bool line_is_unchanged(const char *text, size_t len, const struct line *line)
{
	unsigned char hash[EVENT_HASH];
	char hex[HEX + 1];

	/* The hash is of what stands before the comma that begins it. */
	sha256(text, len - (strlen(HASH) - 1 + HEX + strlen(END)), hash);
	for (size_t i = 0; i < sizeof(hash); i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", hash[i]);
	return memcmp(hex, line->hash, HEX) == 0;
}

static int run_begin(struct atlock_audit *audit, const struct line *line)
{
	struct run *runs = reallocarray(audit->runs, audit->count + 1, sizeof(*runs));

	if (runs == NULL)
		return -ENOMEM;
	audit->runs = runs;
	runs[audit->count] = (struct run){ .first = line->seq, .last = line->seq };
	memcpy(runs[audit->count].prev, line->prev, HEX);
	memcpy(runs[audit->count].hash, line->hash, HEX);
	audit->count++;
	return 0;
}

/* Adds a good line to the run that it continues, or to a new one. */
static int line_link(struct atlock_audit *audit, const struct line *line)
{
	struct run *run = audit->count > 0 ? &audit->runs[audit->count - 1] : NULL;

	if (audit->after != 0 && line->seq <= audit->after)
		problem(audit, line->seq,
			"event %" PRIu64 " is out of order: it stands after event %" PRIu64 " (%s:%" PRIu64 ")",
			line->seq, audit->after, audit->file, audit->line);
	if (run == NULL || audit->broken || line->seq != run->last + 1)
		return run_begin(audit, line);
	if (memcmp(run->hash, line->prev, HEX) != 0)
		problem(audit, line->seq, "event %" PRIu64 " does not follow on the event before it (%s:%" PRIu64 ")",
			line->seq, audit->file, audit->line);
	run->last = line->seq;
	memcpy(run->hash, line->hash, HEX);
	return 0;
}

/* An ordinary user's copy: what it said cannot be checked, only where it stands. */
static bool line_is_hidden(const char *text, size_t len)
{
	const char *at = text + strlen(BEGIN);
	const char *tail = text + len - TAIL;

	at += strspn(at, "0123456789");
	if (strncmp(at, EVENT_LINE_HIDDEN, strlen(EVENT_LINE_HIDDEN)) != 0)
		return false;
	at += strlen(EVENT_LINE_HIDDEN);
	return at + strspn(at, " ") == tail;
}

int atlock_audit_line(struct atlock_audit *audit, const char *text, size_t len, bool whole)
{
	struct line line = { .seq = 0 };
	uint64_t expected;
	bool parsed;
	int rc;

	if (audit == NULL || text == NULL)
		return -EINVAL;
	audit->line++;
	/* On a full store events become blank lines: the gap shows, if it is not in front of all others. */
	if (len == 0 && whole)
		return 0;
	expected = audit->after + 1;
	parsed = whole && line_parse(text, len, &line);
	if (parsed && line_is_hidden(text, len)) {
		problem(audit, line.seq,
			"event %" PRIu64
			" is hidden from whoever made this copy: only an administrator's can be checked "
			"(%s:%" PRIu64 ")",
			line.seq, audit->file, audit->line);
	} else if (!parsed || !line_is_unchanged(text, len, &line)) {
		if (audit->after == 0 && line.seq != 0)
			expected = line.seq;
		problem(audit, expected, "event %" PRIu64 " was %s (%s:%" PRIu64 ")", expected,
			whole ? "changed" : "cut off", audit->file, audit->line);
		audit->broken = true;
		audit->after = expected;
		return 0;
	}
	audit->events++;
	rc = line_link(audit, &line);
	audit->broken = false;
	audit->after = line.seq;
	if (line.seq == audit->anchor && memcmp(line.hash, audit->anchor_hash, HEX) == 0)
		audit->anchored = true;
	return rc;
}

static int run_compare(const void *a, const void *b)
{
	uint64_t first = ((const struct run *)a)->first;
	uint64_t second = ((const struct run *)b)->first;

	return first < second ? -1 : first > second;
}

static void runs_link(struct atlock_audit *audit)
{
	static const char none[HEX + 1] = "0000000000000000000000000000000000000000000000000000000000000000";
	const struct run *run = audit->runs;

	if (run[0].first == 1 && memcmp(run[0].prev, none, HEX) != 0)
		problem(audit, 1, "event 1 does not begin the chain");
	for (size_t i = 1; i < audit->count; i++) {
		uint64_t next = run[i - 1].last + 1;

		if (run[i].first > next)
			problem(audit, next, "event %" PRIu64 " is missing", next);
		else if (run[i].first < next)
			problem(audit, run[i].first, "event %" PRIu64 " is there twice", run[i].first);
		else if (memcmp(run[i].prev, run[i - 1].hash, HEX) != 0)
			problem(audit, run[i].first, "event %" PRIu64 " does not follow on the event before it",
				run[i].first);
	}
}

int atlock_audit_end(struct atlock_audit *audit, struct atlock_audit_result *out)
{
	struct atlock_audit_result *result;

	if (audit == NULL || out == NULL)
		return -EINVAL;
	result = &audit->result;
	if (audit->count > 0) {
		qsort(audit->runs, audit->count, sizeof(*audit->runs), run_compare);
		runs_link(audit);
		result->first = audit->runs[0].first;
		result->last = audit->runs[audit->count - 1].last;
		memcpy(result->hash, audit->runs[audit->count - 1].hash, HEX);
	}
	result->events = audit->events;
	if (audit->anchor != 0 && !audit->anchored)
		problem(audit, audit->anchor, "event %" PRIu64 " is not there as it was", audit->anchor);
	*out = *result;
	return result->bad == 0 ? 0 : -EBADMSG;
}
