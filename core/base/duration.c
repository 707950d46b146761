/* Durations as people write them: "90s", "15m", "1h30m", "never". Every duration in range can be printed exactly. */
#include <bsd/string.h>
#include <errno.h>
#include <string.h>

#include "atlock.h"
#include "decimal.h"

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

/* Reads digits. Saturates, so that a number that is too large stays too large. */
static uint64_t number_take(const char **text)
{
	uint64_t n = 0;

	for (; **text >= '0' && **text <= '9'; (*text)++) {
		uint64_t digit = (uint64_t)(**text - '0');

		n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
	}
	return n;
}

/* Reads a unit that is smaller than all before it, so that a sum has one order: "1h30m", not "30m1h". */
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
		/* ATLOCK_NEVER is INT64_MAX; no sum may equal it. */
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

/* Writes one part, as "15m". Returns the end of the output. */
static char *print_part(char *out, uint64_t n, const struct unit *unit)
{
	return stpcpy(decimal_print(out, n), unit->name);
}

/* Writes a sum with one part for each unit needed, as "1d1s". Returns the number of parts. */
static size_t print_sum(uint64_t n, char *out)
{
	size_t parts = 0;

	for (size_t i = 0; i < UNITS; i++) {
		if (n < units[i].size)
			continue;
		out = print_part(out, n / units[i].size, &units[i]);
		n %= units[i].size;
		parts++;
	}
	return parts;
}

/* Writes one number of the largest unit that divides it, as "90s". */
static void print_single(uint64_t n, char *out)
{
	size_t i = 0;

	while (n % units[i].size != 0)
		i++;
	(void)print_part(out, n / units[i].size, &units[i]);
}

void atlock_duration_print(int64_t duration, char *out, size_t len)
{
	char sum[80];
	char single[32];
	uint64_t n = duration < 0 ? 0 - (uint64_t)duration : (uint64_t)duration;

	if (!out || len == 0)
		return;
	if (duration == 0 || duration == ATLOCK_NEVER) {
		(void)strlcpy(out, duration ? "never" : "0", len);
		return;
	}
	if (duration < 0 && len > 1) {
		*out++ = '-';
		len--;
	}
	bool several = print_sum(n, sum) > 1;
	if (several)
		print_single(n, single);
	(void)strlcpy(out, several && strlen(single) <= strlen(sum) ? single : sum, len);
}
