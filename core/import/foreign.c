/* Reads and writes Atlantis' records: a file or a server (store/foreign/), or JSON lines. */
#include "foreign.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "atlantis.h"
#include "atlock/import.h"
#include "other_records.h"
#include "text.h"
#include "why.h"

_Static_assert((int)FOREIGN_LOCK == (int)ATLOCK_FOREIGN_LOCK && (int)FOREIGN_PULL == (int)ATLOCK_FOREIGN_PULL &&
		       (int)FOREIGN_GLOBAL == (int)ATLOCK_FOREIGN_GLOBAL &&
		       (int)FOREIGN_ENHANCED == (int)ATLOCK_FOREIGN_LEASE && FOREIGN_OLDER == ATLOCK_FOREIGN_OLDER &&
		       FOREIGN_WATCH == ATLOCK_FOREIGN_WATCH,
	       "one numbering");

static const char *const buckets[ATLOCK_FOREIGN_KINDS] = {
	[ATLOCK_FOREIGN_LOCK] = "runLocks",
	[ATLOCK_FOREIGN_PULL] = "pulls",
	[ATLOCK_FOREIGN_GLOBAL] = "globalLocks",
};

struct atlock_foreign {
	struct foreign *store; /* or `lines` */
	FILE *lines;
	char *line;
	size_t size;
	uint64_t number; /* of the line */
	unsigned int flags;
	int parts;     /* of keys that are written; 0: as those that were read */
	json_t *items; /* of a scan of a DynamoDB table, or NULL */
	size_t item;   /* next of them */
	bool pending;  /* `line` has been read and not used */
	bool seen[2];  /* locks with keys of three and of four parts */
};

static const struct {
	int err;
	enum atlock_code code;
} codes[] = {
	{ -EBUSY, ATLOCK_LOCK_EXISTS },
	{ -EACCES, ATLOCK_PERMISSION_DENIED },
	{ -EINVAL, ATLOCK_INVALID_REQUEST },
	{ -ENOENT, ATLOCK_LOCK_NOT_FOUND },
};

static int fail(struct atlock_why *why, int err, const char *text)
{
	enum atlock_code code = ATLOCK_BACKEND_ERROR;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].err == err)
			code = codes[i].code;
	return why_set(why, err, code, "%s", text);
}

/*
 * A scan of a DynamoDB table is one JSON object, printed on one line or on many; other sources have an object on each line. Reads the
 * first line, and all others if the object goes on there. 0, or -ENOMEM.
 */
static int scan_look(struct atlock_foreign *foreign)
{
	char *rest = NULL;
	size_t size = 0;
	json_t *scan;
	ssize_t len = getline(&foreign->line, &foreign->size, foreign->lines);

	foreign->pending = len > 0;
	if (len < 0)
		return 0;
	scan = json_loadb(foreign->line, (size_t)len, 0, NULL);
	if (scan == NULL && foreign->line[0] == '{' && strspn(foreign->line, "{ \t\r\n") == (size_t)len) {
		ssize_t more = getdelim(&rest, &size, '\0', foreign->lines);
		char *whole = NULL;

		if (asprintf(&whole, "%s%s", foreign->line, more > 0 ? rest : "") < 0)
			return -ENOMEM;
		scan = json_loads(whole, 0, NULL);
		free(rest);
		free(whole);
	}
	foreign->items = json_incref(json_object_get(scan, "Items"));
	foreign->pending = foreign->items == NULL;
	json_decref(scan);
	return 0;
}

/* Whether a file begins like JSON. The reader of Bolt files judges all other files. */
static bool is_lines(FILE *file)
{
	int c;

	do
		c = getc(file);
	while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
	rewind(file);
	return c == '{';
}

static int lines_open(struct atlock_foreign *foreign, const char *from)
{
	FILE *file;

	if (strcmp(from, "-") == 0) {
		foreign->lines = stdin;
		return 1;
	}
	if (strstr(from, "://") != NULL)
		return 0;
	file = fopen(from, "re");
	if (file == NULL)
		return 0;
	if (is_lines(file)) {
		foreign->lines = file;
		return 1;
	}
	fclose(file);
	return 0;
}

