#include "event_line.h"

#include <bsd/stdlib.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "atlock.h"
#include "day.h"
#include "decimal.h"
#include "utf8.h"
#include "why.h"

/* Names of the event types, and whether they are about a lock. */
static const struct {
	const char *name;
	bool lock;
} types[ATLOCK_EVENTS] = {
	[ATLOCK_EVENT_ACQUIRED] = { "acquired", true },
	[ATLOCK_EVENT_GRANTED] = { "granted", true },
	[ATLOCK_EVENT_CLAIMED] = { "claimed", true },
	[ATLOCK_EVENT_RENEWED] = { "renewed", true },
	[ATLOCK_EVENT_CHANGED] = { "changed", true },
	[ATLOCK_EVENT_TRANSFERRED] = { "transferred", true },
	[ATLOCK_EVENT_RELEASED] = { "released", true },
	[ATLOCK_EVENT_FORCED] = { "forced", true },
	[ATLOCK_EVENT_EXPIRED] = { "expired", true },
	[ATLOCK_EVENT_UNCLAIMED] = { "unclaimed", true },
	[ATLOCK_EVENT_QUEUED] = { "queued", true },
	[ATLOCK_EVENT_CANCELLED] = { "cancelled", true },
	[ATLOCK_EVENT_TIMED_OUT] = { "timed_out", true },
	[ATLOCK_EVENT_REPRIORITISED] = { "reprioritised", true },
	[ATLOCK_EVENT_DEADLOCK] = { "deadlock", true },
	[ATLOCK_EVENT_DIR_MADE] = { "dir_made", false },
	[ATLOCK_EVENT_DIR_REMOVED] = { "dir_removed", false },
	[ATLOCK_EVENT_DIR_CHANGED] = { "dir_changed", false },
	[ATLOCK_EVENT_CONFIGURED] = { "configured", false },
	[ATLOCK_EVENT_OPENED] = { "opened", false },
	[ATLOCK_EVENT_CLOSED] = { "closed", false },
	[ATLOCK_EVENT_URL_CLAIMED] = { "url_claimed", false },
	[ATLOCK_EVENT_URL_FREED] = { "url_freed", false },
	[ATLOCK_EVENT_REFERENCE_MADE] = { "reference_made", false },
	[ATLOCK_EVENT_REFERENCE_REMOVED] = { "reference_removed", false },
	[ATLOCK_EVENT_OWNERS_SWEPT] = { "owners_swept", false },
	[ATLOCK_EVENT_SHARED_MADE] = { "shared_made", false },
	[ATLOCK_EVENT_SHARED_REMOVED] = { "shared_removed", false },
	[ATLOCK_EVENT_APP_ADDED] = { "app_added", false },
	[ATLOCK_EVENT_APP_UNKNOWN] = { "app_unknown", false },
	[ATLOCK_EVENT_APP_UP] = { "app_up", false },
	[ATLOCK_EVENT_APP_DOWN] = { "app_down", false },
	[ATLOCK_EVENT_APP_GIVEN] = { "app_given", false },
	[ATLOCK_EVENT_APP_REMOVED] = { "app_removed", false },
	[ATLOCK_EVENT_PULL_STATUS] = { "pull_status", false },
	[ATLOCK_EVENT_PULL_CHANGED] = { "pull_changed", false },
	[ATLOCK_EVENT_PULL_CLOSED] = { "pull_closed", false },
	[ATLOCK_EVENT_SEALED] = { "sealed", false },
	[ATLOCK_EVENT_REFUSED] = { "refused", true },
	[ATLOCK_EVENT_RESTORED] = { "restored", false },
	[ATLOCK_EVENT_REPAIRED] = { "repaired", false },
	[ATLOCK_EVENT_ARCHIVED] = { "archived", false },
	[ATLOCK_EVENT_ENGINE_DOWN] = { "engine_down", false },
	[ATLOCK_EVENT_ENGINE_UP] = { "engine_up", false },
};

const char *atlock_event_name(enum atlock_event_type type)
{
	return (size_t)type < ATLOCK_EVENTS ? types[type].name : "unknown";
}

static const char hex[] = "0123456789abcdef";

/* The put functions return the end of their output. */
static char *put(char *out, const char *text, size_t len)
{
	memcpy(out, text, len);
	return out + len;
}

/* A member's name with its punctuation. */
#define KEY(out, name) put(out, ",\"" name "\":", sizeof(",\"" name "\":") - 1)

