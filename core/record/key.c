/* Encodes the keys of record.h. */
#include "record.h"

#include <endian.h>
#include <string.h>

#define HOLD_BUCKETS 4096

/* Inlined early, so that a key of constant length is built directly in the caller's memory. */
#define INLINE static inline __attribute__((always_inline))

/*
 * As memcpy(), but without "rep movs", which is slow to start and which compilers emit when they know a maximum length.
 */
INLINE void bytes_copy(unsigned char *to, const unsigned char *from, size_t len)
{
	uint64_t word;

	if (len < sizeof(word)) {
		if (len & 4) {
			memcpy(to, from, 4);
			to += 4;
			from += 4;
		}
		if (len & 2) {
			memcpy(to, from, 2);
			to += 2;
			from += 2;
		}
		if (len & 1)
			*to = *from;
		return;
	}
	for (size_t i = 0; i < len - sizeof(word); i += sizeof(word)) {
		memcpy(&word, from + i, sizeof(word));
		memcpy(to + i, &word, sizeof(word));
	}
	memcpy(&word, from + len - sizeof(word), sizeof(word));
	memcpy(to + len - sizeof(word), &word, sizeof(word));
}

INLINE void key_bytes(struct record_key *key, const void *data, size_t len)
{
	size_t room = sizeof(key->data) - key->len;

	/*
	 * Callers keep names within ATLOCK_KEY_MAX and the like; a longer one is truncated to a key that matches
	 * nothing.
	 */
	if (len > room)
		len = room;
	bytes_copy(key->data + key->len, data, len);
	key->len += len;
}

INLINE void key_byte(struct record_key *key, unsigned char byte)
{
	if (key->len < sizeof(key->data))
		key->data[key->len++] = byte;
}

INLINE void key_big(struct record_key *key, uint64_t value, size_t width)
{
	uint64_t big = htobe64(value << (64 - 8 * width));

	if (sizeof(key->data) - key->len < width) {
		key_bytes(key, &big, width);
		return;
	}
	memcpy(key->data + key->len, &big, width);
	key->len += width;
}

/* The table's letter and the first part of the key. */
INLINE void key_start(struct record_key *key, enum record_table table, struct slice first)
{
	key->len = 1;
	key->data[0] = (unsigned char)table;
	key_bytes(key, first.data, first.len);
}

INLINE void key_start_number(struct record_key *key, enum record_table table, uint64_t number, size_t width)
{
	key_start(key, table, (struct slice){ NULL, 0 });
	key_big(key, number, width);
}

/* A key is half a KiB and copied when returned, so no function here starts from another's result. */
struct record_key record_key_meta(const char *name)
{
	struct record_key key;

	key_start(&key, TABLE_META, slice_of(name));
	return key;
}

_Static_assert(TABLE_META == 'f', "as in the next");
const struct record_key record_key_counter = { .len = 8, .data = "fcounter" };

struct record_key record_key_tail(uint16_t chain)
{
	struct record_key key;

	key_start_number(&key, TABLE_META, 0x7461696c, 4); /* "tail" */
	key_big(&key, chain, 2);
	return key;
}

struct record_key record_key_anchor(uint16_t chain)
{
	struct record_key key = record_key_meta("anchor");

	key_big(&key, chain, 2);
	return key;
}

void record_key_set_of(struct record_key *key, enum record_table table, struct slice lock)
{
	key_start(key, table, lock);
}

struct record_key record_key_of(enum record_table table, struct slice lock)
{
	struct record_key key;

	record_key_set_of(&key, table, lock);
	return key;
}

struct record_key record_key_number(enum record_table table, uint64_t number)
{
	struct record_key key;

	key_start_number(&key, table, number, 8);
	return key;
}

struct record_key record_key_queue(struct slice lock)
{
	struct record_key key;

	key_start(&key, TABLE_TICKET, lock);
	key_byte(&key, 0);
	return key;
}

void record_key_set_ticket(struct record_key *key, struct slice lock, uint8_t rank, uint64_t ticket)
{
	key_start(key, TABLE_TICKET, lock);
	key_byte(key, 0);
	key_byte(key, rank);
	key_big(key, ticket, 8);
}

struct record_key record_key_ticket(struct slice lock, uint8_t rank, uint64_t ticket)
{
	struct record_key key;

	record_key_set_ticket(&key, lock, rank, ticket);
	return key;
}

INLINE void key_holder(struct record_key *key, enum record_table table, struct slice owner, struct slice who)
{
	key_start(key, table, owner);
	key_byte(key, 0);
	key_bytes(key, who.data, who.len);
	key_byte(key, 0);
}

struct record_key record_key_holder(enum record_table table, struct slice owner, struct slice who)
{
	struct record_key key;