int atlock_foreign_open(struct atlock_foreign **out, const char *from, unsigned int flags, struct atlock_why *why)
{
	struct atlock_foreign *foreign;
	char error[FOREIGN_ERROR_MAX] = "";
	int err;

	if (out == NULL || from == NULL || from[0] == '\0')
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no file or address given");
	foreign = calloc(1, sizeof(*foreign));
	if (foreign == NULL)
		return atlantis_no_memory(why);
	foreign->flags = flags;
	err = lines_open(foreign, from);
	if (err == 1 && scan_look(foreign) < 0) {
		atlock_foreign_close(foreign);
		return atlantis_no_memory(why);
	}
	if (err == 0)
		err = foreign_open(&foreign->store, from, flags & (FOREIGN_OLDER | FOREIGN_WATCH), error);
	if (err < 0) {
		free(foreign);
		return fail(why, err, error);
	}
	*out = foreign;
	return 0;
}

void atlock_foreign_close(struct atlock_foreign *foreign)
{
	if (foreign == NULL)
		return;
	foreign_close(foreign->store);
	if (foreign->lines != NULL && foreign->lines != stdin)
		fclose(foreign->lines);
	json_decref(foreign->items);
	free(foreign->line);
	free(foreign);
}

uint64_t atlock_foreign_others(const struct atlock_foreign *foreign, const char **names)
{
	*names = foreign->store == NULL ? "" : foreign->store->other;
	return foreign->store == NULL ? 0 : foreign->store->others;
}

unsigned int atlock_foreign_nodes(const struct atlock_foreign *foreign)
{
	return foreign->store == NULL ? 0 : foreign->store->nodes;
}

uint64_t atlock_foreign_total(const struct atlock_foreign *foreign)
{
	return foreign->store == NULL ? 0 : foreign->store->total;
}

/* Names the record in a refusal: 2, so that the caller can skip the record, or `err` if the record is not at fault. */
static int pass_over(int err, const char *what, const struct atlock_why *bad, struct atlock_why *why)
{
	why_set(why, err, bad->code, "%.160s: %s", what, bad->text);
	return err == -ENOMEM ? err : 2;
}

static int value_read(struct atlock_foreign *foreign, enum atlock_foreign_kind kind, json_t *value, const char *found,
		      struct atlock_foreign_record *record, struct atlock_why *why)
{
	atlantis_scrub(value);
	if (kind == ATLOCK_FOREIGN_PULL && (foreign->flags & ATLOCK_FOREIGN_BEFORE_0_25))
		atlantis_status_shift(value);
	return atlantis_record(kind, value, found, record, why);
}

static int store_next_record(struct atlock_foreign *foreign, struct atlock_foreign_record *record,
			     struct atlock_why *why)
{
	struct atlock_why bad = { .text = "" };
	struct foreign_item item;
	json_t *value;
	char *found;
	int err = foreign_next(foreign->store, &item);

	if (err < 0)
		return fail(why, err, foreign->store->error);
	if (err > 0)
		return 1;
	found = strndup(item.key.data, item.key.len);
	if (found == NULL)
		return atlantis_no_memory(why);
	value = atlantis_parse(item.value.data, item.value.len, "its value", &bad);
	if (value == NULL)
		err = -EBADMSG;
	else if (item.kind >= FOREIGN_KINDS)
		err = enhanced_record(value, found, item.ttl, item.kind == FOREIGN_QUEUE, record, &bad);
	else
		err = value_read(foreign, (enum atlock_foreign_kind)item.kind, value, found, record, &bad);
	json_decref(value);
	if (err < 0)
		err = pass_over(err, found, &bad, why);
	free(found);
	return err;
}

static int value_check(const char *key, const char *value, struct atlock_why *why)
{
	unsigned char bad = text_bad_byte(value, strlen(value));

	if (bad == 0)
		return 0;
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
		       "its %.64s has a control byte (0x%02x), and no line of a lock has any", key, bad);
}

