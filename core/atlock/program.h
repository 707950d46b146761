/*
 * What our programs share beside locks: text that is safe to print, the log, the standard streams, mistyped words. For atlockfs
 * and atlock: no promise.
 */
#ifndef ATLOCK_PROGRAM_H
#define ATLOCK_PROGRAM_H

#include "atlock/base.h"
#include "atlock/options.h"

/* --- Text that is safe to print --- */

/*
 * Names and texts of users may contain control sequences of terminals, characters that change the direction of text, end a line
 * or are invisible, and bytes that are not UTF-8. These three functions are the one place that knows which.
 */

/* Length in bytes of the character at `text`, of which `len` bytes are left; `*clean`: it may be printed as it is. */
size_t atlock_clean_next(const char *text, size_t len, bool *clean);

/*
 * Copies the text with what may not be printed as \xNN, and a NUL; cuts it off after a whole character. Returns the length of
 * the whole as snprintf(3) does: `len` if all of it is clean.
 */
size_t atlock_clean(const char *text, size_t len, char *out, size_t size);

/* Replaces each such byte by '?'. */
void atlock_tame(char *text, size_t len);

/* --- The process's log --- */

/* Says where the log goes and from which level on. Until then nothing is written. Call it before starting threads. */
void atlock_log_open(enum atlock_log_target target, enum atlock_log_level level);

/* Writes one line; prints control bytes as \xNN and leaves out user and password of URLs. Any thread. */
void atlock_log(enum atlock_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- Standard input, output and error --- */

/*
 * First call of a program: opens those of the three that are closed on /dev/null, so that no file gets their numbers and with
 * them output for a terminal. Reading and writing them still fails.
 */
int atlock_standard_open(void);

/* Last call of a program: 0 if everything printed was written. One thread at a time. */
int atlock_standard_flush(void);

/* --- Mistyped words --- */

#define ATLOCK_WORD_MAX 31 /* bytes; the distance of a longer word is this */

/* How many letters must be changed, added, removed or swapped with their neighbour to make one word of the other. */
size_t atlock_word_distance(const char *a, const char *b);

#endif
