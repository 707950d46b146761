/* Locks and waiters as JSON: the fields of the text, with numbers as numbers. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "meta.h"
#include "text.h"
#include "utf8.h"

/* Names are bytes, JSON is Unicode: a byte that is not UTF-8 becomes %XX, which no name spells its bytes as. */
static json_t *string_spell(const char *text, size_t len)
{
	char *spelled = malloc(3 * len + 1);
	size_t n = 0;
	json_t *string;

	if (!spelled)
		return NULL;
	for (size_t i = 0; i < len;) {
		size_t step = utf8_len((const unsigned char *)text + i, len - i);

		if (step == 0) {
			n += (size_t)snprintf(spelled + n, 4, "%%%02X", (unsigned char)text[i++]);
			continue;
		}
		memcpy(spelled + n, text + i, step);
		n += step;
		i += step;
	}
	string = json_stringn(spelled, n);
	free(spelled);
	return string;
}

static json_t *string_make(const char *text, size_t len)
{
	json_t *string = json_stringn(text, len);

	return string ? string : string_spell(text, len);
}

static json_t *value_make(const struct field_value *value)
{
	if (value->is_number)
		return json_integer(value->number > INT64_MAX ? INT64_MAX : (json_int_t)value->number);
	return string_make(value->text, strlen(value->text));
}

/* The first members of every object. */
static json_t *object_begin(const char *kind, const char *path)
{
	json_t *object = json_object();

	if (json_object_set_new(object, "kind", json_string(kind)) ||
	    json_object_set_new(object, "lock", string_make(path, strlen(path)))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static int object_add_fields(json_t *object, const struct field *fields, const struct field_source *source)
{
	struct field_value value;
	int err = 0;

	for (const struct field *field = fields; !err && field->key; field++)
		if (field_read(field, source, &value) == 0)
			err = json_object_set_new(object, field->key, value_make(&value));
	return err;
}

/* What programs count with: seconds, and the type, namespace, name, workspace and path that other lock managers name a lock by. */
static int object_add_numbers(json_t *object, const struct atlock_view *view, int64_t offset)
{
	json_t *ttl = view->ttl == ATLOCK_NEVER ? json_null() : json_integer(view->ttl / ATLOCK_SECOND);
	json_t *until = view->expires_at == ATLOCK_NEVER ? json_null()
							 : json_integer((view->expires_at + offset) / ATLOCK_SECOND);

	return json_object_set_new(object, "ttl_seconds", ttl) || json_object_set_new(object, "expires_unix", until)
		       ? -1
		       : 0;
}

static json_t *member(const json_t *object, const char *key)
{
	json_t *found = json_object_get(object, key);

	return json_is_string(found) ? json_incref(found) : json_string("");
}

static int object_add_resource(json_t *object, const char *path)
{
	const char *name = strrchr(path, '/');
	json_t *project = member(object, "project");
	bool named = json_string_length(project) > 0;
	json_t *resource = json_pack(
		"{s:o, s:o, s:o, s:o, s:o}", "type", member(object, "type"), "namespace", member(object, "repo"),
		"name",
		named ? json_incref(project)
		      : string_make(name == NULL ? path : name + 1, strlen(name == NULL ? path : name + 1)),
		"workspace", member(object, "workspace"), "path", member(object, "dir"));

	json_decref(project);
	return json_object_set_new(object, "resource", resource);
}

/* null if the keys cannot be read, which differs from having none. */
static int object_add_meta(json_t *object, const struct atlock_view *view)
{
	json_t *own = view->meta_damaged ? json_null() : json_object();
	const char *meta = view->meta;
	size_t len = meta ? view->meta_len : 0;
	struct meta_line line;
	char key[META_KEY_MAX + 1];
	int err = 0;

	while (!err && meta_next(&meta, &len, &line)) {
		if (!line.key || line.key_len > META_KEY_MAX)
			continue;
		memcpy(key, line.key, line.key_len);
		key[line.key_len] = '\0';
		err = json_object_set_new(own, key, string_make(line.value, line.value_len));
	}
	if (err) {
		json_decref(own);
		return err;
	}
	return json_object_set_new(object, "meta", own);
}

/* Prints the object and releases it. */
static char *object_print(json_t *object, int err, size_t *len)
{
	char *text = err ? NULL : json_dumps(object, JSON_COMPACT);

	json_decref(object);
	if (text && len)
		*len = strlen(text);
	return text;
}

char *json_of_view(const struct atlock_view *view, const char *path, int64_t offset, size_t *len)
{
	json_t *object = object_begin("lock", path);
	struct field_source source;
	int err;

	field_of_view(&source, view, offset);
	err = object_add_fields(object, field_view, &source);
	if (!err)
		err = object_add_numbers(object, view, offset);
	if (!err)
		err = object_add_resource(object, path);
	if (!err)
		err = object_add_meta(object, view);
	return object_print(object, err, len);
}

char *json_of_ticket(const struct atlock_ticket *ticket, const char *path, int64_t offset, size_t *len)
{
	json_t *object = object_begin("waiter", path);
	struct field_source source;

	field_of_ticket(&source, ticket, path, offset);
	return object_print(object, object_add_fields(object, field_ticket, &source), len);
}

char *atlock_view_json(struct atlock *al, const struct atlock_view *view, size_t *len)
{
	char path[ATLOCK_PATH_MAX];

	if (!al || !view || atlock_name_show(al, &view->name, path, sizeof(path)) < 0)
		return NULL;
	return json_of_view(view, path, atlock_wall(al, 0), len);
}

char *atlock_ticket_json(struct atlock *al, const struct atlock_name *name, const struct atlock_ticket *ticket,
			 size_t *len)
{
	char path[ATLOCK_PATH_MAX];

	if (!al || !name || !ticket || atlock_name_show(al, name, path, sizeof(path)) < 0)
		return NULL;
	return json_of_ticket(ticket, path, atlock_wall(al, 0), len);
}
