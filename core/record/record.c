#include "record.h"

#include "crc32c.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum field_type { FIELD_U8, FIELD_U16, FIELD_U32, FIELD_U64, FIELD_SHORT, FIELD_STRING, FIELD_LONG_STRING };

struct field {
	enum field_type type;
	uint8_t since; /* first record version that has it */
	size_t offset;
};

struct layout {
	const struct field *fields;
	size_t count;
	size_t size; /* of the struct */
	uint8_t version;
	bool spare; /* fields since that version that are all 0 are not written: then it is the version before */
};

#define F_SINCE(version, record, kind, name)                                  \
	{                                                                     \
		FIELD_##kind, version, offsetof(struct record_##record, name) \
	}
#define F(record, kind, name) F_SINCE(1, record, kind, name)

static const struct field format_fields[] = { F(format, U32, version), F(format, U64, created) };

static const struct field counter_fields[] = { F(counter, U64, next), F(counter, U64, ceiling) };

static const struct field tail_fields[] = {
	F(tail, U64, seq),
	F(tail, U64, time),
	F(tail, U64, offset),
	F(tail, U64, held),
	F(tail, U64, waiting),
	F(tail, SHORT, day),
	F(tail, SHORT, first),
	F(tail, SHORT, size),
	F(tail, STRING, hash),
	F_SINCE(2, tail, SHORT, owed),
	F_SINCE(2, tail, SHORT, events),
};

static const struct field lock_fields[] = {
	F(lock, U8, grant.state),
	F(lock, U8, grant.priority),
	F(lock, U16, mode),
	F(lock, U32, grant.holder.uid),
	F(lock, U32, grant.holder.gid),
	F(lock, U32, grant.holder.pid),
	F(lock, U32, grant.holder.boot),
	F(lock, U64, grant.holder.start),
	F(lock, U64, grant.token),
	F(lock, U64, grant.version),
	F(lock, U64, grant.id_time),
	F(lock, U32, grant.id_random),
	F(lock, U64, grant.acquired),
	F(lock, U64, grant.renewed),
	F(lock, U64, grant.expires),
	F(lock, U64, grant.ttl),
	F(lock, U64, grant.claim_by),
	F(lock, U64, grant.ticket),
	F(lock, STRING, grant.holder.owner),
	F(lock, STRING, grant.holder.who),
	F(lock, STRING, grant.holder.host),
	F_SINCE(2, lock, SHORT, grant.times.stamp),
	F_SINCE(2, lock, SHORT, grant.times.shift),
	F_SINCE(2, lock, SHORT, grant.times.late),
	F_SINCE(2, lock, SHORT, grant.wait),
};

static const struct field ticket_fields[] = {
	F(ticket, U8, priority),
	F(ticket, U32, holder.uid),
	F(ticket, U32, holder.gid),
	F(ticket, U32, holder.pid),
	F(ticket, U32, holder.boot),
	F(ticket, U64, holder.start),
	F(ticket, U64, wait),
	F(ticket, U64, instance),
	F(ticket, U64, since),
	F(ticket, U64, deadline),
	F(ticket, U64, ttl),
	F(ticket, STRING, holder.owner),
	F(ticket, STRING, holder.who),
	F(ticket, STRING, holder.host),
	F_SINCE(2, ticket, SHORT, times.stamp),
	F_SINCE(2, ticket, SHORT, times.shift),
	F_SINCE(2, ticket, SHORT, times.late),
};

static const struct field queue_fields[] = {
	F(queue, U64, count),
	F(queue, U64, min_deadline),
	F_SINCE(2, queue, U8, passed_rank),
	F_SINCE(2, queue, SHORT, passed),
};

static const struct field hold_fields[] = { F(hold, U64, count), F(hold, U64, mean) };

static const struct field dir_fields[] = {
	F(dir, U64, parent),  F(dir, U64, children),      F(dir, U32, uid),   F(dir, U32, gid),
	F(dir, U32, mode),    F(dir, U64, atime),         F(dir, U64, mtime), F(dir, U64, ctime),
	F(dir, STRING, name), F_SINCE(2, dir, U64, made),
};

