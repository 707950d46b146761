/*
 * The bytes in the store: the key of every table and the value of every record. All encoding is here; docs/FORMAT.md
 * describes the same bytes in prose.
 *
 * A value is: kind (1 byte), version (1 byte), the fields in table order, CRC-32C of all before it (4 bytes). Numbers
 * are little-endian; strings are a length byte (event locks: two) and their bytes; a short number is seven bits a byte,
 * the low ones first, with the top bit set in all but the last. A field that a record's version does not have yet reads
 * as zero. Numbers inside keys are big-endian, so that keys sort by them.
 *
 * Decoding trusts no byte: a value that does not fit its layout is -EBADMSG, a version from the future
 * -EPROTONOSUPPORT. Strings of a decoded record point into the value.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "store.h"

#define RECORD_FORMAT 2 /* version of the store as a whole */
#define RECORD_MAX 5120 /* longest encoded record */

/*
 * The first byte of a key is its table. Every change appends an event and writes the tail: their letters are adjacent
 * so that both records are on the same page.
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
struct record_key record_key_due(int64_t instant, enum record_due kind, uint64_t number);
struct record_key record_key_event(uint16_t chain, uint64_t seq);
struct record_key record_key_days(uint16_t chain);              /* prefix of all days */
struct record_key record_key_day(uint16_t chain, uint32_t day); /* prefix of one day's runs */
struct record_key record_key_segment(uint16_t chain, uint32_t day, uint64_t first);
struct record_key record_key_hold(struct slice lock);
struct record_key record_key_entry(uint64_t parent, struct slice name);
struct record_key record_key_references(struct slice url); /* prefix of all references to the URL */
struct record_key record_key_reference(struct slice url, uint8_t type, struct slice id);
struct record_key record_key_app(struct slice resource, struct slice app); /* with an empty app: prefix of all */
struct record_key record_key_project(struct slice pull,
				     struct slice project); /* with an empty project: prefix of all */

/* The same keys written in place, because returning a key copies half a KiB. For the path of every call. */
void record_key_set_of(struct record_key *key, enum record_table table, struct slice lock);
void record_key_set_ticket(struct record_key *key, struct slice lock, uint8_t rank, uint64_t ticket);
void record_key_set_held(struct record_key *key, enum record_table table, struct slice owner, struct slice who,
			 uint64_t number);
void record_key_set_id(struct record_key *key, uint64_t time, uint32_t random, uint64_t token);

/* The smallest key after every key that begins with `prefix`; the smallest key after `key`. */
struct record_key record_key_after_prefix(struct slice prefix);
struct record_key record_key_after(struct slice key);

uint64_t record_number(const unsigned char bytes[8]); /* big-endian, as in keys */

enum record_state { RECORD_ACQUIRED = 1, RECORD_PENDING = 2, RECORD_DELAYED = 3 };

struct record_format {
	uint32_t version;
	uint64_t created; /* wall time */
};

/* Numbers of grants and tickets. Commits that a crash undid may have used numbers below `ceiling`. */
struct record_counter {
	uint64_t next;
	uint64_t ceiling;
};

/* End of an event chain, with the counts kept along it. */
struct record_tail {
	uint64_t seq;   /* of the last event; 0: none yet */
	int64_t time;   /* lease time of the last change */
	int64_t offset; /* wall time minus lease time at that change */
	uint64_t held;
	uint64_t waiting;
	uint64_t day;      /* days since 1970: which day's file has the last event */
	uint64_t first;    /* first event of that day's current run of events */
	uint64_t size;     /* bytes of that file */
	struct slice hash; /* of the last event */
	uint64_t owed;     /* bytes of the events that will end the present grants and waits */
	uint64_t events;   /* bytes of the events in the store */
};

/*
 * What the instants of a record are worth on this host, in a store that several hosts write to; all 0 in any other. The hosts have no
 * clock in common: what they share are the instants of the host that set them, by its clock, and each host translates them.
 */
struct record_times {
	int64_t stamp; /* when they were set, by that host's clock */
	int64_t shift; /* added to them here: to the instant before which this host knows they were not set */
	int64_t late;  /* that instant may be so much too early; RECORD_UNSURE: it is when this host first saw them */
};

#define RECORD_UNSURE (-1)

/* Who holds or waits: owner and who, and what tells a process or session from a later one with the same number. */
struct record_holder {
	uint32_t uid;
	uint32_t gid;
	uint32_t pid;
	uint32_t boot;  /* what `pid` and a session number belong to: the host's boot, or its life in a shared store */
	uint64_t start; /* start time of a "pid:" holder's process or a "sid:" holder's session leader */
	struct slice owner;
	struct slice who;
	struct slice host;
};

