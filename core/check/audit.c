/*
 * Verifies lines of the event log from any source: that each has the right hash, and that together they are one chain.
 *
 * Within a file events are in order. Which file an event is in does not matter: consecutive events form a run, and in the end the
 * runs must follow each other without a gap.
 */
#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atlock/check.h"
#include "event_line.h"
#include "why.h"

#define HEX (2 * EVENT_HASH)
#define BEGIN "{\"seq\":"
#define PREV ",\"prev\":\""
#define HASH "\",\"hash\":\""
#define END "\"}"
#define ARCHIVE "{\"archived\":" /* start of the last line of an archive */

/* The end of a line: the hash of the event before, and its own. */
#define TAIL (sizeof(PREV HASH END) - 1 + 2 * HEX)

/* Where a log begins, or an event that must be in it. */
struct place {
	uint64_t seq; /* 0: none */
	char hash[HEX];
};

/* The contents of a file that ends like an archive. */
struct archive {
	char *file;
	uint64_t first;
	uint64_t last;
};

struct run {
	uint64_t first;
	uint64_t last;
	char prev[HEX];
	char hash[HEX]; /* of the last event */
};

struct atlock_audit {
	char file[ATLOCK_PATH_MAX];
	uint64_t line;  /* number in that file */
	uint64_t after; /* the last event in it; 0: none yet */
	bool broken;    /* a line after it was invalid: the next event begins a run */
	struct run *runs;
	size_t count;
	uint64_t events;
	struct place anchor; /* an event that must be there, or directly before the first */
	bool anchored;
	struct place begin; /* the event before the log's first */
	struct archive *archives;
	size_t archive_count;
	uint64_t file_events; /* of the present file, like the next three; its last event is `after` */
	uint64_t file_first;
	char file_prev[HEX + 1];
	char file_hash[HEX + 1];
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
	for (size_t i = 0; i < audit->archive_count; i++)
		free(audit->archives[i].file);
	free(audit->archives);
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
	audit->file_events = 0;
}

void atlock_audit_at(struct atlock_audit *audit, uint64_t line)
{
	if (audit != NULL)
		audit->line = line - 1;
}

static bool is_hex(const char *text, size_t len)
{
	return strspn(text, "0123456789abcdef") >= len;
}