static const struct field event_fields[] = {
	F(event, U8, type),       F(event, U8, code),          F(event, U64, wall),
	F(event, SHORT, offset),  F(event, SHORT, token),      F(event, SHORT, ticket),
	F(event, SHORT, skipped), F(event, SHORT, actor_uid),  F(event, SHORT, actor_pid),
	F(event, SHORT, session), F(event, STRING, owner),     F(event, STRING, who),
	F(event, STRING, actor),  F(event, STRING, comm),      F(event, STRING, host),
	F(event, STRING, old),    F(event, STRING, new),       F(event, LONG_STRING, released),
	F(event, STRING, prev),   F(event, LONG_STRING, lock),
};

static const struct field released_fields[] = {
	F(released, U8, priority),  F(released, U32, id_random), F(released, U64, id_time),
	F(released, U64, acquired), F(released, SHORT, renewed), F(released, SHORT, expires),
	F(released, SHORT, ttl),    F(released, SHORT, version), F(released, SHORT, uid),
	F(released, SHORT, pid),    F(released, STRING, host),
};

static const struct field day_fields[] = { F(day, SHORT, offset), F(day, SHORT, last), F(day, SHORT, end) };

static const struct field anchor_fields[] = {
	F(anchor, U8, why), F(anchor, SHORT, seq), F(anchor, U64, wall), F(anchor, STRING, by), F(anchor, STRING, hash),
};

static const struct field claim_fields[] = {
	F(claim, U32, uid),          F(claim, U32, gid),         F(claim, U64, since),
	F(claim, U64, applications), F(claim, U64, credentials), F(claim, STRING, owner),
};

static const struct field reference_fields[] = {
	F(reference, U32, uid),   F(reference, U32, gid),      F(reference, U32, pid),
	F(reference, U64, since), F(reference, STRING, owner), F(reference, STRING, host),
};

static const struct field shared_fields[] = {
	F(shared, U64, apps), F(shared, U32, uid), F(shared, U32, gid), F(shared, U64, made), F(shared, U64, changed),
};

static const struct field app_fields[] = {
	F(app, U8, status),   F(app, U32, uid),      F(app, U32, gid),
	F(app, U64, written), F(app, STRING, owner), F_SINCE(2, app, SHORT, shift),
};

static const struct field pull_fields[] = {
	F(pull, U64, projects), F(pull, U64, created),           F(pull, U64, updated),
	F(pull, STRING, head),  F_SINCE(2, pull, STRING, owner),
};

static const struct field project_fields[] = {
	F(project, U8, status),
	F(project, U64, updated),
	F(project, LONG_STRING, policy),
	F_SINCE(2, project, STRING, owner),
};
static const struct field dirs_fields[] = { F(dirs, U64, next), F(dirs, U64, count) };

static const struct field setting_fields[] = { F(setting, LONG_STRING, value) };

static const struct field seal_fields[] = { F(seal, U8, changing), F(seal, STRING, key), F(seal, STRING, old) };

#define LAYOUT_VERSION(name, version)                                                                          \
	{                                                                                                      \
		name##_fields, sizeof(name##_fields) / sizeof(name##_fields[0]), sizeof(struct record_##name), \
			version, .spare = false                                                                \
	}
#define LAYOUT(name) LAYOUT_VERSION(name, 1)
#define LAYOUT_SPARE(name, version)                                                                            \
	{                                                                                                      \
		name##_fields, sizeof(name##_fields) / sizeof(name##_fields[0]), sizeof(struct record_##name), \
			version, .spare = true                                                                 \
	}

