/*
 * The text of an event: one JSON object on a line, made from the record alone, so that it is the same at every read.
 * The order of the members, and which are omitted when empty, is part of the format: offsets into files and hashes
 * depend on it.
 *
 *	{"seq":2, ..., "prev":"<64 hex>","hash":"<64 hex>"}
 *
 * The hash is the SHA-256 of the line up to the comma before "hash". Private to core/.
 */
#ifndef CORE_EVENT_LINE_H
#define CORE_EVENT_LINE_H

#include "atlock.h"
#include "record.h"
#include "sha256.h"

#define EVENT_HASH SHA256_BYTES

/* Which event: chain 0 is that of a store with one host, and stands in no line. */
struct event_number {
	uint16_t chain;
	uint64_t seq;
};

/* All bytes of a record, each as \u00XX, and the names of the members. */
#define EVENT_LINE_MAX (6 * RECORD_MAX + 4096)
#define EVENT_LINE_END 76 /* bytes of ,"hash":"..."} and the newline */

/*
 * Writes the line up to its hash; `released` is the decoded `event->released`, NULL if there is none. Returns the
 * length; EVENT_LINE_END more bytes will follow.
 */
size_t event_line(const struct record_event *event, const struct record_released *released, struct event_number number,
		  char out[EVENT_LINE_MAX]);

/* Appends the hash and a newline; returns the length of the line. */
size_t event_line_end(char out[EVENT_LINE_MAX], size_t len, const unsigned char hash[EVENT_HASH]);

/*
 * Reduces a whole line to its number and its hashes, at the same length. atlock_audit_line() recognises it by
 * EVENT_LINE_HIDDEN after the number and the chain, followed by spaces.
 */
#define EVENT_LINE_HIDDEN ",\"type\":\"hidden\""
void event_line_hide(char *line, size_t len, struct event_number number);

/* What follows the number in a line of a chain other than 0. */
#define EVENT_LINE_CHAIN ",\"chain\":"

/* Beginning of the line that replaces removed events, padded with spaces to their length. */
#define EVENT_LINE_GONE "{\"gone\":"

/* Prints a hash; reads "NUMBER:HASH", an event and its hash: -EINVAL. */
void event_hash_print(const unsigned char hash[EVENT_HASH], char out[2 * EVENT_HASH + 1]);
int event_anchor_parse(const char *text, uint64_t *seq, unsigned char hash[EVENT_HASH], struct atlock_why *why);

#endif
