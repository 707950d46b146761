/* Reasons for refusals: codes and their names, and texts that are safe for terminals and logs. */
#include "why.h"

#include <bsd/string.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "atlock/program.h"

static const char *const code_names[ATLOCK_CODES] = {
	[ATLOCK_OK] = "OK",
	[ATLOCK_LOCK_EXISTS] = "LOCK_EXISTS",
	[ATLOCK_LOCK_NOT_FOUND] = "LOCK_NOT_FOUND",
	[ATLOCK_LOCK_EXPIRED] = "LOCK_EXPIRED",
	[ATLOCK_TIMEOUT] = "TIMEOUT",
	[ATLOCK_QUEUE_FULL] = "QUEUE_FULL",
	[ATLOCK_QUOTA] = "QUOTA",
	[ATLOCK_DEADLOCK] = "DEADLOCK",
	[ATLOCK_BACKEND_ERROR] = "BACKEND_ERROR",
	[ATLOCK_CIRCUIT_OPEN] = "CIRCUIT_OPEN",
	[ATLOCK_INVALID_REQUEST] = "INVALID_REQUEST",
	[ATLOCK_PERMISSION_DENIED] = "PERMISSION_DENIED",
	[ATLOCK_RATE_LIMIT] = "RATE_LIMIT",
	[ATLOCK_VERSION_CONFLICT] = "VERSION_CONFLICT",
	[ATLOCK_CANCELLED] = "CANCELLED",
	[ATLOCK_IN_USE] = "IN_USE",
};

static const char *const advice_names[ATLOCK_ADVICES] = {
	[ATLOCK_ADVICE_OTHER] = "other",     [ATLOCK_ADVICE_WAIT] = "wait", [ATLOCK_ADVICE_NAME] = "name",
	[ATLOCK_ADVICE_SESSION] = "session", [ATLOCK_ADVICE_WHO] = "who",   [ATLOCK_ADVICE_ADMIN] = "admin",
};

const char *atlock_code_name(enum atlock_code code)
{
	if ((unsigned int)code >= ATLOCK_CODES || !code_names[code])
		return "UNKNOWN";
	return code_names[code];
}

const char *atlock_advice_name(enum atlock_advice advice)
{
	return advice_names[(unsigned int)advice < ATLOCK_ADVICES ? advice : ATLOCK_ADVICE_OTHER];
}

int why_set(struct atlock_why *why, int err, enum atlock_code code, const char *fmt, ...)
{
	va_list args;

	if (!why)
		return err;
	why_clear(why);
	why->code = code;
	va_start(args, fmt);
	if (vsnprintf(why->text, sizeof(why->text), fmt, args) < 0)
		why->text[0] = '\0';
	va_end(args);
	atlock_tame(why->text, strlen(why->text));
	return err;
}

int why_line(struct atlock_why *why, int err, size_t line)
{
	struct atlock_why told;

	if (!why || err >= 0 || line == 0)
		return err;
	told = *why;
	why_set(why, err, told.code, "line %zu: ", line);
	why->begin = (uint16_t)strlen(why->text);
	(void)strlcat(why->text, told.text, sizeof(why->text));
	why->subject = told.subject;
	why->advice = told.advice;
	if (told.end != 0 && why->begin + told.end < sizeof(why->text))
		why->end = (uint16_t)(why->begin + told.end);
	return err;
}

void why_parts(struct atlock_why *why, const char *subject, const char *advice)
{
	size_t len = why == NULL ? 0 : strlen(why->text);
	size_t tail = strlen(advice);
	size_t head = subject == NULL ? 0 : strlen(subject);

	if (len > tail + 2 && strcmp(why->text + len - tail, advice) == 0)
		why->end = (uint16_t)(len - tail - 2);
	if (len > head && strncmp(why->text, subject == NULL ? "" : subject, head) == 0)
		why->subject = (uint16_t)head;
}

int why_advise(struct atlock_why *why, int err, enum atlock_advice advice)
{
	if (why != NULL)
		why->advice = (uint16_t)advice;
	return err;
}

void why_clear(struct atlock_why *why)
{
	if (!why)
		return;
	why->code = ATLOCK_OK;
	why->noted = false;
	why->text[0] = '\0';
	why->begin = why->subject = why->end = 0;
	why->advice = ATLOCK_ADVICE_OTHER;
}