/* The path goes to the kernel, which would follow "..": each component must have the spelling of the tree. */
static int path_check(const char *path, const char *who, struct atlock_why *why)
{
	char text[ATLOCK_PATH_MAX + ATLOCK_WHO_MAX + 2];
	struct atlock_name name;
	char *rest = text;
	const char *component;
	int err = 0;

	component = strrchr(path, '/');
	if (component != NULL && strchr(component, '@') != NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "%.200s names a holder: that is in its who", path);
	if (snprintf(text, sizeof(text), "%s@%s", path, who) >= (int)sizeof(text))
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "its names are too long");
	if (strncmp(path, "custom/", strlen("custom/")) != 0)
		return atlock_name_parse(text, &name, why);
	rest += strlen("custom/");
	while (err == 0 && (component = strsep(&rest, "/")) != NULL)
		err = rest != NULL ? atlock_component_check(component, why)
				   : atlock_name_custom(0, component, &name, why);
	return err;
}

static int meta_check(const json_t *meta, struct atlock_why *why)
{
	const char *key;
	json_t *value;
	int err = 0;

	/* jansson's loop macro needs a non-const pointer, though it only reads. */
	json_object_foreach((json_t *)meta, key, value) {
		if (!text_key_is_own(key, strlen(key)))
			return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "\"%.64s\" is no key of its holder's own",
				       key);
		if (!json_is_string(value))
			return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "its %.64s is no text", key);
		err = value_check(key, json_string_value(value), why);
		if (err < 0)
			return err;
	}
	return 0;
}

/*
 * Checks every value that becomes a line of a request or a part of a path, so that none can smuggle in another line or component.
 */
static int native_check(const json_t *line, struct atlock_why *why)
{
	static const char *const keys[] = { "ttl", "priority", "owner", "who" };
	const char *owner = atlantis_string(line, "owner");
	int err = 0;

	if (strcmp(atlantis_string(line, "kind"), "lock") != 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "is no lock, and a waiter cannot be moved");
	for (size_t i = 0; err == 0 && i < sizeof(keys) / sizeof(keys[0]); i++)
		err = value_check(keys[i], atlantis_string(line, keys[i]), why);
	if (err == 0 && strlen(owner) > ATLOCK_OWNER_MAX)
		err = why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "its owner has more than %d bytes",
			      ATLOCK_OWNER_MAX);
	if (err == 0)
		err = path_check(atlantis_string(line, "lock"), atlantis_string(line, "who"), why);
	return err == 0 ? meta_check(json_object_get(line, "meta"), why) : err;
}

/* Reads a lock of another mount of this file system: a line of its locks.jsonl. */
static int native_read(json_t *line, struct atlock_foreign_record *record, struct atlock_why *why)
{
	const char *key;
	json_t *value;
	FILE *out;
	size_t len;
	char *text;
	int err = native_check(line, why);

	if (err < 0)
		return err;
	text = json_dumps(line, JSON_COMPACT);
	err = text == NULL ? -ENOMEM : atlock_foreign_from_lock(text, strlen(text), record, why);
	free(text);
	if (err < 0)
		return err;
	free(record->text);
	record->text = NULL;
	out = open_memstream(&record->text, &len);
	if (out == NULL)
		return atlantis_no_memory(why);
	fprintf(out, "ttl=%s\npriority=%s\n", atlantis_string(line, "ttl"), atlantis_string(line, "priority"));
	json_object_foreach(json_object_get(line, "meta"), key, value) {
		fprintf(out, "%s=%s\n", key, json_string_value(value));
	}
	return fclose(out) == 0 ? 0 : atlantis_no_memory(why);
}

static int line_read(struct atlock_foreign *foreign, json_t *line, struct atlock_foreign_record *record,
		     struct atlock_why *why)
{
	const char *bucket = atlantis_string(line, "bucket");
	json_t *value = json_object_get(line, "value");

