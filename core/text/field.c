/* The fields of locks and tickets: where each value is stored, and how each kind of value is printed. */
#include "field.h"

#include <string.h>

#include "decimal.h"
#include "holder.h"
#include "text.h"

/* The type at a field's offset in the view or the ticket, unless said otherwise. */
enum field_kind {
	KIND_TEXT,      /* char * */
	KIND_PART,      /* offset in struct atlock_parts; empty outside repos/ */
	KIND_NUMBER,    /* uint64_t */
	KIND_AHEAD,     /* uint64_t: one less than a position */
	KIND_UID,       /* uid_t */
	KIND_PID,       /* pid_t */
	KIND_PRIORITY,  /* enum atlock_priority */
	KIND_STATE,     /* enum atlock_state */
	KIND_TREE,      /* struct atlock_name */
	KIND_TIME,      /* int64_t: an instant */
	KIND_PULL,      /* char *: a who; the number in "pr:N" */
	KIND_CLAIM,     /* the same, of a lock that is ATLOCK_PENDING */
	KIND_DURATION,  /* int64_t */
	KIND_EXPECTED,  /* int64_t: a duration, or below 0 if unknown */
	KIND_ID,        /* no offset: the lock's id */
	KIND_PATH,      /* no offset: the lock's path */
	KIND_IS_TICKET, /* no offset: a ticket's state */
};

#define VIEW(member) offsetof(struct atlock_view, member)
#define PART(member) offsetof(struct atlock_parts, member)
#define TICKET(member) offsetof(struct atlock_ticket, member)

const struct field field_view[] = {
	{ "id", KIND_ID, 0 },
	{ "state", KIND_STATE, VIEW(state) },
	{ "type", KIND_TREE, VIEW(name) },
	{ "repo", KIND_PART, PART(repo) },
	{ "dir", KIND_PART, PART(dir) },
	{ "workspace", KIND_PART, PART(workspace) },
	{ "project", KIND_PART, PART(project) },
	{ "owner", KIND_TEXT, VIEW(owner) },
	{ "who", KIND_TEXT, VIEW(who) },
	{ "uid", KIND_UID, VIEW(uid) },
	{ "host", KIND_TEXT, VIEW(host) },
	{ "pid", KIND_PID, VIEW(pid) },
	{ "priority", KIND_PRIORITY, VIEW(priority) },
	{ "token", KIND_NUMBER, VIEW(token) },
	{ "version", KIND_NUMBER, VIEW(version) },
	{ "acquired_at", KIND_TIME, VIEW(acquired_at) },
	{ "renewed_at", KIND_TIME, VIEW(renewed_at) },
	{ "expires_at", KIND_TIME, VIEW(expires_at) },
	{ "ttl", KIND_DURATION, VIEW(ttl) },
	{ "waiters", KIND_NUMBER, VIEW(waiters) },
	{ "claim_by", KIND_CLAIM, VIEW(claim_by) },
	{ "pull", KIND_PULL, VIEW(who) },
	{ NULL, 0, 0 },
};

const struct field field_ticket[] = {
	{ "ticket", KIND_NUMBER, TICKET(ticket) },
	{ "lock", KIND_PATH, 0 },
	{ "state", KIND_IS_TICKET, 0 },
	{ "owner", KIND_TEXT, TICKET(owner) },
	{ "who", KIND_TEXT, TICKET(who) },
	{ "uid", KIND_UID, TICKET(uid) },
	{ "host", KIND_TEXT, TICKET(host) },
	{ "pid", KIND_PID, TICKET(pid) },
	{ "priority", KIND_PRIORITY, TICKET(priority) },
	{ "position", KIND_NUMBER, TICKET(position) },
	{ "ahead", KIND_AHEAD, TICKET(position) },
	{ "expected_wait", KIND_EXPECTED, TICKET(expected) },
	{ "since", KIND_TIME, TICKET(since) },
	{ "deadline", KIND_TIME, TICKET(deadline) },
	{ "ttl", KIND_DURATION, TICKET(ttl) },
	{ NULL, 0, 0 },
};

static const char *const states[] = {
	[ATLOCK_ACQUIRED] = "acquired",
	[ATLOCK_PENDING] = "pending",
	[ATLOCK_EXPIRED] = "expired",
	[ATLOCK_RELEASED] = "released",
};

static const char *state_name(enum atlock_state state)
{
	return (size_t)state < sizeof(states) / sizeof(states[0]) ? states[state] : "unknown";
}

static const char *const trees[] = {
	[ATLOCK_REPOS] = "project",
	[ATLOCK_CUSTOM] = "custom",
	[ATLOCK_GLOBAL] = "global",
	[ATLOCK_SHARED] = "shared",
};

void field_of_view(struct field_source *out, const struct atlock_view *view, int64_t offset)
{
	out->base = view;
	out->view = view;
	out->path = "";
	out->offset = offset;
	if (atlock_name_split(&view->name, &out->parts))
		memset(&out->parts, 0, sizeof(out->parts));
}

