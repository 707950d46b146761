/* Durations as people write them: "90s", "15m", "1h30m", "never". Every one that fits can be printed exactly. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "atlock.h"

static const struct unit {
	const char *name;
	uint64_t size;
} units[] = {
	{ "d", UINT64_C(86400000000000) },
	{ "h", UINT64_C(3600000000000) },
	{ "m", UINT64_C(60000000000) },
	{ "s", UINT64_C(1000000000) },
	{ "ms", UINT64_C(1000000) },
	{ "us", UINT64_C(1000) },
	{ "ns", UINT64_C(1) },
};

#define UNITS (sizeof(units) / sizeof(units[0]))

/* Reads digits; saturates, so that what is too large stays too large. */
static uint64_t number_take(const char **text)
{
	uint64_t n = 0;

	for (; **text >= '0' && **text <= '9'; (*text)++) {
		uint64_t digit = (uint64_t)(**text - '0');

		n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
	}
	return n;
}

/* Reads a unit smaller than all before it, so that a sum has one order: "1h30m", not "30m1h". */
static const struct unit *unit_take(const char **text, size_t *next)
{
	size_t len = strspn(*text, "abcdefghijklmnopqrstuvwxyz");

	for (size_t i = *next; i < UNITS; i++) {
		if (strlen(units[i].name) != len || memcmp(units[i].name, *text, len) != 0)
			continue;
		*text += len;
		*next = i + 1;
		return &units[i];
	}
	return NULL;
}

int atlock_duration_parse(const char *text, bool never, int64_t *out)
{
	uint64_t sum = 0;
	size_t next = 0;
	bool large = false;

	if (!text || !*text || !out)
		return -EINVAL;
	if (strcmp(text, "never") == 0) {
		if (!never)
			return -EINVAL;
		*out = ATLOCK_NEVER;
		return 0;
	}
	if (strcmp(text, "0") == 0) {
		*out = 0;
		return 0;
	}
	while (*text) {
		const char *digits = text;
		uint64_t n = number_take(&text);
		const struct unit *unit = text > digits ? unit_take(&text, &next) : NULL;

		if (!unit)
			return -EINVAL;
		/* ATLOCK_NEVER is the largest number, and no sum may be taken for it. */
		if (n > (INT64_MAX - 1 - sum) / unit->size)
			large = true;
		else
			sum += n * unit->size;
	}
	if (large)
		return -ERANGE;
	*out = (int64_t)sum;
	return 0;
}

/* "1d1s": one number for each unit that is needed. */
static void print_sum(uint64_t n, const char *sign, char *out, size_t size)
{
	int len = snprintf(out, size, "%s", sign);

	for (size_t i = 0; i < UNITS; i++) {
		if (n < units[i].size)
			continue;
		len += snprintf(out + len, size - (size_t)len, "%" PRIu64 "%s", n / units[i].size, units[i].name);
		n %= units[i].size;
	}
}

/* "90s": one number of the largest unit that leaves nothing over. */
static void print_single(uint64_t n, const char *sign, char *out, size_t size)
{
	size_t i = 0;

	while (n % units[i].size != 0)
		i++;
	snprintf(out, size, "%s%" PRIu64 "%s", sign, n / units[i].size, units[i].name);
}

void atlock_duration_print(int64_t duration, char *out, size_t len)
{
	char sum[80];
	char single[32];
	const char *sign = duration < 0 ? "-" : "";
	uint64_t n = duration < 0 ? 0 - (uint64_t)duration : (uint64_t)duration;

	if (!out || len == 0)
		return;
	if (duration == 0 || duration == ATLOCK_NEVER) {
		snprintf(out, len, "%s", duration ? "never" : "0");
		return;
	}
	print_sum(n, sign, sum, sizeof(sum));
	print_single(n, sign, single, sizeof(single));
	snprintf(out, len, "%s", strlen(sum) < strlen(single) ? sum : single);
}
