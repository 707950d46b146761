/*
 * Checking, repairing and copying a whole store, and verifying copies of event files. For our own tools: no promise.
 *
 * Calling sequence
 *
 *	atlock_open(&al, store, &(struct atlock_setup){ .repair = true }, &why);
 *	bad = atlock_check(al, stdout);
 *	fixed = bad > 0 ? atlock_repair(al, stdout, &why) : 0;
 *	atlock_close(al);
 */
#ifndef ATLOCK_CHECK_H
#define ATLOCK_CHECK_H

#include <stdio.h>

#include "atlock/base.h"

/* --- The store --- */

/* Checks every record and index against the others; prints a line for each fault to `report` (may be NULL). Returns how many. */
int64_t atlock_check(struct atlock *al, FILE *report);

/*
 * Repairs what atlock_check() finds, in every tree, in one transaction: makes indexes and counts anew from the records, and a
 * damaged record of a lock from the indexes; drops what nothing can be made of. No lock becomes free: one whose holder cannot be
 * told is held by root@fsck. Prints a line for each to `report` (may be NULL). Returns how many, or a negative errno with
 * nothing changed.
 */
int64_t atlock_repair(struct atlock *al, FILE *report, struct atlock_why *why);

/*
 * Copies the store as of one moment into directory `dir`, which must be empty (-ENOTEMPTY) or absent. Other calls go on
 * meanwhile; `al` may be readonly. A copy must be opened once with atlock_restored() before it replaces the original.
 */
int atlock_backup(struct atlock *al, const char *dir, struct atlock_why *why);

/* Moves the tokens of a restored copy ahead, so that no token is given out a second time. */
int atlock_restored(struct atlock *al, struct atlock_why *why);

/* --- Event files --- */

/*
 * Verifies lines of event files or of copies of them, the files in any order:
 *
 *	audit = atlock_audit_new();
 *	atlock_audit_file(audit, "2026-11-16.jsonl");
 *	atlock_audit_line(audit, line, len, true);	for each line
 *	atlock_audit_end(audit, &result);
 *	atlock_audit_free(audit);
 *
 * One thread at a time.
 */
struct atlock_audit;

struct atlock_audit_result {
	uint64_t events; /* how many */
	uint64_t first;  /* their numbers */
	uint64_t last;
	char hash[65]; /* of the last, hex: kept elsewhere, it shows later whether the log up to it is still the same */
	uint64_t cut;  /* the first event, if nothing shows what was before it; the rest proves little then; 0: fine */
	uint64_t bad;  /* the first event that is changed, missing or in the wrong place; 0: none */
	char text[ATLOCK_PATH_MAX + 256]; /* what is wrong with it */
};

/* NULL: out of memory. Free it with atlock_audit_free(). */
struct atlock_audit *atlock_audit_new(void);
void atlock_audit_free(struct atlock_audit *audit);

/*
 * Before the first line, as "NUMBER:HASH": an event that must be among the lines, or be the one that the first line follows;
 * and an event after which the log is known to begin. -EINVAL.
 */
int atlock_audit_anchor(struct atlock_audit *audit, const char *text, struct atlock_why *why);
int atlock_audit_begin(struct atlock_audit *audit, const char *text, struct atlock_why *why);

/* The lines that follow are this file's. */
void atlock_audit_file(struct atlock_audit *audit, const char *name);

/* The next line is this one of its file, where lines of other chains are not given. The first is 1. */
void atlock_audit_at(struct atlock_audit *audit, uint64_t line);

/* One line, NUL-terminated, without its newline; `whole` if it had one. A line of atlock_audit_seal() is checked too. -ENOMEM. */
int atlock_audit_line(struct atlock_audit *audit, const char *text, size_t len, bool whole);

/* Which host's chain a line is of; 0: of a store with one host, or no event. Each chain is checked by itself. */
unsigned int atlock_audit_chain(const char *text);

/* Writes the line that ends an archive: how many events the present file has, from which to which, and their hashes. */
void atlock_audit_seal(const struct atlock_audit *audit, const char *time, char *out, size_t len);

/* After the last line: 0, or -EBADMSG; `out` says what is wrong. */
int atlock_audit_end(struct atlock_audit *audit, struct atlock_audit_result *out);

/* An archive that was among the files. `file` is valid until atlock_audit_free(). */
struct atlock_audit_archive {
	const char *file;
	uint64_t first; /* numbers of its events */
	uint64_t last;
	bool joined; /* the event that follows its last is among the lines */
};

/* After atlock_audit_end(): the i-th of them. False: there are no more. */
bool atlock_audit_archive(const struct atlock_audit *audit, size_t i, struct atlock_audit_archive *out);

#endif
