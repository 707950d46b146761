/*
 * Atlantis' records: JSON with Go's field names, and what each is in the tree. Which fields there are differs by version,
 * so that missing and unknown ones are normal. A lock is taken from its value, never from its key, which has said different
 * things at different times. Private to core/.
 */
#ifndef CORE_ATLANTIS_H
#define CORE_ATLANTIS_H

#include <stdio.h>

#include "atlock.h"
#include "atlock/import.h"

struct json_t;

#define ATLANTIS_KEY "atlantis" /* own key of a lock that keeps the rest of its record */
#define ATLANTIS_COMMANDS 10

/* Parses a JSON object; NULL, and the reason in `why`. */
struct json_t *atlantis_parse(const char *data, size_t len, const char *what, struct atlock_why *why);

/* Takes everything secret out: CloneURL wherever it is, and passwords in other URLs. */
void atlantis_scrub(struct json_t *secret);

/* One line of ASCII without control bytes, malloc'ed, or NULL. */
char *atlantis_print(const struct json_t *value);

/* Fields by their path, "Pull.BaseRepo.FullName": "" and 0 if missing or of another type. */
const char *atlantis_string(const struct json_t *value, const char *path);
int64_t atlantis_integer(const struct json_t *value, const char *path);

/* Without "." and empty components; "." for the root. -EINVAL for "..", -ENAMETOOLONG. */
int atlantis_path_clean(const char *path, char *out, size_t len);

/* "apply" for 0; NULL for a number that is no command. And the number of "apply", or -1. */
const char *atlantis_command_name(int64_t number);
int atlantis_command_number(const char *name);

/* Raises the numbers of statuses by what was inserted in 0.25. */
void atlantis_status_shift(struct json_t *pull);

/*
 * Fills a record in from a value that has been scrubbed. `found` is the key that it was found under, or NULL. -EINVAL,
 * -ENAMETOOLONG with `why` for one that cannot be in the tree.
 */
int atlantis_record(enum atlock_foreign_kind kind, const struct json_t *value, const char *found,
		    struct atlock_foreign_record *record, struct atlock_why *why);

/* Fills in `value` of a record. -ENOMEM */
int atlantis_value(const struct json_t *value, struct atlock_foreign_record *record);

/* A line key=value, unless the value is empty, long, or not fit for a line. */
void atlantis_line(FILE *out, const char *key, const char *value);

int atlantis_no_memory(struct atlock_why *why);

/* The parts of atlantis_record(). */
int atlantis_lock_record(const struct json_t *value, const char *found, struct atlock_foreign_record *record,
			 struct atlock_why *why);
int atlantis_pull_record(const struct json_t *value, const char *found, struct atlock_foreign_record *record,
			 struct atlock_why *why);
int atlantis_global_record(const struct json_t *value, const char *found, struct atlock_foreign_record *record,
			   struct atlock_why *why);

#endif