	if (json_object_get(line, "kind") != NULL)
		return native_read(line, record, why);
	for (int i = 0; json_is_object(value) && i < ATLOCK_FOREIGN_KINDS; i++)
		if (strcmp(buckets[i], bucket) == 0)
			return value_read(foreign, (enum atlock_foreign_kind)i, value, atlantis_string(line, "key"),
					  record, why);
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
		       "is no line of an export: {\"bucket\":...,\"key\":...,\"value\":{...}}");
}

static int scan_next(struct atlock_foreign *foreign, struct atlock_foreign_record *record, struct atlock_why *why)
{
	struct atlock_why bad = { .text = "" };
	char what[32];
	int err;

	if (foreign->item == json_array_size(foreign->items))
		return 1;
	snprintf(what, sizeof(what), "item %zu", foreign->item + 1);
	err = dynamo_record(json_array_get(foreign->items, foreign->item++), record, &bad);
	return err < 0 ? pass_over(err, what, &bad, why) : 0;
}

static int lines_next(struct atlock_foreign *foreign, struct atlock_foreign_record *record, struct atlock_why *why)
{
	struct atlock_why bad = { .text = "" };
	json_t *line;
	char what[32];
	ssize_t len;
	int err;

	if (foreign->items != NULL)
		return scan_next(foreign, record, why);
	do {
		len = foreign->pending ? (ssize_t)strlen(foreign->line)
				       : getline(&foreign->line, &foreign->size, foreign->lines);
		foreign->pending = false;
		foreign->number++;
	} while (len == 1);
	if (len < 0 && ferror(foreign->lines))
		return fail(why, -EIO, "the lines cannot be read");
	if (len < 0)
		return 1;
	snprintf(what, sizeof(what), "line %ju", (uintmax_t)foreign->number);
	line = atlantis_parse(foreign->line, (size_t)len, "not JSON", &bad);
	err = line == NULL ? -EBADMSG : line_read(foreign, line, record, &bad);
	json_decref(line);
	return err < 0 ? pass_over(err, what, &bad, why) : 0;
}

int atlock_foreign_next(struct atlock_foreign *foreign, struct atlock_foreign_record *record, struct atlock_why *why)
{
	int err;

	atlock_foreign_clear(record);
	err = foreign->store != NULL ? store_next_record(foreign, record, why) : lines_next(foreign, record, why);
	/* A named project has the same three parts as others, so only keys that end there tell. */
	if (err == 0 && record->form != 0)
		foreign->seen[record->form - 3] = true;
	return err;
}

int atlock_foreign_again(struct atlock_foreign *foreign, struct atlock_why *why)
{
	int err;

	if (foreign->store == NULL)
		return why_set(why, -EROFS, ATLOCK_INVALID_REQUEST, "JSON lines are read once: name a Redis or a file");
	err = foreign_again(foreign->store);
	return err < 0 ? fail(why, err, foreign->store->error) : 0;
}

bool atlock_foreign_changed(struct atlock_foreign *foreign)
{
	return foreign->store == NULL || foreign_changed(foreign->store);
}

int atlock_foreign_watch(const struct atlock_foreign *foreign)
{
	return foreign->store == NULL ? -1 : foreign->store->watch;
}

int64_t atlock_foreign_flushes(const struct atlock_foreign *foreign, int64_t *before)
{
	*before = foreign->store == NULL ? -1 : foreign->store->flushes_before;
	return foreign->store == NULL ? -1 : foreign->store->flushes;
}

void atlock_foreign_keys(struct atlock_foreign *foreign, int parts)
{
	foreign->parts = parts;
}

int atlock_foreign_parts(const struct atlock_foreign *foreign)
{
	return foreign->seen[1] ? 4 : foreign->seen[0] ? 3 : 0;
}

/* The form in which a lock is written that is not there yet. */
static int form_new(const struct atlock_foreign *foreign)
{
	if (foreign->parts != 0)
		return foreign->parts;
	return atlock_foreign_parts(foreign) == 3 ? 3 : 4;
}

