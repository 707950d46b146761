/* The actions of atlock audit, and what they share. Each action gets the words from its own name on. */
#ifndef TOOLS_AUDIT_H
#define TOOLS_AUDIT_H

#include "mount.h"

command_fn audit_show;
command_fn audit_verify;
command_fn audit_archive;

/* For events_each(): check the chain of hashes. `arg` is a struct atlock_audit. */
void audit_file(void *arg, const char *name);
int audit_line(void *arg, char *text, size_t len, bool whole);

/*
 * Calls `fn` with the line of each event in the mount's events/ that is of its own host, in the order of their numbers, until `fn`
 * returns another value than EXIT_DONE. Returns that value, or an exit code once it has said what is wrong.
 */
typedef int audit_day_fn(void *arg, const char *text, size_t len);
int audit_days(const struct tool *tool, const struct mount *mount, audit_day_fn *fn, void *arg);

#define AUDIT_TIME 25 /* of "2026-11-16T05:11:02.123Z", with its NUL */

/*
 * Reads a time, or its first part such as a day, in the form that events have; or a duration, which means so long ago. -1: go on;
 * else the exit code, once it has said what is wrong.
 */
int audit_time_read(const struct tool *tool, const char *text, char out[AUDIT_TIME]);

#endif