	key_holder(&key, table, owner, who);
	return key;
}

struct record_key record_key_ids(uint64_t time, uint32_t random)
{
	struct record_key key;

	key_start_number(&key, TABLE_ID, time, 8);
	key_big(&key, random, 4);
	return key;
}

void record_key_set_id(struct record_key *key, uint64_t time, uint32_t random, uint64_t token)
{
	key_start_number(key, TABLE_ID, time, 8);
	key_big(key, random, 4);
	key_big(key, token, 8);
}

void record_key_set_held(struct record_key *key, enum record_table table, struct slice owner, struct slice who,
			 uint64_t number)
{
	key_holder(key, table, owner, who);
	key_big(key, number, 8);
}

struct record_key record_key_held(enum record_table table, struct slice owner, struct slice who, uint64_t number)
{
	struct record_key key;

	record_key_set_held(&key, table, owner, who, number);
	return key;
}

struct record_key record_key_due(int64_t instant, enum record_due kind, uint64_t number)
{
	struct record_key key;

	key_start_number(&key, TABLE_DUE, instant < 0 ? 0 : (uint64_t)instant, 8);
	key_byte(&key, (unsigned char)kind);
	key_big(&key, number, 8);
	return key;
}

struct record_key record_key_event(uint16_t chain, uint64_t seq)
{
	struct record_key key;

	key_start_number(&key, TABLE_EVENT, chain, 2);
	key_big(&key, seq, 8);
	return key;
}

struct record_key record_key_days(uint16_t chain)
{
	struct record_key key;

	key_start_number(&key, TABLE_DAY, chain, 2);
	return key;
}

struct record_key record_key_day(uint16_t chain, uint32_t day)
{
	struct record_key key;

	key_start_number(&key, TABLE_DAY, chain, 2);
	key_big(&key, day, 4);
	return key;
}

struct record_key record_key_segment(uint16_t chain, uint32_t day, uint64_t first)
{
	struct record_key key;

	key_start_number(&key, TABLE_DAY, chain, 2);
	key_big(&key, day, 4);
	key_big(&key, first, 8);
	return key;
}

/* The number of buckets is fixed, whatever the number of locks: several locks may share an estimate. */
struct record_key record_key_hold(struct slice lock)
{
	const unsigned char *bytes = lock.data;
	uint32_t hash = UINT32_C(2166136261); /* FNV-1a, 32 bits: part of the format */
	struct record_key key;

	for (size_t i = 0; i < lock.len; i++)
		hash = (hash ^ bytes[i]) * UINT32_C(16777619);
	key_start_number(&key, TABLE_HOLD, hash % HOLD_BUCKETS, 2);
	return key;
}

struct record_key record_key_entry(uint64_t parent, struct slice name)
{
	struct record_key key;

	key_start_number(&key, TABLE_ENTRY, parent, 8);
	key_bytes(&key, name.data, name.len);
	return key;
}

struct record_key record_key_references(struct slice url)
{
	struct record_key key;

	key_start(&key, TABLE_REFERENCE, url);
	key_byte(&key, 0);
	return key;
}

struct record_key record_key_reference(struct slice url, uint8_t type, struct slice id)
{
	struct record_key key;

	key_start(&key, TABLE_REFERENCE, url);
	key_byte(&key, 0);
	key_byte(&key, type);
	key_bytes(&key, id.data, id.len);
	return key;
}

/* Two names, separated by a NUL; the first contains none. */
INLINE void key_pair(struct record_key *key, enum record_table table, struct slice first, struct slice second)
{
	key_start(key, table, first);
	key_byte(key, 0);
	key_bytes(key, second.data, second.len);
}

struct record_key record_key_app(struct slice resource, struct slice app)
{
	struct record_key key;

	key_pair(&key, TABLE_APP, resource, app);
	return key;
}

struct record_key record_key_project(struct slice pull, struct slice project)
{
	struct record_key key;

	key_pair(&key, TABLE_PROJECT, pull, project);
	return key;
}

struct record_key record_key_after_prefix(struct slice prefix)
{
	struct record_key key = { .len = 0 };

	key_bytes(&key, prefix.data, prefix.len);
	while (key.len > 0 && key.data[key.len - 1] == UINT8_MAX)
		key.len--;
	if (key.len > 0)
		key.data[key.len - 1]++;
	return key;
}

struct record_key record_key_after(struct slice key)
{
	struct record_key after = { .len = 0 };

	if (key.len >= sizeof(after.data))
		return record_key_after_prefix(key);
	key_bytes(&after, key.data, key.len);
	key_byte(&after, 0);
	return after;
}

uint64_t record_number(const unsigned char bytes[8])
{
	uint64_t big;

	memcpy(&big, bytes, sizeof(big));
	return be64toh(big);
}