static int refuse_write(struct atlock_why *why)
{
	return why_set(why, -EROFS, ATLOCK_INVALID_REQUEST, "JSON lines are only read: name a Redis to write to");
}

/* Looks under the key in use and then, for a lock, under its other one. 0 or 1; record->form says where, or where to write. */
static int both_get(struct atlock_foreign *foreign, struct atlock_foreign_record *record, struct slice *out)
{
	int first = form_new(foreign);
	int err;

	record->form = first;
	err = foreign_get(foreign->store, (enum foreign_kind)record->kind, atlock_foreign_key(record), out);
	if (err != 1 || record->key3 == NULL)
		return err;
	record->form = 7 - first;
	err = foreign_get(foreign->store, (enum foreign_kind)record->kind, atlock_foreign_key(record), out);
	if (err == 1)
		record->form = first;
	return err;
}

int atlock_foreign_get(struct atlock_foreign *foreign, struct atlock_foreign_record *record, char **value,
		       struct atlock_why *why)
{
	struct slice found;
	int err;

	if (foreign->store == NULL)
		return refuse_write(why);
	err = both_get(foreign, record, &found);
	if (err < 0)
		return fail(why, err, foreign->store->error);
	if (err > 0)
		return 1;
	*value = strndup(found.data, found.len);
	return *value == NULL ? atlantis_no_memory(why) : 0;
}

int atlock_foreign_change(struct atlock_foreign *foreign, struct atlock_foreign_record *record, const char *old,
			  const char *value, struct atlock_why *why)
{
	struct foreign_item item = { .kind = (enum foreign_kind)record->kind,
				     .value = { value, value == NULL ? 0 : strlen(value) },
				     .ttl = record->ttl > 0 ? record->ttl : -1 };
	struct slice before = { old, old == NULL ? 0 : strlen(old) };
	struct slice found;
	int err;

	if (foreign->store == NULL)
		return refuse_write(why);
	/* A new lock must not be there under its other key either. An Atlantis uses one form, and that one is compared again. */
	err = old == NULL && record->key3 != NULL ? both_get(foreign, record, &found) : 1;
	if (err != 1)
		return err < 0 ? fail(why, err, foreign->store->error) : 1;
	item.key = slice_of(atlock_foreign_key(record));
	err = foreign_change(foreign->store, &item, old == NULL ? NULL : &before);
	return err < 0 ? fail(why, err, foreign->store->error) : err;
}

int atlock_foreign_enqueue(struct atlock_foreign *foreign, const struct atlock_foreign_record *record,
			   struct atlock_why *why)
{
	int err;

	if (foreign->store == NULL)
		return refuse_write(why);
	err = foreign_enqueue(foreign->store, record->key, record->value, record->score);
	return err < 0 ? fail(why, err, foreign->store->error) : err;
}

int atlock_foreign_bolt(const char *path, struct atlock_foreign_record *const *records, size_t count,
			struct atlock_why *why)
{
	struct foreign_item *items = calloc(count + 1, sizeof(*items));
	char error[FOREIGN_ERROR_MAX] = "";
	size_t n = 0;
	int err;

	if (items == NULL)
		return atlantis_no_memory(why);
	for (size_t i = 0; i < count; i++)
		if (records[i]->key != NULL)
			items[n++] = (struct foreign_item){ .kind = (enum foreign_kind)records[i]->kind,
							    .key = slice_of(atlock_foreign_key(records[i])),
							    .value = slice_of(records[i]->value),
							    .ttl = -1 };
	err = bolt_write(path, items, n, error);
	free(items);
	return err < 0 ? fail(why, err, error) : 0;
}

char *atlock_foreign_line(const struct atlock_foreign_record *record)
{
	json_t *value = record->value == NULL ? NULL : json_loads(record->value, 0, NULL);
	json_t *line = json_pack("{s:s, s:s, s:o}", "bucket", buckets[record->kind], "key", atlock_foreign_key(record),
				 "value", value);
	char *text = line == NULL ? NULL : json_dumps(line, JSON_COMPACT);

	json_decref(line);
	return text;
}
