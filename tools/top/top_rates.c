#include "top_rates.h"

#include <atlock.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What begins so is added up in one number. */
static const struct {
	const char *name;
	size_t offset;
} sums[] = {
	{ "start_time_seconds ", offsetof(struct top_counts, started) },
	{ "locks_held ", offsetof(struct top_counts, held) },
	{ "waiters{", offsetof(struct top_counts, waiting) },
	{ "events_total{type=\"acquired\"} ", offsetof(struct top_counts, granted) },
	{ "events_total{type=\"granted\"} ", offsetof(struct top_counts, granted) },
	{ "events_total{type=\"released\"} ", offsetof(struct top_counts, released) },
	{ "events_total{type=\"forced\"} ", offsetof(struct top_counts, released) },
	{ "events_total{type=\"expired\"} ", offsetof(struct top_counts, expired) },
	{ "refusals_total{", offsetof(struct top_counts, refused) },
};

void top_counts_take(struct top_counts *counts, const char *line)
{
	static const char prefix[] = "atlockfs_";
	const char *value = strrchr(line, ' ');

	if (strncmp(line, prefix, strlen(prefix)) != 0 || value == NULL)
		return;
	line += strlen(prefix);
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		if (strncmp(line, sums[i].name, strlen(sums[i].name)) == 0)
			*(double *)(void *)((char *)counts + sums[i].offset) += strtod(value, NULL);
}

void top_rates_between(const struct top_counts *before, const struct top_counts *now, struct top_rates *out)
{
	double seconds = (double)(now->at - before->at) / (double)ATLOCK_SECOND;

	*out = (struct top_rates){ .known = false };
	if (before->at == 0 || seconds <= 0 || before->started < now->started || before->started > now->started)
		return;
	*out = (struct top_rates){
		.known = true,
		.granted = (now->granted - before->granted) / seconds,
		.released = (now->released - before->released) / seconds,
		.refused = (now->refused - before->refused) / seconds,
		.expired = (now->expired - before->expired) / seconds,
	};
}
