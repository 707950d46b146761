/*
 * The fields that a lock or a ticket is printed with: one table for each gives `cat`, JSON and extended attributes the
 * same keys in the same order, and says which keys users cannot write. Private to core/.
 */
#ifndef CORE_FIELD_H
#define CORE_FIELD_H

#include "atlock.h"

/* The longest value is a name with all bytes escaped. */
#define FIELD_TEXT_MAX (3 * ATLOCK_KEY_MAX + 1)

/* The source of values: a lock or a ticket. */
struct field_source {
	const void *base;               /* the view or the ticket */
	const struct atlock_view *view; /* NULL for a ticket */
	struct atlock_parts parts;      /* of the lock's name; all empty outside repos/ */
	const char *path;               /* of the lock; only tickets print it */
	int64_t offset;                 /* wall time minus lease time */
};

/* `text` is always set, has no control bytes, and belongs to the source or is `buf`. */
struct field_value {
	bool is_number;
	uint64_t number;
	const char *text;
	char buf[FIELD_TEXT_MAX];
};

struct field {
	const char *key;
	unsigned int kind;
	size_t offset;
};

/* Both tables end with a NULL key. */
extern const struct field field_view[];
extern const struct field field_ticket[];

/* Makes a source of a lock or a ticket; everything pointed to must outlive `out`. */
void field_of_view(struct field_source *out, const struct atlock_view *view, int64_t offset);
void field_of_ticket(struct field_source *out, const struct atlock_ticket *ticket, const char *path, int64_t offset);

/* The field with this key of `len` bytes, or NULL. */
const struct field *field_find(const struct field *fields, const char *key, size_t len);

/* Reads a field: 0, or 1 if it does not apply now. */
int field_read(const struct field *field, const struct field_source *source, struct field_value *out);

/* Converts an instant to wall time; ATLOCK_NEVER stays. */
int64_t field_wall(int64_t instant, int64_t offset);

#endif
