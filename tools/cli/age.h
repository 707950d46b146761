/* How long something has lasted or will last, for people: two units are enough. */
#ifndef TOOLS_AGE_H
#define TOOLS_AGE_H

#include <stddef.h>
#include <stdint.h>

#define AGE_MAX 24 /* bytes of one, with its NUL */

/* "42s", "12m07s", "3h05m", "12d03h"; "0s" of what is over, "-" of ATLOCK_NEVER. */
void age_print(int64_t age, char out[AGE_MAX]);

#endif
