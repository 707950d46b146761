/*
 * What stands in the store, byte by byte: the key of every table and the value of every record. All encoding is here;
 * docs/FORMAT.md describes the same bytes in prose.
 *
 * A value is: kind (1 byte), version (1 byte), the fields in table order, CRC-32C of all before it (4 bytes). Numbers are
 * little-endian, strings a length byte (event locks: two) and their bytes; a short number is seven bits a byte, the low ones
 * first, with the top bit set in all but the last. A field that a record's version does not have yet reads as zero. Numbers inside keys are big-endian, so that keys sort by them.
 *
 * Decoding never trusts a byte: whatever does not fit is -EBADMSG, and a version from the future -EPROTONOSUPPORT.
 * Strings of a decoded record point into the value.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "store.h"

#define RECORD_FORMAT 2 /* version of the store as a whole */
#define RECORD_MAX 5120 /* longest encoded record */

/*
 * The first byte of a key says which table it is in. Every change appends an event and writes the tail: their letters are
 * neighbours so that both are on the same page.
 */
enum record_table {
	TABLE_META = 'f',   /* f <name>                                 -> format, counters, tail, anchor, seal */
	TABLE_LOCK = 'l',   /* l <lock>                                 -> lock */
	TABLE_TEXT = 'u',   /* u <lock>                                 -> the user's key=value lines, raw */
	TABLE_QUEUE = 'Q',  /* Q <lock>                                 -> queue */
	TABLE_TICKET = 'q', /* q <lock> 00 <rank> <ticket 8>            -> ticket */
	TABLE_TICKET_TEXT =
		'v',       /* v <ticket 8>                            -> key=value lines for the lock to come, raw */
	TABLE_HELD = 'o',  /* o <owner> 00 <who> 00 <token 8>          -> <lock> */
	TABLE_ID = 'i',    /* i <time 8> <random 4> <token 8>          -> <lock> */
	TABLE_WAITS = 'w', /* w <owner> 00 <who> 00 <ticket 8>         -> <rank> <lock> */
	TABLE_DUE = 'x',   /* x <instant 8> <kind 1> <token/ticket 8>  -> [<rank>] <lock> */
	TABLE_EVENT = 'e', /* e <chain 2> <sequence 8>                 -> event */
	TABLE_DAY = 'E',   /* E <chain 2> <day 4> <sequence 8>         -> day */
	TABLE_HOLD = 'h',  /* h <bucket 2>                             -> hold */
	TABLE_DIR = 'd',   /* d <directory 8>                          -> directory */
	TABLE_ENTRY = 'D', /* D <parent 8> <name>                      -> <directory 8> */
	TABLE_CLAIM = 'r', /* r <url>                                  -> claim */
	TABLE_REFERENCE = 'R', /* R <url> 00 <type 1> <id>             -> reference; types are 'a' and 'c' */
	TABLE_SHARED = 's',    /* s <resource>                            -> shared */
	TABLE_APP = 'a',       /* a <resource> 00 <app>                   -> app */
	TABLE_PULL = 'p',      /* p <pull>                                 -> pull */
	TABLE_PULL_TEXT = 'P', /* P <pull>                             -> key=value lines, raw */
	TABLE_PROJECT = 'j',   /* j <pull> 00 <project>                -> project */
	TABLE_SETTING = 'c',   /* c <option>                              -> setting */
};

/* Kinds of deadline in TABLE_DUE. */
enum record_due { DUE_LOCK = 'l', DUE_TICKET = 't' };

struct record_key {
	size_t len;
	unsigned char data[STORE_KEY_MAX];
};

static inline struct slice record_key_slice(const struct record_key *key)
{
	return (struct slice){ key->data, key->len };
}

struct record_key record_key_meta(const char *name);
extern const struct record_key record_key_counter;
struct record_key record_key_tail(uint16_t chain);
struct record_key record_key_anchor(uint16_t chain);
struct record_key record_key_of(enum record_table table, struct slice lock);   /* TABLE_LOCK, TEXT, QUEUE */
struct record_key record_key_number(enum record_table table, uint64_t number); /* TABLE_TICKET_TEXT, DIR */
struct record_key record_key_queue(struct slice lock);                         /* prefix of a lock's tickets */
struct record_key record_key_ticket(struct slice lock, uint8_t rank, uint64_t ticket);
struct record_key record_key_holder(enum record_table table, struct slice owner, struct slice who); /* prefix */
struct record_key record_key_held(enum record_table table, struct slice owner, struct slice who, uint64_t number);
struct record_key record_key_ids(uint64_t time, uint32_t random); /* prefix: the printed id without the owner */
struct record_key record_key_id(uint64_t time, uint32_t random, uint64_t token);
struct record_key record_key_due(int64_t instant, enum record_due kind, uint64_t number);
struct record_key record_key_event(uint16_t chain, uint64_t seq);
struct record_key record_key_days(uint16_t chain);              /* prefix of all days */
struct record_key record_key_day(uint16_t chain, uint32_t day); /* prefix of what a day consists of */
struct record_key record_key_segment(uint16_t chain, uint32_t day, uint64_t first);
struct record_key record_key_hold(uint16_t bucket);
struct record_key record_key_entry(uint64_t parent, struct slice name);
struct record_key record_key_references(struct slice url); /* prefix of all references to it */
struct record_key record_key_reference(struct slice url, uint8_t type, struct slice id);
struct record_key record_key_app(struct slice resource, struct slice app); /* with an empty app: prefix of all */
struct record_key record_key_project(struct slice pull,
				     struct slice project); /* with an empty project: prefix of all */

