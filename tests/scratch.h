/*
 * A directory of a test's own below $TMPDIR or /tmp, with whatever is in it gone afterwards.
 */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

/* Makes one and returns its path; exits if it cannot. */
char *scratch_new(void);

/* Removes it with everything in it, and frees the path. NULL is allowed. */
void scratch_remove(char *path);

#endif