static int place_parse(struct place *place, const char *text, struct atlock_why *why)
{
	unsigned char hash[EVENT_HASH];
	uint64_t seq = 0;
	int rc;

	if (place == NULL || text == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no event given");
	rc = event_anchor_parse(text, &seq, hash, why);
	if (rc < 0)
		return rc;
	place->seq = seq;
	memcpy(place->hash, strchr(text, ':') + 1, HEX);
	return 0;
}

int atlock_audit_anchor(struct atlock_audit *audit, const char *text, struct atlock_why *why)
{
	return place_parse(audit == NULL ? NULL : &audit->anchor, text, why);
}

int atlock_audit_begin(struct atlock_audit *audit, const char *text, struct atlock_why *why)
{
	return place_parse(audit == NULL ? NULL : &audit->begin, text, why);
}

/* Keeps the problem of the event with the lowest number. */
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

static const char *skip_digits(const char *text)
{
	return text + strspn(text, "0123456789");
}

/* What follows the number of an event and the chain that it is of, which lines of a store with one host have not. */
static const char *skip_chain(const char *text)
{
	size_t len = strlen(EVENT_LINE_CHAIN);

	return strncmp(text, EVENT_LINE_CHAIN, len) == 0 ? skip_digits(text + len) : text;
}

unsigned int atlock_audit_chain(const char *text)
{
	const char *at;

	if (text == NULL || strncmp(text, BEGIN, strlen(BEGIN)) != 0)
		return 0;
	at = skip_digits(text + strlen(BEGIN));
	if (skip_chain(at) == at)
		return 0;
	return (unsigned int)strtoul(at + strlen(EVENT_LINE_CHAIN), NULL, 10) & UINT16_MAX;
}

/* The parts of a line that form the chain. */
struct line {
	uint64_t seq;
	const char *prev;
	const char *hash;
};

/* Splits a line that has the shape of an event; its hash may still be wrong. */
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

	/* The hash covers the text up to the comma before the hash. */
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

/* Adds a valid line to the run that it continues, or to a new one. */
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

static void file_note(struct atlock_audit *audit, const struct line *line)
{
	if (audit->file_events++ == 0) {
		audit->file_first = line->seq;
		memcpy(audit->file_prev, line->prev, HEX);
	}
	memcpy(audit->file_hash, line->hash, HEX);
}

/* --- Archives --- */

void atlock_audit_seal(const struct atlock_audit *audit, const char *time, char *out, size_t len)
{
	(void)snprintf(out, len,
		       ARCHIVE "\"%s\",\"first\":%" PRIu64 ",\"last\":%" PRIu64 ",\"events\":%" PRIu64
			       ",\"prev\":\"%s\",\"hash\":\"%s\"}",
		       time, audit->file_first, audit->after, audit->file_events, audit->file_prev, audit->file_hash);
}

/* Compares all but the time at which the archive was made. */
static bool archive_fits(const struct atlock_audit *audit, const char *text)
{
	char expected[512];
	const char *is = strstr(text, ",\"first\":");
	const char *should;

	atlock_audit_seal(audit, "", expected, sizeof(expected));
	should = strstr(expected, ",\"first\":");
	return is != NULL && should != NULL && audit->file_events > 0 && strcmp(is, should) == 0;
}

static int archive_line(struct atlock_audit *audit, const char *text)
{
	struct archive *archives;

	if (!archive_fits(audit, text)) {
		problem(audit, audit->after + 1,
			"%s is not the archive it says it is: its end does not fit (line %" PRIu64 ")", audit->file,
			audit->line);
		return 0;
	}
	archives = reallocarray(audit->archives, audit->archive_count + 1, sizeof(*archives));
	if (archives == NULL)
		return -ENOMEM;
	audit->archives = archives;
	archives[audit->archive_count] = (struct archive){ strdup(audit->file), audit->file_first, audit->after };
	if (archives[audit->archive_count].file == NULL)
		return -ENOMEM;
	audit->archive_count++;
	return 0;
}

static bool run_has(const struct atlock_audit *audit, uint64_t seq)
{
	for (size_t i = 0; i < audit->count; i++)
		if (audit->runs[i].first <= seq && seq <= audit->runs[i].last)
			return true;
	return false;
}

bool atlock_audit_archive(const struct atlock_audit *audit, size_t i, struct atlock_audit_archive *out)
{
	if (audit == NULL || i >= audit->archive_count)
		return false;
	*out = (struct atlock_audit_archive){
		.file = audit->archives[i].file,
		.first = audit->archives[i].first,
		.last = audit->archives[i].last,
		.joined = run_has(audit, audit->archives[i].last + 1),
	};
	return true;
}

/* --- Lines --- */

/* A line as an ordinary user may see it: its contents cannot be verified, only its place in the chain. */
static bool line_is_hidden(const char *text, size_t len)
{
	const char *at = skip_chain(skip_digits(text + strlen(BEGIN)));
	const char *tail = text + len - TAIL;

	if (strncmp(at, EVENT_LINE_HIDDEN, strlen(EVENT_LINE_HIDDEN)) != 0)
		return false;
	at += strlen(EVENT_LINE_HIDDEN);
	return at + strspn(at, " ") == tail;
}

/* A line in place of events that were archived from a day that goes on; older versions had blank lines there. */
static bool line_is_gap(const char *text, size_t len)
{
	size_t blanks = 0;

	while (blanks < len && text[blanks] == ' ')
		blanks++;
	return blanks == len || strncmp(text, EVENT_LINE_GONE, strlen(EVENT_LINE_GONE)) == 0;
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
	/* The event numbers show the gap, unless it comes before all other events. */
	if (whole && line_is_gap(text, len))
		return 0;
	if (whole && strncmp(text, ARCHIVE, strlen(ARCHIVE)) == 0)
		return archive_line(audit, text);
	expected = audit->after + 1;
	parsed = whole && line_parse(text, len, &line);
	if (parsed && line_is_hidden(text, len)) {
		problem(audit, line.seq,
			"event %" PRIu64
			" is hidden from the user who made this copy: only an administrator's can be checked "
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
	file_note(audit, &line);
	if (line.seq == audit->anchor.seq && memcmp(line.hash, audit->anchor.hash, HEX) == 0)
		audit->anchored = true;
	if (line.seq == audit->begin.seq && memcmp(line.hash, audit->begin.hash, HEX) != 0)
		problem(audit, line.seq, "event %" PRIu64 " is not the one that the log begins behind", line.seq);
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

/* Checks that the first event, unless it is number 1, follows a known event. */
static void begin_check(struct atlock_audit *audit)
{
	const struct place *places[] = { &audit->begin, &audit->anchor };
	const struct run *run = &audit->runs[0];

	if (run->first == 1 || (audit->begin.seq >= run->first))
		return;
	for (size_t i = 0; i < 2; i++) {
		if (places[i]->seq == 0 || places[i]->seq + 1 != run->first)
			continue;
		if (memcmp(places[i]->hash, run->prev, HEX) != 0)
			problem(audit, run->first, "event %" PRIu64 " does not follow on event %" PRIu64 ", as it was",
				run->first, places[i]->seq);
		audit->anchored = audit->anchored || i == 1;
		return;
	}
	audit->result.cut = run->first;
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
		begin_check(audit);
		result->first = audit->runs[0].first;
		result->last = audit->runs[audit->count - 1].last;
		memcpy(result->hash, audit->runs[audit->count - 1].hash, HEX);
	}
	result->events = audit->events;
	if (audit->anchor.seq != 0 && !audit->anchored)
		problem(audit, audit->anchor.seq, "event %" PRIu64 " is not there as it was", audit->anchor.seq);
	*out = *result;
	return result->bad == 0 ? 0 : -EBADMSG;
}
