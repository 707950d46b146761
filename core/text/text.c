/* Parses key=value lines. Copies nothing until all lines are valid, so that a bad line changes nothing. */
#include "text.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "field.h"
#include "holder.h"
#include "meta.h"
#include "userinfo.h"
#include "why.h"

static const char note_key[] = "note";
static const char note_separator[] = "; ";
static char nothing[] = ""; /* the user's own keys if there are none; never written to */

struct parse {
	struct text_change *out;
	struct atlock_why *why;
	size_t number; /* of the line being read, from 1 */
	bool plain;    /* no key has a meaning */
	char *notes;   /* lines without '=', joined; ATLOCK_META_BYTES allocated with the first */
	size_t notes_len;
	struct meta own;
};

/* Copies a value and adds a NUL. No known key has a longer value than a who. */
static int value_copy(struct parse *p, const struct meta_line *line, char out[ATLOCK_WHO_MAX + 1])
{
	if (line->value_len > ATLOCK_WHO_MAX)
		return why_set(p->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "line %zu: the value of %.*s= has %zu bytes: at most %d make sense", p->number,
			       (int)line->key_len, line->key, line->value_len, ATLOCK_WHO_MAX);
	memcpy(out, line->value, line->value_len);
	out[line->value_len] = '\0';
	return 0;
}

/* 0 means "not given", so a duration of 0 is refused; it would be useless, too. */
static int duration_take(struct parse *p, const struct meta_line *line, bool never, int64_t *out)
{
	char text[ATLOCK_WHO_MAX + 2] = "";
	int64_t duration = 0;
	int err = value_copy(p, line, text);

	if (err)
		return err;
	/* A number alone is of seconds, as other lock services have it. */
	if (text[0] != '\0' && text[0] != '0' && text[strspn(text, "0123456789")] == '\0')
		(void)strlcat(text, "s", sizeof(text));
	err = atlock_duration_parse(text, never, &duration);
	if (err == -ERANGE)
		return why_set(p->why, -EINVAL, ATLOCK_INVALID_REQUEST, "line %zu: %.*s=%s is too long%s", p->number,
			       (int)line->key_len, line->key, text, never ? ": for no end, write never" : "");
	if (err || duration == 0)
		return why_set(p->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "line %zu: %.*s=%s is no duration above 0: write 90s, 15m, 2h, 7d%s", p->number,
			       (int)line->key_len, line->key, text, never ? " or never" : "");
	*out = duration;
	return 0;
}

static int ttl_take(struct parse *p, const struct meta_line *line)
{
	p->out->lease_line = p->number;
	return duration_take(p, line, true, &p->out->ttl);
}

static int renew_take(struct parse *p, const struct meta_line *line)
{
	p->out->lease_line = p->number;
	return duration_take(p, line, false, &p->out->renew);
}

static int timeout_take(struct parse *p, const struct meta_line *line)
{
	return duration_take(p, line, true, &p->out->timeout);
}

static int priority_take(struct parse *p, const struct meta_line *line)
{
	char text[ATLOCK_WHO_MAX + 1];
	enum atlock_priority priority;
	int err = value_copy(p, line, text);

	if (err)
		return err;
	if (atlock_priority_parse(text, &priority))
		return why_set(p->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "line %zu: \"%s\" is no priority: low, normal, high or critical", p->number, text);
	p->out->priority = (int)priority;
	return 0;
}

static int owner_take(struct parse *p, const struct meta_line *line)
{
	char text[ATLOCK_WHO_MAX + 1];
	struct atlock_caller caller;
	int err = value_copy(p, line, text);

	if (err)
		return err;
	if (atlock_caller_init(&caller, text, "any", 0))
		return why_set(p->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "line %zu: an owner has 1 to %d bytes and no control bytes", p->number,
			       ATLOCK_OWNER_MAX);
	strlcpy(p->out->owner, text, sizeof(p->out->owner));
	return 0;
}

/* A who must be valid after '@' as well, or its locks could not be named by it. */
static int who_take(struct parse *p, const struct meta_line *line)
{
	char text[ATLOCK_WHO_MAX + 1];
	struct atlock_why bad;
	int err = value_copy(p, line, text);

	if (err)
		return err;
	err = holder_who_check(text, &bad);
	if (!err)
		err = escape_check(ESCAPE_WHO, false, text, strlen(text), &bad);
	if (err)
		return why_set(p->why, -EINVAL, ATLOCK_INVALID_REQUEST, "line %zu: who=: %s", p->number, bad.text);
	strlcpy(p->out->who, text, sizeof(p->out->who));
	return 0;
}

