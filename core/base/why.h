/*
 * Explains why something was refused: the only place that fills struct atlock_why. Private to core/.
 *
 *	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "\"%s\" is no number", text);
 */
#ifndef CORE_WHY_H
#define CORE_WHY_H

#include "atlock.h"

/*
 * Writes code and text into `why`, which may be NULL, and returns `err`, a negative errno, unchanged. The text is
 * truncated to fit, and control bytes become '?', so callers may print names and values as they came.
 */
int why_set(struct atlock_why *why, int err, enum atlock_code code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * If `err` refuses what line `line` of a text asks for, puts the line number in front of the text; 0: no line. Returns
 * `err`.
 */
int why_line(struct atlock_why *why, int err, size_t line);

/*
 * Marks parts of the text just set, if it has them: `subject` at the beginning, unless NULL, and ": " with `advice` at
 * the end.
 */
void why_parts(struct atlock_why *why, const char *subject, const char *advice);

/* Sets the kind of advice that the text gives, at its end or anywhere in it. Returns `err`. */
int why_advise(struct atlock_why *why, int err, enum atlock_advice advice);

/* Sets `why` to "not refused". */
void why_clear(struct atlock_why *why);

#endif
