/*
 * Says why something was refused: the one place that fills struct atlock_why. Private to core/.
 *
 *	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "\"%s\" is no number", text);
 */
#ifndef CORE_WHY_H
#define CORE_WHY_H

#include "atlock.h"

/*
 * Writes code and text into `why`, which may be NULL, and returns `err`, a negative errno, as it is. The text is cut to
 * what fits, and control bytes in it become '?', so callers may print names and values as they came.
 */
int why_set(struct atlock_why *why, int err, enum atlock_code code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* If `err` is a refusal of what line `line` of a text asks for, says so in front; 0 is no line. Returns `err`. */
int why_line(struct atlock_why *why, int err, size_t line);

/*
 * Says which parts the text has that was just set: `subject` in front, unless NULL, and ": " with `advice` at the end, if they
 * are there.
 */
void why_parts(struct atlock_why *why, const char *subject, const char *advice);

/* What is advised, at the end or anywhere in the text. Returns `err`. */
int why_advise(struct atlock_why *why, int err, enum atlock_advice advice);

/* Nothing was refused. */
void why_clear(struct atlock_why *why);

#endif