static int version_take(struct parse *p, const struct meta_line *line)
{
	char text[ATLOCK_WHO_MAX + 1];
	const char *bad = NULL;
	int err = value_copy(p, line, text);

	if (err)
		return err;
	p->out->if_version = (uint64_t)strtonum(text, 1, INT64_MAX, &bad);
	if (bad)
		return why_set(p->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "line %zu: if_version=%s is no version: write the number that the lock's version= shows",
			       p->number, text);
	return 0;
}

/* The number must be spelled as in "@pr:123", so that the two can be compared as text. */
static int pull_take(struct parse *p, const struct meta_line *line)
{
	char text[ATLOCK_WHO_MAX + 1];
	char who[sizeof("pr:") + ATLOCK_WHO_MAX];
	uint64_t number;
	int err = value_copy(p, line, text);

	if (err)
		return err;
	snprintf(who, sizeof(who), "pr:%s", text);
	if (!holder_pull(who, &number))
		return why_set(p->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "line %zu: pull=%s is no pull request: write a decimal number above 0, as in pull=123",
			       p->number, text);
	return meta_put(&p->own, line, p->why);
}

static const struct {
	const char *key;
	int (*take)(struct parse *p, const struct meta_line *line);
} understood[] = {
	{ "ttl", ttl_take },     { "renew", renew_take }, { "timeout", timeout_take }, { "priority", priority_take },
	{ "owner", owner_take }, { "who", who_take },     { "pull", pull_take },       { "if_version", version_take },
};

static bool key_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool key_is_good(const char *key, size_t len)
{
	if (len == 0 || len > META_KEY_MAX || !key_is_letter(key[0]))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!key_is_letter(key[i]) && !(key[i] >= '0' && key[i] <= '9') && key[i] != '.' && key[i] != '-')
			return false;
	return true;
}

/* pull= is validated, and stored like the other own keys. */
bool text_key_is_own(const char *key, size_t len)
{
	const struct meta_line line = { .key = key, .key_len = len };

	for (size_t i = 0; i < sizeof(understood) / sizeof(understood[0]); i++)
		if (understood[i].take != pull_take && meta_line_is(&line, understood[i].key))
			return false;
	return key_is_good(key, len) && !field_find(field_view, key, len) && !field_find(field_ticket, key, len);
}

unsigned char text_bad_byte(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return c == 0 ? 1 : c;
	}
	return 0;
}

static int own_take(struct parse *p, const struct meta_line *line)
{
	int shown = line->key_len < META_KEY_MAX ? (int)line->key_len : META_KEY_MAX;

	if (!key_is_good(line->key, line->key_len))
		return why_set(p->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "line %zu: \"%.*s\" is no key: 1 to %d letters, digits, '_', '.' or '-', the first a "
			       "letter or '_'; for a text with '=' in it, write note=TEXT",
			       p->number, shown, line->key, META_KEY_MAX);
	if (p->plain)
		return meta_put(&p->own, line, p->why);
	if (field_find(field_view, line->key, line->key_len) || field_find(field_ticket, line->key, line->key_len))
		return why_set(p->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "line %zu: the file system itself sets \"%.*s\": choose another key", p->number, shown,
			       line->key);
	return meta_put(&p->own, line, p->why);
}

/* A line without '=' continues or starts the note. */
static int note_take(struct parse *p, const struct meta_line *line)
{
	const struct meta_line *note = meta_find(&p->own, note_key, strlen(note_key));
	size_t separator;

	if (!p->notes)
		p->notes = malloc(ATLOCK_META_BYTES);
	if (!p->notes)
		return why_set(p->why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory");
	if (!note || note->value != p->notes)
		p->notes_len = 0;
	separator = p->notes_len ? strlen(note_separator) : 0;
	if (separator + line->value_len > ATLOCK_META_BYTES - p->notes_len)
		return meta_refuse_bytes(p->notes_len + separator + line->value_len, p->why);
	memcpy(p->notes + p->notes_len, note_separator, separator);
	memcpy(p->notes + p->notes_len + separator, line->value, line->value_len);
	p->notes_len += separator + line->value_len;
	return meta_put(
		&p->own,
		&(struct meta_line){
			.key = note_key, .key_len = strlen(note_key), .value = p->notes, .value_len = p->notes_len },
		p->why);
}

static int line_check(const struct parse *p, const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return why_set(p->why, -EINVAL, ATLOCK_INVALID_REQUEST,
				       "line %zu has a control byte (0x%02x, byte %zu of the line): write plain text",
				       p->number, c, i + 1);
	}
	return 0;
}