/* What one holder has of a lock. */
struct record_grant {
	uint8_t state; /* enum record_state */
	uint8_t priority;
	uint64_t token;
	uint64_t version;
	uint64_t id_time;
	uint32_t id_random;
	int64_t acquired;
	int64_t renewed;
	int64_t expires; /* RECORD_DELAYED: when it may be granted again */
	int64_t ttl;
	int64_t claim_by; /* RECORD_PENDING only */
	uint64_t ticket;  /* that it was granted to; 0: taken, or given by another user */
	uint64_t wait;    /* RECORD_PENDING, shared store: the call blocked on the holder's host; 0: none */
	struct record_times times;
	struct record_holder holder;
};

/* A lock, and the grant that it has. Functions about one holder take the grant, so that a lock may get several. */
struct record_lock {
	uint16_t mode; /* permission bits of its file */
	struct record_grant grant;
};

struct record_ticket {
	uint8_t priority;
	uint64_t wait;     /* the blocked call's number in its manager; 0: no call is blocked */
	uint64_t instance; /* that manager */
	int64_t since;
	int64_t deadline;
	int64_t ttl;
	struct record_times times;
	struct record_holder holder;
};

struct record_queue {
	uint64_t count;
	int64_t min_deadline; /* a lower bound of all deadlines */
	uint8_t passed_rank;  /* all tickets are behind this place in service order: a bound, too */
	uint64_t passed;      /* number of the ticket at that place */
};

struct record_hold {
	uint64_t count;
	int64_t mean; /* of past hold times, weighted towards recent ones */
};

struct record_dir {
	uint64_t parent;
	uint64_t children; /* subdirectories */
	uint32_t uid;
	uint32_t gid;
	uint32_t mode;
	int64_t atime; /* wall time, as the next two; changes only when it is set */
	int64_t mtime;
	int64_t ctime;
	struct slice name;
	int64_t made; /* wall time; 0: by an older version */
};

/*
 * What happened. It is shown as a line of the file of its day, for good: the record has everything that the line says,
 * and its offset. Numbers that are mostly small take few bytes.
 */
struct record_event {
	uint8_t type;
	uint8_t code;
	int64_t wall;
	uint64_t offset; /* of its line in the file of its day */
	uint64_t token;
	uint64_t ticket;
	uint64_t skipped; /* refusals before this one that were not written */
	uint64_t actor_uid;
	uint64_t actor_pid;
	uint64_t session;
	struct slice owner;
	struct slice who;
	struct slice actor;
	struct slice comm;
	struct slice host;
	struct slice old; /* value before the change */
	struct slice new;
	struct slice released; /* RECORD_RELEASED, or empty */
	struct slice prev;
	struct slice lock;
};

/* A lock at the end of its grant, without what its event says anyway and the user's own keys. Times are wall time. */
struct record_released {
	uint8_t priority;
	uint32_t id_random;
	uint64_t id_time;
	int64_t acquired;
	int64_t renewed; /* relative to `acquired`, as the next */
	int64_t expires; /* INT64_MAX: never */
	int64_t ttl;
	uint64_t version;
	uint64_t uid;
	uint64_t pid;
	struct slice host;
};

/*
 * Events from the one in the key to `last` are bytes `offset` to `end` of the file of their day. A day has more than
 * one of these runs only if the wall clock was set back over midnight. In the current run only the offset is set, all
 * else is 0; see struct record_tail.
 */
struct record_day {
	uint64_t offset;
	uint64_t last;
	uint64_t end;
};

/* Why the log begins after an event. */
enum record_anchor_why { RECORD_ARCHIVED = 1, RECORD_KEPT = 2 };

/* The last of the removed events, and its hash. */
struct record_anchor {
	uint8_t why; /* enum record_anchor_why */
	uint64_t seq;
	int64_t wall;    /* when it was removed */
	struct slice by; /* the user who removed it; empty: the daemon itself */
	struct slice hash;
};

/* The owner of a Git URL, and the number of references of each type. */
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
	int64_t changed; /* when an app was last added or removed */
};

struct record_app {
	uint8_t status; /* enum atlock_app_status */
	uint32_t uid;
	uint32_t gid;
	int64_t written; /* in a shared store, here: an instant before it was */
	int64_t shift;   /* as in struct record_times; `written` is the stamp */
	struct slice owner;
};

struct record_pull {
	uint64_t projects; /* number of projects with a status */
	int64_t created;   /* wall time */
	int64_t updated;
	struct slice head;  /* commit that the statuses are about; empty: unknown */
	struct slice owner; /* user who wrote about it first; empty: an older version did */
};

struct record_project {
	uint8_t status;  /* enum atlock_project_status */
	int64_t updated; /* wall time */
	struct slice policy;
	struct slice owner; /* user who wrote it last; empty: an older version did */
};

/* Directories of custom/, without custom/ itself. */
struct record_dirs {
	uint64_t next; /* id of the next directory */
	uint64_t count;
};

/* The text value of an option that was changed at run time. */
struct record_setting {
	struct slice value;
};

/* The key that the users' texts are sealed with. */
struct record_seal {
	uint8_t changing; /* some texts are still plain, or sealed with `old` */
	struct slice key; /* id of the key; empty: none */
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
