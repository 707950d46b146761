#include "day.h"

#include <string.h>

#include "decimal.h"

#define MS_NS 1000000

uint32_t day_of(int64_t wall)
{
	int64_t day = wall / DAY_NS;

	return wall < 0 ? 0 : day > DAY_MAX ? DAY_MAX : (uint32_t)day;
}

static char *byte(char *out, char c)
{
	*out = c;
	return out + 1;
}

/*
 * The calendar repeats every 400 years (146097 days). Years start in March here, so that the leap day comes last and
 * the first day of a month is the linear function (153 * month + 2) / 5. gmtime(3) computes the same but takes a lock.
 */
char *day_print(uint32_t day, char *out)
{
	uint32_t since = day + 719468; /* 0000-03-01 */
	uint32_t era = since / 146097;
	uint32_t of_era = since % 146097;
	uint32_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	uint32_t of_year = of_era - (365 * year + year / 4 - year / 100);
	uint32_t month = (5 * of_year + 2) / 153;
	uint32_t of_month = of_year - (153 * month + 2) / 5;

	year += era * 400 + (month >= 10);
	out = decimal_pair(decimal_pair(out, year / 100), year % 100);
	out = decimal_pair(byte(out, '-'), month < 10 ? month + 3 : month - 9);
	return decimal_pair(byte(out, '-'), of_month + 1);
}

char *day_print_time(int64_t wall, char *out)
{
	uint32_t day = day_of(wall);
	int64_t in_day = wall < 0 ? 0 : wall - day * DAY_NS;
	uint32_t ms = in_day >= DAY_NS ? (uint32_t)(DAY_NS / MS_NS) - 1 : (uint32_t)(in_day / MS_NS);
	uint32_t s = ms / 1000;

	ms %= 1000;
	out = day_print(day, out);
	out = decimal_pair(byte(out, 'T'), s / 3600);
	out = decimal_pair(byte(out, ':'), s / 60 % 60);
	out = decimal_pair(byte(out, ':'), s % 60);
	out = decimal_pair(byte(out, '.'), ms / 10);
	out = byte(out, (char)('0' + ms % 10));
	return byte(out, 'Z');
}

/* Reads `width` digits; -1 if one is not a digit. */
static int32_t number(const char *text, size_t width)
{
	int32_t value = 0;

	for (size_t i = 0; i < width; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	return value;
}

/* Printing the day again shows whether it exists (2026-02-30 does not). */
bool day_parse(const char *text, uint32_t *out)
{
	char again[DAY_TEXT];
	int32_t year;
	int32_t month;
	int32_t of_month;

	if (strnlen(text, DAY_TEXT) < DAY_TEXT || text[4] != '-' || text[7] != '-')
		return false;
	year = number(text, 4);
	month = number(text + 5, 2);
	of_month = number(text + 8, 2);
	if (year < 1970 || month < 1 || month > 12 || of_month < 1)
		return false;
	year -= month < 3;
	month += month < 3 ? 9 : -3;
	*out = (uint32_t)(year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + of_month - 1 -
			  719468);
	day_print(*out, again);
	return memcmp(again, text, DAY_TEXT) == 0;
}