static const struct layout layouts[] = {
	[RECORD_FORMAT_INFO] = LAYOUT(format),
	[RECORD_COUNTER] = LAYOUT(counter),
	[RECORD_TAIL] = LAYOUT_VERSION(tail, 2),
	[RECORD_LOCK] = LAYOUT_SPARE(lock, 2),
	[RECORD_TICKET] = LAYOUT_SPARE(ticket, 2),
	[RECORD_QUEUE] = LAYOUT_VERSION(queue, 2),
	[RECORD_HOLD_TIME] = LAYOUT(hold),
	[RECORD_DIR] = LAYOUT_VERSION(dir, 2),
	[RECORD_EVENT] = LAYOUT(event),
	[RECORD_CLAIM] = LAYOUT(claim),
	[RECORD_REFERENCE] = LAYOUT(reference),
	[RECORD_SHARED] = LAYOUT(shared),
	[RECORD_APP] = LAYOUT_SPARE(app, 2),
	[RECORD_PULL] = LAYOUT_VERSION(pull, 2),
	[RECORD_PROJECT] = LAYOUT_VERSION(project, 2),
	[RECORD_SETTING] = LAYOUT(setting),
	[RECORD_DIRS] = LAYOUT(dirs),
	[RECORD_SEAL] = LAYOUT(seal),
	[RECORD_RELEASED] = LAYOUT(released),
	[RECORD_DAY] = LAYOUT(day),
	[RECORD_ANCHOR] = LAYOUT(anchor),
};

/* Width in bytes of a number, or of a string's length. 0: a short number has no fixed width. */
static const uint8_t widths[] = {
	[FIELD_U8] = 1,    [FIELD_U16] = 2,    [FIELD_U32] = 4,         [FIELD_U64] = 8,
	[FIELD_SHORT] = 0, [FIELD_STRING] = 1, [FIELD_LONG_STRING] = 2,
};

#define SHORT_MAX 10 /* bytes of the longest short number */
#define CRC_BYTES 4

/* Writes eight bytes for a field of `width`: the next field overwrites the surplus. */
static inline void little_put(unsigned char *out, uint64_t value)
{
	uint64_t little = htole64(value);

	memcpy(out, &little, sizeof(little));
}

static inline uint64_t little_get(const unsigned char *in, size_t width)
{
	uint64_t little = 0;

	switch (width) {
	case 1: return *in;
	case 2: memcpy(&little, in, 2); break;
	case 4: memcpy(&little, in, 4); break;
	default: memcpy(&little, in, sizeof(little));
	}
	return le64toh(little);
}

/* A number is as wide in memory as in the record. */
static inline uint64_t number_load(const void *at, size_t width)
{
	uint64_t value = 0;

	switch (width) {
	case 1: return *(const uint8_t *)at;
	case 2: {
		uint16_t v;
		memcpy(&v, at, sizeof(v));
		return v;
	}
	case 4: {
		uint32_t v;
		memcpy(&v, at, sizeof(v));
		return v;
	}
	default: memcpy(&value, at, sizeof(value)); return value;
	}
}

static inline void number_store(void *at, uint64_t value, size_t width)
{
	uint8_t v8 = (uint8_t)value;
	uint16_t v16 = (uint16_t)value;
	uint32_t v32 = (uint32_t)value;

	switch (width) {
	case 1: memcpy(at, &v8, sizeof(v8)); break;
	case 2: memcpy(at, &v16, sizeof(v16)); break;
	case 4: memcpy(at, &v32, sizeof(v32)); break;
	default: memcpy(at, &value, sizeof(value));
	}
}

static size_t short_put(unsigned char *out, uint64_t value)
{
	size_t len = 0;

	for (; value > 0x7f; value >>= 7)
		out[len++] = (unsigned char)(value | 0x80);
	out[len++] = (unsigned char)value;
	return len;
}

/* Returns the bytes read; 0 if `len` bytes hold no whole number, or not in its shortest form. */
static size_t short_get(const unsigned char *in, size_t len, uint64_t *out)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < len && i < SHORT_MAX; i++) {
		if (i == SHORT_MAX - 1 && in[i] > 1)
			return 0;
		value |= (uint64_t)(in[i] & 0x7f) << (7 * i);
		if (in[i] & 0x80)
			continue;
		*out = value;
		return i > 0 && in[i] == 0 ? 0 : i + 1;
	}
	return 0;
}