/* As those of these names, in place: to return a key is to copy half a KiB. For what every call does. */
void record_key_set_of(struct record_key *key, enum record_table table, struct slice lock);
void record_key_set_ticket(struct record_key *key, struct slice lock, uint8_t rank, uint64_t ticket);
void record_key_set_held(struct record_key *key, enum record_table table, struct slice owner, struct slice who,
			 uint64_t number);
void record_key_set_id(struct record_key *key, uint64_t time, uint32_t random, uint64_t token);

/* The smallest key after every key that begins with `prefix`; and after `key` itself. */
struct record_key record_key_after_prefix(struct slice prefix);
struct record_key record_key_after(struct slice key);

uint64_t record_number(const unsigned char bytes[8]); /* big-endian, as in keys */

enum record_state { RECORD_ACQUIRED = 1, RECORD_PENDING = 2, RECORD_DELAYED = 3 };

struct record_format {
	uint32_t version;
	uint64_t created; /* wall time */
};

/* Numbers of grants and tickets. What is below `ceiling` may have been used by commits that a crash took back. */
struct record_counter {
	uint64_t next;
	uint64_t ceiling;
};

/* End of an event chain, with what is counted along it. */
struct record_tail {
	uint64_t seq;   /* of the last event; 0: none yet */
	int64_t time;   /* lease time of the last change */
	int64_t offset; /* wall time minus lease time then */
	uint64_t held;
	uint64_t waiting;
	uint64_t day;      /* days since 1970: whose file the last event is in */
	uint64_t first;    /* event that the run of events of that day begins with which is still growing */
	uint64_t size;     /* bytes of that file */
	struct slice hash; /* of the last event */
	uint64_t owed;     /* bytes that the events will take which end what is held and waited for */
	uint64_t events;   /* bytes that the events take that are there */
};

struct record_lock {
	uint8_t state; /* enum record_state */
	uint8_t priority;
	uint16_t mode;
	uint32_t uid;
	uint32_t gid;
	uint32_t pid;
	uint32_t boot;  /* which boot of the host `pid` and a session number belong to */
	uint64_t start; /* start time of a "pid:" holder's process or a "sid:" holder's session leader */
	uint64_t token;
	uint64_t version;
	uint64_t id_time;
	uint32_t id_random;
	int64_t acquired;
	int64_t renewed;
	int64_t expires; /* RECORD_DELAYED: when it may be granted again */
	int64_t ttl;
	int64_t claim_by; /* RECORD_PENDING only */
	uint64_t ticket;
	struct slice owner;
	struct slice who;
	struct slice host;
};

struct record_ticket {
	uint8_t priority;
	uint32_t uid;
	uint32_t gid;
	uint32_t pid;
	uint32_t boot;
	uint64_t start;
	uint64_t wait;     /* the blocked call's number in its manager; 0: nobody is blocked on it */
	uint64_t instance; /* that manager */
	int64_t since;
	int64_t deadline;
	int64_t ttl;
	struct slice owner;
	struct slice who;
	struct slice host;
};

struct record_queue {
	uint64_t count;
	int64_t min_deadline; /* no ticket's deadline is earlier; may be too early */
	uint8_t passed_rank;  /* every ticket stands behind this place in service order; may be too far ahead */
	uint64_t passed;      /* the ticket's number there */
};

struct record_hold {
	uint64_t count;
	int64_t mean; /* of past hold times, the newer the heavier */
};

struct record_dir {
	uint64_t parent;
	uint64_t children; /* subdirectories */
	uint32_t uid;
	uint32_t gid;
	uint32_t mode;
	int64_t atime; /* wall time, as for any directory; this one changes only when it is set */
	int64_t mtime;
	int64_t ctime;
	struct slice name;
};

