/*
 * A shared resource "db" with two apps for the tests of shared/: alice made it and has the app a, bob has b.
 */
#ifndef TESTS_UNIT_SHARED_FIXTURE_H
#define TESTS_UNIT_SHARED_FIXTURE_H

#include "stage.h"

#define SHARED_STOP "shared/db/stop"

void shared_setup(struct stage *s);

/* Writes an app's status; NULL says again what it reads. */
int shared_say(struct stage *s, const char *app, const char *as, const char *word);

/* What an app's status reads now. */
const char *shared_reads(struct stage *s, const char *app);

/* Takes stop@app with the default lease. */
int shared_stop(struct stage *s, const char *app, const char *as);

/* Asserts the text of a verdict. */
void shared_verdict_is(struct stage *s, const char *app, const char *expected);

#endif
