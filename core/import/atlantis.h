/*
 * Atlantis' records: JSON with Go's field names, and their place in the tree. The fields differ by version, so missing and
 * unknown ones are normal. A lock is read from its value, never from its key, whose meaning has changed between versions. Private
 * to core/.
 */
#ifndef CORE_ATLANTIS_H
#define CORE_ATLANTIS_H

#include <stdio.h>

#include "atlock.h"
#include "atlock/import.h"

struct json_t;

#define ATLANTIS_KEY "atlantis"       /* the key of a lock's text that keeps the rest of its record */
#define ATLANTIS_FOUND "atlantis_key" /* the key of its text that has the key it was found under */
#define ATLANTIS_COMMANDS 10

/* Parses a JSON object; NULL, and the reason in `why`. */
struct json_t *atlantis_parse(const char *data, size_t len, const char *what, struct atlock_why *why);

/* Removes all secrets: CloneURL at any depth, and passwords in other URLs. */
void atlantis_scrub(struct json_t *secret);

/* One line of ASCII without control bytes, malloc'ed, or NULL. */
char *atlantis_print(const struct json_t *value);

/* Fields by path, "Pull.BaseRepo.FullName": "" and 0 if missing or of another type. */
const char *atlantis_string(const struct json_t *value, const char *path);
int64_t atlantis_integer(const struct json_t *value, const char *path);

/* Removes "." and empty components; "." for the root. -EINVAL for "..", -ENAMETOOLONG. */
int atlantis_path_clean(const char *path, char *out, size_t len);

/* The number of a command, 0 for "apply"; -1: there is none of that name. */
int atlantis_command_number(const char *name);

/* Converts the status numbers of versions before 0.25, which inserted one. */
void atlantis_status_shift(struct json_t *pull);

/*
 * Fills in a record from a value that has been scrubbed. `found` is the key it was found under, or NULL. -EINVAL or -ENAMETOOLONG
 * with `why` if it cannot be in the tree.
 */
int atlantis_record(enum atlock_foreign_kind kind, const struct json_t *value, const char *found,
		    struct atlock_foreign_record *record, struct atlock_why *why);

/* Fills in `value` of a record. -ENOMEM. */
int atlantis_value(const struct json_t *value, struct atlock_foreign_record *record);

/* Prints a line key=value, unless the value is empty, long, or has control bytes. */
void atlantis_line(FILE *out, const char *key, const char *value);

int atlantis_no_memory(struct atlock_why *why);

/* The parts of atlantis_record(). */
int atlantis_lock_record(const struct json_t *value, const char *found, struct atlock_foreign_record *record,
			 struct atlock_why *why);
int atlantis_pull_record(const struct json_t *value, const char *found, struct atlock_foreign_record *record,
			 struct atlock_why *why);

#endif