/* Eight digits at once: each half of a byte becomes a byte, and those above nine are moved to the letters. */
static inline char *put_hex32(char *out, uint32_t value)
{
	uint64_t v = value;
	uint64_t letters;

	v = (v | v << 16) & UINT64_C(0x0000ffff0000ffff);
	v = (v | v << 8) & UINT64_C(0x00ff00ff00ff00ff);
	v = (v | v << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	letters = (v + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
	v = htobe64(v + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10));
	memcpy(out, &v, sizeof(v));
	return out + sizeof(v);
}

static char *put_hash(char *out, const unsigned char bytes[EVENT_HASH])
{
	uint32_t word;

	for (size_t i = 0; i < EVENT_HASH; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		out = put_hex32(out, be32toh(word));
	}
	return out;
}

/* Writes a character that needs an escape or is not ASCII; returns the bytes of the text it used. */
static size_t put_odd(char **out, const unsigned char *text, size_t len)
{
	size_t n = utf8_len(text, len);
	unsigned char c = n == 2 ? text[1] : text[0];

	if (n == 0) {
		/* Names are bytes, JSON is Unicode: escapes other bytes as locks.jsonl does. */
		static const char upper[] = "0123456789ABCDEF";

		*out = put(*out, (char[]){ '%', upper[c >> 4], upper[c & 15] }, 3);
		return 1;
	}
	if (n > 2 || (n == 2 && (text[0] != 0xc2 || c > 0x9f))) {
		*out = put(*out, (const char *)text, n);
		return n;
	}
	if (c == '"' || c == '\\')
		*out = put(*out, (char[]){ '\\', (char)c }, 2);
	else /* a control character, which must not reach a terminal */
		*out = put(*out, (char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, 6);
	return n;
}

#define EACH(byte) (UINT64_MAX / 255 * (byte)) /* eight copies of a byte */

/* Whether all eight bytes are characters that need no escape. */
static inline bool is_plain(uint64_t word)
{
	uint64_t quote = word ^ EACH('"');
	uint64_t backslash = word ^ EACH('\\');
	uint64_t rubout = word ^ EACH(0x7f);
	/* A top bit is set only if a byte is below its subtrahend: no other byte borrows from the next. */
	uint64_t odd = ((word - EACH(' ')) & ~word) | ((quote - EACH(1)) & ~quote) |
		       ((backslash - EACH(1)) & ~backslash) | ((rubout - EACH(1)) & ~rubout) | word;

	return (odd & EACH(0x80)) == 0;
}

/* Copies leading characters that need no escape, eight at a time; returns how many. */
static size_t put_plain(char *out, const unsigned char *text, size_t len)
{
	uint64_t word;
	size_t i = 0;

	if (len < sizeof(word))
		return 0;
	for (; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, text + i, sizeof(word));
		if (!is_plain(word))
			return i;
		memcpy(out + i, &word, sizeof(word));
	}
	memcpy(&word, text + len - sizeof(word), sizeof(word));
	if (!is_plain(word))
		return i;
	memcpy(out + len - sizeof(word), &word, sizeof(word));
	return len;
}

static char *put_string(char *out, struct slice text)
{
	const unsigned char *bytes = text.data;
	size_t i;

	*out++ = '"';
	i = put_plain(out, bytes, text.len);
	out += i;
	while (i < text.len) {
		unsigned char c = bytes[i];

		if (c >= ' ' && c < 0x7f && c != '"' && c != '\\') {
			*out++ = (char)c;
			i++;
		} else {
			i += put_odd(&out, bytes + i, text.len - i);
		}
	}
	*out++ = '"';
	return out;
}

static char *put_name(char *out, const char *name)
{
	*out++ = '"';
	out = put(out, name, strlen(name));
	*out++ = '"';
	return out;
}

static char *put_time(char *out, int64_t wall)
{
	if (wall == ATLOCK_NEVER)
		return put_name(out, "never");
	*out++ = '"';
	out = day_print_time(wall, out);
	*out++ = '"';
	return out;
}

static char *put_id(char *out, const struct record_released *lock, struct slice owner)
{
	char *end;

	out = decimal_print(put(out, "\"lock_", 6), lock->id_time);
	/* The owner, escaped as in any string, with an underscore in place of each of the quotes around it. */
	end = put_string(out, owner);
	*out = end[-1] = '_';
	out = put_hex32(end, lock->id_random);
	*out++ = '"';
	return out;
}

static int64_t later(int64_t from, int64_t by)
{
	int64_t sum;

	return by == ATLOCK_NEVER || __builtin_add_overflow(from, by, &sum) ? ATLOCK_NEVER : sum;
}

static char *put_released(char *out, const struct record_released *lock, struct slice owner)
{
	char ttl[32];
	char *acquired;
	size_t time_len;

	atlock_duration_print(lock->ttl, ttl, sizeof(ttl));
	out = put(out, ",\"record\":{\"id\":", 16);
	out = put_id(out, lock, owner);
	out = decimal_print(KEY(out, "uid"), lock->uid);
	out = put_string(KEY(out, "host"), lock->host);
	out = decimal_print(KEY(out, "pid"), lock->pid);
	out = put_name(KEY(out, "priority"), atlock_priority_name((enum atlock_priority)lock->priority));
	out = decimal_print(KEY(out, "version"), lock->version);
	acquired = KEY(out, "acquired_at");
	out = put_time(acquired, lock->acquired);
	time_len = (size_t)(out - acquired);
	out = KEY(out, "renewed_at");
	out = lock->renewed == 0 ? put(out, acquired, time_len) : put_time(out, later(lock->acquired, lock->renewed));
	out = put_time(KEY(out, "expires_at"), later(lock->acquired, lock->expires));
	out = put_name(KEY(out, "ttl"), ttl);
	*out++ = '}';
	return out;
}

/* The user whose call it was; nothing if the daemon acted by itself. */
static char *put_actor(char *out, const struct record_event *event)
{
	if (event->actor.len == 0)
		return out;
	out = put_string(KEY(out, "actor"), event->actor);
	out = decimal_print(KEY(out, "uid"), event->actor_uid);
	if (event->actor_pid != 0)
		out = decimal_print(KEY(out, "pid"), event->actor_pid);
	if (event->comm.len > 0)
		out = put_string(KEY(out, "comm"), event->comm);
	if (event->session != 0)
		out = decimal_print(KEY(out, "session"), event->session);
	return out;
}

static char *put_subject(char *out, const struct record_event *event)
{
	if (event->lock.len > 0)
		out = put_string(types[event->type].lock ? KEY(out, "lock") : KEY(out, "subject"), event->lock);
	if (event->owner.len > 0)
		out = put_string(KEY(out, "owner"), event->owner);
	if (event->who.len > 0)
		out = put_string(KEY(out, "who"), event->who);
	if (event->token != 0)
		out = decimal_print(KEY(out, "token"), event->token);
	if (event->ticket != 0)
		out = decimal_print(KEY(out, "ticket"), event->ticket);
	if (event->old.len > 0)
		out = put_string(event->type == ATLOCK_EVENT_REFUSED ? KEY(out, "subject") : KEY(out, "old"),
				 event->old);
	if (event->new.len > 0)
		out = put_string(event->type == ATLOCK_EVENT_REFUSED ? KEY(out, "call")
				 : event->released.len > 0           ? KEY(out, "reason")
								     : KEY(out, "new"),
				 event->new);
	return out;
}

static char *put_number(char *out, struct event_number number)
{
	out = decimal_print(put(out, "{\"seq\":", 7), number.seq);
	if (number.chain != 0)
		out = decimal_print(put(out, EVENT_LINE_CHAIN, sizeof(EVENT_LINE_CHAIN) - 1), number.chain);
	return out;
}

size_t event_line(const struct record_event *event, const struct record_released *released, struct event_number number,
		  char out[EVENT_LINE_MAX])
{
	char *at = put_number(out, number);

	at = put_time(KEY(at, "time"), event->wall == ATLOCK_NEVER ? 0 : event->wall);
	at = put_name(KEY(at, "type"), types[event->type].name);
	if (event->code != ATLOCK_OK)
		at = put_name(KEY(at, "code"), atlock_code_name((enum atlock_code)event->code));
	at = put_subject(at, event);
	at = put_actor(at, event);
	if (event->host.len > 0)
		at = put_string(KEY(at, "host"), event->host);
	if (event->skipped != 0)
		at = decimal_print(KEY(at, "skipped"), event->skipped);
	if (released != NULL)
		at = put_released(at, released, event->owner);
	at = KEY(at, "prev");
	*at++ = '"';
	at = put_hash(at, event->prev.data);
	*at++ = '"';
	return (size_t)(at - out);
}

size_t event_line_end(char out[EVENT_LINE_MAX], size_t len, const unsigned char hash[EVENT_HASH])
{
	char *at = KEY(out + len, "hash");

	*at++ = '"';
	at = put_hash(at, hash);
	at = put(at, "\"}\n", 3);
	return (size_t)(at - out);
}

void event_line_hide(char *line, size_t len, struct event_number number)
{
	static const char rest[] = ",\"prev\":\"\",\"hash\":\"\"}\n";
	char *tail = line + len - (sizeof(rest) - 1) - 4 * EVENT_HASH;
	char *at = put_number(line, number);

	at = put(at, EVENT_LINE_HIDDEN, sizeof(EVENT_LINE_HIDDEN) - 1);
	memset(at, ' ', (size_t)(tail - at));
}

void event_hash_print(const unsigned char hash[EVENT_HASH], char out[2 * EVENT_HASH + 1])
{
	*put_hash(out, hash) = '\0';
}

static int hex_value(char c)
{
	const char *at = c != '\0' ? strchr(hex, c) : NULL;

	return at == NULL ? -1 : (int)(at - hex);
}

int event_anchor_parse(const char *text, uint64_t *seq, unsigned char hash[EVENT_HASH], struct atlock_why *why)
{
	const char *digits = strchr(text, ':');
	const char *wrong = NULL;
	char number[24] = "";
	bool good = digits != NULL && strlen(digits + 1) == 2 * EVENT_HASH && (size_t)(digits - text) < sizeof(number);

	if (good) {
		memcpy(number, text, (size_t)(digits - text));
		*seq = (uint64_t)strtonum(number, 1, INT64_MAX, &wrong);
		good = wrong == NULL && number[0] >= '1' && number[0] <= '9';
	}
	for (size_t i = 0; good && i < EVENT_HASH; i++) {
		int high = hex_value(digits[1 + 2 * i]);
		int low = hex_value(digits[2 + 2 * i]);

		good = high >= 0 && low >= 0;
		hash[i] = (unsigned char)(good ? high * 16 + low : 0);
	}
	return good ? 0
		    : why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			      "an event is written NUMBER:HASH, as the end of the log is printed by atlock audit verify");
}