void field_of_ticket(struct field_source *out, const struct atlock_ticket *ticket, const char *path, int64_t offset)
{
	memset(out, 0, sizeof(*out));
	out->base = ticket;
	out->path = path;
	out->offset = offset;
}

const struct field *field_find(const struct field *fields, const char *key, size_t len)
{
	for (const struct field *field = fields; field->key; field++)
		if (strlen(field->key) == len && memcmp(field->key, key, len) == 0)
			return field;
	return NULL;
}

int64_t field_wall(int64_t instant, int64_t offset)
{
	int64_t wall;

	if (instant == ATLOCK_NEVER)
		return ATLOCK_NEVER;
	if (__builtin_add_overflow(instant, offset, &wall))
		return offset > 0 ? ATLOCK_NEVER : INT64_MIN;
	return wall;
}

/* Writes control bytes and `also` as %XX, so that every line stays one line. */
static void value_spell(struct field_value *value, const char *text, unsigned char also)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;

	for (const char *p = text ? text : ""; *p && n + 3 < sizeof(value->buf); p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x20 || c == 0x7f || c == also) {
			value->buf[n++] = '%';
			value->buf[n++] = hex[c >> 4];
			value->buf[n++] = hex[c & 15];
		} else {
			value->buf[n++] = *p;
		}
	}
	value->buf[n] = '\0';
}

static void value_number(struct field_value *value, uint64_t number)
{
	value->is_number = true;
	value->number = number;
	*decimal_print(value->buf, number) = '\0';
}

static void value_ahead(struct field_value *value, uint64_t position)
{
	value_number(value, position > 0 ? position - 1 : 0);
}

static void value_pid(struct field_value *value, pid_t pid)
{
	value_number(value, pid > 0 ? (uint64_t)pid : 0);
}

static void value_id(struct field_value *value, const struct atlock_view *view)
{
	char id[ATLOCK_ID_MAX];

	atlock_view_id(view, id);
	value_spell(value, id, 0);
}

static int value_claim(struct field_value *value, const struct field_source *source, int64_t instant)
{
	if (source->view->state != ATLOCK_PENDING)
		return 1;
	text_time(field_wall(instant, source->offset), value->buf, sizeof(value->buf));
	return 0;
}

static int value_pull(struct field_value *value, const char *who)
{
	uint64_t number;

	if (!who || !holder_pull(who, &number))
		return 1;
	value_number(value, number);
	return 0;
}

/* Prints an estimate in whole seconds, or below one second in whole milliseconds. */
static void value_expected(struct field_value *value, int64_t expected)
{
	int64_t unit = expected < ATLOCK_SECOND ? ATLOCK_SECOND / 1000 : ATLOCK_SECOND;

	if (expected < 0)
		value->text = "unknown";
	else
		atlock_duration_print(expected < unit && expected > 0 ? unit : expected - expected % unit, value->buf,
				      sizeof(value->buf));
}

int field_read(const struct field *field, const struct field_source *source, struct field_value *out)
{
	const void *at = (const char *)source->base + field->offset;

	out->is_number = false;
	out->text = out->buf;
	switch ((enum field_kind)field->kind) {
	case KIND_TEXT: value_spell(out, *(char *const *)at, 0); break;
	/* The part is decoded, so its own '%' must be escaped again. */
	case KIND_PART: value_spell(out, (const char *)&source->parts + field->offset, '%'); break;
	case KIND_NUMBER: value_number(out, *(const uint64_t *)at); break;
	case KIND_AHEAD: value_ahead(out, *(const uint64_t *)at); break;
	case KIND_UID: value_number(out, *(const uid_t *)at); break;
	case KIND_PID: value_pid(out, *(const pid_t *)at); break;
	case KIND_PRIORITY: out->text = atlock_priority_name(*(const enum atlock_priority *)at); break;
	case KIND_STATE: out->text = state_name(*(const enum atlock_state *)at); break;
	case KIND_TREE: out->text = trees[atlock_name_tree(at)]; break;
	case KIND_TIME: text_time(field_wall(*(const int64_t *)at, source->offset), out->buf, sizeof(out->buf)); break;
	case KIND_PULL: return value_pull(out, *(char *const *)at);
	case KIND_CLAIM: return value_claim(out, source, *(const int64_t *)at);
	case KIND_DURATION: atlock_duration_print(*(const int64_t *)at, out->buf, sizeof(out->buf)); break;
	case KIND_EXPECTED: value_expected(out, *(const int64_t *)at); break;
	case KIND_ID: value_id(out, source->view); break;
	case KIND_PATH: out->text = source->path; break;
	case KIND_IS_TICKET: out->text = states[ATLOCK_PENDING]; break;
	}
	return 0;
}