/*
 * What happened. It is shown as a line of a file for each day, for good: the record has all that the line says, and where it
 * begins. A number that is small most of the time takes few bytes.
 */
struct record_event {
	uint8_t type;
	uint8_t code;
	int64_t wall;
	uint64_t offset; /* of its line in the file of its day */
	uint64_t token;
	uint64_t ticket;
	uint64_t skipped; /* refusals that were not written before this one */
	uint64_t actor_uid;
	uint64_t actor_pid;
	uint64_t session;
	struct slice owner;
	struct slice who;
	struct slice actor;
	struct slice comm;
	struct slice host;
	struct slice old; /* of what was changed */
	struct slice new;
	struct slice released; /* RECORD_RELEASED, or empty */
	struct slice prev;
	struct slice lock;
};

/* A lock that was given up, as it stood: all but what its event says anyway, and the user's own keys. Times are wall time. */
struct record_released {
	uint8_t priority;
	uint32_t id_random;
	uint64_t id_time;
	int64_t acquired;
	int64_t renewed; /* after it was acquired, as the next */
	int64_t expires; /* INT64_MAX: never */
	int64_t ttl;
	uint64_t version;
	uint64_t uid;
	uint64_t pid;
	struct slice host;
};

/*
 * Events from the one in the key to `last` are lines `offset` to `end` of the file of their day. A day has more than one of these
 * only if the wall clock was set back over midnight. One that is still growing has only zeros in it but the offset; see tail.
 */
struct record_day {
	uint64_t offset;
	uint64_t last;
	uint64_t end;
};

/* Why the log begins behind an event. */
enum record_anchor_why { RECORD_ARCHIVED = 1, RECORD_KEPT = 2 };

/* The event that was last among those that are not there any more, and its hash. */
struct record_anchor {
	uint8_t why; /* enum record_anchor_why */
	uint64_t seq;
	int64_t wall;    /* when it went */
	struct slice by; /* by whom; empty: by the daemon itself */
	struct slice hash;
};

/* Who has a Git URL, and how many references there are of each type. */
struct record_claim {
	uint32_t uid;
	uint32_t gid;
	int64_t since;
	uint64_t applications;
	uint64_t credentials;
	struct slice owner;
};

struct record_reference {
	uint32_t uid;
	uint32_t gid;
	uint32_t pid;
	int64_t since;
	struct slice owner;
	struct slice host;
};

struct record_shared {
	uint64_t apps;
	uint32_t uid;
	uint32_t gid;
	int64_t made;
	int64_t changed; /* when an app came or went last */
};

struct record_app {
	uint8_t status; /* enum atlock_app_status */
	uint32_t uid;
	uint32_t gid;
	int64_t written;
	struct slice owner;
};

struct record_pull {
	uint64_t projects; /* how many have a status */
	int64_t created;   /* wall time */
	int64_t updated;
	struct slice head;  /* commit the statuses are about; empty: not known */
	struct slice owner; /* user who wrote about it last; empty: an older version did not say */
};

struct record_project {
	uint8_t status;  /* enum atlock_project_status */
	int64_t updated; /* wall time */
	struct slice policy;
};

/* Directories of custom/, itself not counted. */
struct record_dirs {
	uint64_t next; /* id */
	uint64_t count;
};

/* An option that was changed while running, as text. */
struct record_setting {
	struct slice value;
};

/* Which key the users' texts are sealed with. */
struct record_seal {
	uint8_t changing; /* some are not yet: they are plain, or sealed with `old` */
	struct slice key; /* its id; empty: none */
	struct slice old;
};

enum record_kind {
	RECORD_FORMAT_INFO = 1,
	RECORD_COUNTER,
	RECORD_TAIL,
	RECORD_LOCK,
	RECORD_TICKET,
	RECORD_QUEUE,
	RECORD_HOLD_TIME,
	RECORD_DIR,
	RECORD_EVENT,
	RECORD_CLAIM,
	RECORD_REFERENCE,
	RECORD_SHARED,
	RECORD_APP,
	RECORD_PULL,
	RECORD_PROJECT,
	RECORD_SETTING,
	RECORD_SEAL,
	RECORD_RELEASED,
	RECORD_DAY,
	RECORD_DIRS,
	RECORD_ANCHOR,
};

/* Encodes `record` (the struct of `kind`) into `out`; returns the length, or -EMSGSIZE if a string is too long. */
int record_encode(enum record_kind kind, const void *record, unsigned char out[RECORD_MAX]);

/* Decodes `value` into the struct of `kind`. -EBADMSG, -EPROTONOSUPPORT. */
int record_decode(enum record_kind kind, struct slice value, void *record);

#endif