static int line_take(struct parse *p, const struct meta_line *line)
{
	const char *start = line->key ? line->key : line->value;
	int err = line_check(p, start, (size_t)(line->value + line->value_len - start));

	if (err)
		return err;
	if (!line->key)
		return line->value_len ? note_take(p, line) : 0;
	for (size_t i = 0; !p->plain && i < sizeof(understood) / sizeof(understood[0]); i++)
		if (meta_line_is(line, understood[i].key))
			return understood[i].take(p, line);
	return own_take(p, line);
}

static int lines_take(struct parse *p, const char *text, size_t len)
{
	struct meta_line line;
	int err = 0;

	if (!text && len)
		return why_set(p->why, -EINVAL, ATLOCK_INVALID_REQUEST, "no text where there should be %zu bytes", len);
	while (!err && meta_next(&text, &len, &line)) {
		p->number++;
		err = line_take(p, &line);
	}
	return err;
}

/* Keys whose values are addresses or remarks, into which people paste URLs with tokens. */
static const struct {
	const char *key;
	size_t (*strip)(char *text, size_t len);
} stripped[] = {
	{ "url", userinfo_strip_address },
	{ "reason", userinfo_strip },
	{ "note", userinfo_strip },
};

typedef size_t strip_fn(char *text, size_t len);

static strip_fn *strip_of(const struct meta_line *line)
{
	for (size_t i = 0; i < sizeof(stripped) / sizeof(stripped[0]); i++)
		if (meta_line_is(line, stripped[i].key))
			return stripped[i].strip;
	return NULL;
}

/* Shortens a text of meta_print() in place. */
static void urls_strip(char *meta, size_t *len)
{
	const char *at = meta;
	size_t left = *len;
	size_t out = 0;
	struct meta_line line;

	while (meta_next(&at, &left, &line)) {
		const char *begin = line.key != NULL ? line.key : line.value;
		size_t head = (size_t)(line.value - begin);
		size_t n = line.value_len;
		strip_fn *strip = strip_of(&line);

		memmove(meta + out, begin, head + n);
		if (strip != NULL)
			n = strip(meta + out + head, n);
		out += head + n;
		meta[out++] = '\n';
	}
	if (*len > 0)
		meta[out] = '\0';
	*len = out;
}

int text_parse(const char *text, size_t len, struct text_change *out, struct atlock_why *why)
{
	out->ttl = out->renew = out->timeout = 0;
	out->lease_line = 0;
	out->if_version = 0;
	out->priority = -1;
	out->owner[0] = out->who[0] = '\0';
	out->meta = len == 0 ? nothing : NULL;
	out->meta_len = 0;
	/* Fast path: most calls have no text, and struct parse is large. */
	if (len == 0)
		return 0;
	struct parse p = { .out = out, .why = why };
	int err = lines_take(&p, text, len);
	if (!err && out->ttl && out->renew)
		err = why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			      "ttl= counts from now and renew= from the old expiry: write one of them");
	if (!err)
		err = meta_print(&p.own, &out->meta, &out->meta_len, why);
	if (!err)
		urls_strip(out->meta, &out->meta_len);
	free(p.notes);
	return err;
}

int text_parse_plain(const char *text, size_t len, char **out, size_t *out_len, struct atlock_why *why)
{
	struct parse p = { .why = why, .plain = true };
	int err = lines_take(&p, text, len);

	if (!err)
		err = meta_print(&p.own, out, out_len, why);
	if (!err)
		urls_strip(*out, out_len);
	free(p.notes);
	return err;
}

void text_change_free(struct text_change *change)
{
	if (change->meta != nothing)
		free(change->meta);
	change->meta = NULL;
	change->meta_len = 0;
}