/* Appends a field at `out + at`. Returns its end, or 0 if it does not fit. */
static size_t field_put(const struct field *field, const void *record, unsigned char *out, size_t at)
{
	const unsigned char *from = (const unsigned char *)record + field->offset;
	size_t width = widths[field->type];
	struct slice text = { NULL, 0 };

	if (field->type >= FIELD_STRING) {
		memcpy(&text, from, sizeof(text));
		if (text.len >> (8 * width) != 0)
			return 0;
	}
	if (at + SHORT_MAX + text.len + CRC_BYTES > RECORD_MAX)
		return 0;
	if (field->type == FIELD_SHORT)
		return at + short_put(out + at, number_load(from, sizeof(uint64_t)));
	if (field->type < FIELD_STRING) {
		little_put(out + at, number_load(from, width));
		return at + width;
	}
	little_put(out + at, text.len);
	at += width;
	if (text.len > 0)
		memcpy(out + at, text.data, text.len);
	return at + text.len;
}

/* Reads the field at `in + at`, before `end`. Returns its end, or 0 if it is invalid. */
static size_t field_get(const struct field *field, const unsigned char *in, size_t at, size_t end, void *record)
{
	unsigned char *to = (unsigned char *)record + field->offset;
	size_t width = widths[field->type];
	struct slice text;
	uint64_t number;

	if (field->type == FIELD_SHORT) {
		width = short_get(in + at, end - at, &number);
		if (width > 0)
			number_store(to, number, sizeof(number));
		return width > 0 ? at + width : 0;
	}
	if (end - at < width)
		return 0;
	number = little_get(in + at, width);
	at += width;
	if (field->type < FIELD_STRING) {
		number_store(to, number, width);
		return at;
	}
	if (end - at < number)
		return 0;
	text = (struct slice){ in + at, (size_t)number };
	memcpy(to, &text, sizeof(text));
	return at + text.len;
}

/* Writes the fields of the version in `out`. */
static size_t fields_put(const struct layout *layout, const void *record, unsigned char *out, size_t at)
{
	for (size_t i = 0; i < layout->count && at > 0; i++)
		if (layout->fields[i].since <= out[1])
			at = field_put(&layout->fields[i], record, out, at);
	return at;
}

/* The version to write: the one before if the newest one's numbers are all 0. */
static uint8_t version_of(const struct layout *layout, const void *record)
{
	if (!layout->spare)
		return layout->version;
	for (size_t i = 0; i < layout->count; i++)
		if (layout->fields[i].since == layout->version &&
		    number_load((const unsigned char *)record + layout->fields[i].offset, sizeof(uint64_t)) != 0)
			return layout->version;
	return layout->version - 1;
}

static size_t fields_get(const struct layout *layout, const unsigned char *in, size_t at, size_t end, void *record)
{
	for (size_t i = 0; i < layout->count && at > 0; i++)
		if (layout->fields[i].since <= in[1])
			at = field_get(&layout->fields[i], in, at, end, record);
	return at;
}

int record_encode(enum record_kind kind, const void *record, unsigned char out[RECORD_MAX])
{
	uint32_t crc;
	size_t at;

	out[0] = (unsigned char)kind;
	out[1] = version_of(&layouts[kind], record);
	at = fields_put(&layouts[kind], record, out, 2);
	if (at == 0)
		return -EMSGSIZE;
	crc = htole32(crc32c(out, at));
	memcpy(out + at, &crc, sizeof(crc));
	return (int)(at + sizeof(crc));
}

int record_decode(enum record_kind kind, struct slice value, void *record)
{
	const struct layout *layout = &layouts[kind];
	const unsigned char *in = value.data;
	size_t end;

	memset(record, 0, layout->size);
	if (value.len < 2 + CRC_BYTES || value.len > RECORD_MAX)
		return -EBADMSG;
	end = value.len - CRC_BYTES;
	if (in[0] != (unsigned char)kind || crc32c(in, end) != little_get(in + end, CRC_BYTES))
		return -EBADMSG;
	if (in[1] > layout->version)
		return -EPROTONOSUPPORT;
	return fields_get(layout, in, 2, end, record) == end ? 0 : -EBADMSG;
}
