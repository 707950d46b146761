/*
 * The options: one table gives name, type, default, range and help. Everything else here reads that table.
 *
 * A flag is set by its name alone (value NULL), as in "-o disable_apply", or with on/off.
 */
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atlock/program.h"
#include "config.h"
#include "why.h"

enum option_type { OPTION_DURATION, OPTION_COUNT, OPTION_WORD, OPTION_FLAG, OPTION_TEXT };

struct option {
	const char *name;
	const char *initial;
	const char *help;
	const char *const *words; /* OPTION_WORD, OPTION_FLAG: the value is the index; ends with NULL */
	enum option_type type;
	bool never;     /* OPTION_DURATION: accepts "never" */
	bool automatic; /* OPTION_DURATION: accepts "auto", as ATLOCK_AUTO */
	bool root;      /* only root may change it, not every administrator: it decides what the daemon runs */
	bool fixed;     /* can only be set when the manager is opened */
	size_t offset;  /* in struct atlock_options: int64_t, or char[size] */
	size_t size;
	int64_t min;
	int64_t max;
};

#define MINUTE (60 * ATLOCK_SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define AT(field) .offset = offsetof(struct atlock_options, field), .size = sizeof(((struct atlock_options *)0)->field)

static const char *const deadlock_words[] = {
	[ATLOCK_DEADLOCK_LIFO] = "lifo",
	[ATLOCK_DEADLOCK_FIFO] = "fifo",
	[ATLOCK_DEADLOCK_LOWEST_PRIORITY] = "lowest_priority",
	[ATLOCK_DEADLOCK_RANDOM] = "random",
	[ATLOCK_DEADLOCK_OFF] = "off",
	NULL,
};
static const char *const sync_words[] = { [ATLOCK_SYNC_COMMIT] = "commit", [ATLOCK_SYNC_OFF] = "off", NULL };
static const char *const identity_words[] = {
	[ATLOCK_IDENTITY_SESSION] = "session",
	[ATLOCK_IDENTITY_USER] = "user",
	NULL,
};
static const char *const admin_rm_words[] = {
	[ATLOCK_ADMIN_RM_NAMED] = "named",
	[ATLOCK_ADMIN_RM_ANY] = "any",
	NULL,
};
static const char *const lost_words[] = {
	[ATLOCK_LOST_TERM] = "term",
	[ATLOCK_LOST_KILL] = "kill",
	[ATLOCK_LOST_NONE] = "none",
	NULL,
};
static const char *const log_words[] = {
	[ATLOCK_LOG_AUTO] = "auto",
	[ATLOCK_LOG_STDERR] = "stderr",
	[ATLOCK_LOG_SYSLOG] = "syslog",
	NULL,
};
static const char *const level_words[] = {
	[ATLOCK_LOG_ERROR] = "error",
	[ATLOCK_LOG_WARNING] = "warning",
	[ATLOCK_LOG_INFO] = "info",
	[ATLOCK_LOG_DEBUG] = "debug",
	NULL,
};
static const char *const flag_words[] = { "off", "on", NULL };

/* With one field a line the table would be unreadable. */
/* clang-format off */
static const struct option options[] = {
	{ .name = "default_ttl", AT(default_ttl), .type = OPTION_DURATION, .initial = "30m",
	  .min = ATLOCK_SECOND, .max = 365 * DAY,
	  .help = "lease of a lock that asks for none" },
	{ .name = "max_ttl", AT(max_ttl), .type = OPTION_DURATION, .initial = "2h",
	  .min = ATLOCK_SECOND, .max = 3650 * DAY,
	  .help = "longest lease that may be asked for" },
	{ .name = "queue_timeout", AT(queue_timeout), .type = OPTION_DURATION, .initial = "10m",
	  .min = ATLOCK_SECOND, .max = 365 * DAY, .never = true, .automatic = true,
	  .help = "how long a waiter stays in a queue; auto: by the expected wait, the share of waits in time, the load" },
	{ .name = "max_queue", AT(max_queue), .type = OPTION_COUNT, .initial = "1000",
	  .min = 1, .max = 1000000,
	  .help = "waiters that one lock may have" },
	{ .name = "claim_timeout", AT(claim_timeout), .type = OPTION_DURATION, .initial = "60s",
	  .min = ATLOCK_SECOND, .max = DAY,
	  .help = "how soon a lock granted to a ticket must be taken up" },
	{ .name = "status_ttl", AT(status_ttl), .type = OPTION_DURATION, .initial = "60s",
	  .min = ATLOCK_SECOND, .max = 365 * DAY,
	  .help = "age from which the status of a shared resource's user is unknown" },
	{ .name = "lock_delay", AT(lock_delay), .type = OPTION_DURATION, .initial = "0",
	  .min = 0, .max = HOUR,
	  .help = "how long a lock whose lease has run out cannot be taken" },
	{ .name = "host_timeout", AT(host_timeout), .type = OPTION_DURATION, .initial = "15s",
	  .min = ATLOCK_SECOND, .max = HOUR, .fixed = true,
	  .help = "on a store shared by hosts: silence after which this host's sessions and processes hold nothing" },
	{ .name = "lost_signal", AT(lost_signal), .type = OPTION_WORD, .initial = "term",
	  .words = lost_words,
	  .help = "on a store shared by hosts: signal for processes whose locks end since their host is cut off" },
	{ .name = "engine_timeout", AT(engine_timeout), .type = OPTION_DURATION, .initial = "5s",
	  .min = ATLOCK_SECOND / 10, .max = MINUTE, .fixed = true,
	  .help = "on a store shared by hosts: how long a call tries to reach its engine" },
	{ .name = "engine_failures", AT(engine_failures), .type = OPTION_COUNT, .initial = "1",
	  .min = 1, .max = 1000, .fixed = true,
	  .help = "on a store shared by hosts: calls in a row without an answer after which calls fail at once" },
	{ .name = "engine_pause", AT(engine_pause), .type = OPTION_DURATION, .initial = "1s",
	  .min = ATLOCK_SECOND / 10, .max = MINUTE, .fixed = true,
	  .help = "on a store shared by hosts: for how long, before one may try again" },
	{ .name = "deadlock_policy", AT(deadlock_policy), .type = OPTION_WORD, .initial = "lifo",
	  .words = deadlock_words,
	  .help = "which wait of a deadlock is refused" },
	{ .name = "deadlock_interval", AT(deadlock_interval), .type = OPTION_DURATION, .initial = "30s",
	  .min = ATLOCK_SECOND, .max = DAY,
	  .help = "how often all waits are searched for deadlocks" },
	{ .name = "sync", AT(sync), .type = OPTION_WORD, .initial = "commit",
	  .words = sync_words, .fixed = true,
	  .help = "commit: on disk before a call returns; off: a crash of the machine may lose the newest changes" },
	{ .name = "identity", AT(identity), .type = OPTION_WORD, .initial = "session",
	  .words = identity_words,
	  .help = "who a caller without \"@who\" is" },
	{ .name = "admin_group", AT(admin_group), .type = OPTION_TEXT, .initial = "",
	  .help = "group whose members are administrators" },
	{ .name = "pull_users", AT(pull_users), .type = OPTION_TEXT, .initial = "",
	  .help = "users and @groups, with spaces between them, who act for every pull request (@pr:N)" },
	{ .name = "owners_group", AT(owners_group), .type = OPTION_TEXT, .initial = "",
	  .help = "group whose members may claim URLs below owners/ for other users" },
	{ .name = "owners_interval", AT(owners_interval), .type = OPTION_DURATION, .initial = "1h",
	  .min = ATLOCK_SECOND, .max = 30 * DAY,
	  .help = "how often owners/ is searched for leftovers" },
	{ .name = "admin_rm", AT(admin_rm), .type = OPTION_WORD, .initial = "named",
	  .words = admin_rm_words,
	  .help = "named: administrators act on another's lock by LOCK@WHO alone; any: by its plain name too" },
	{ .name = "policy", AT(policy), .type = OPTION_TEXT, .initial = "",
	  .help = "file of rules that say who may do what" },
	{ .name = "max_locks_per_user", AT(max_locks_per_user), .type = OPTION_COUNT, .initial = "50000",
	  .min = 0, .max = 1000000000,
	  .help = "locks that one user may hold or wait for; 0: no limit" },
	{ .name = "max_waiters_per_user", AT(max_waiters_per_user), .type = OPTION_COUNT, .initial = "10000",
	  .min = 0, .max = 1000000000,
	  .help = "waits that one user may have at a time; 0: no limit" },
	{ .name = "queue_share", AT(queue_share), .type = OPTION_COUNT, .initial = "25",
	  .min = 1, .max = 100,
	  .help = "percent of max_queue that one user may have in one queue; 100: no limit" },
	{ .name = "store_share", AT(store_share), .type = OPTION_COUNT, .initial = "25",
	  .min = 1, .max = 100,
	  .help = "percent of the store that one user's locks, waits and texts may take; 100: no limit" },
	{ .name = "max_dirs", AT(max_dirs), .type = OPTION_COUNT, .initial = "1000000",
	  .min = 0, .max = 1000000000,
	  .help = "directories that custom/ may have; 0: no limit" },
	{ .name = "dirs_share", AT(dirs_share), .type = OPTION_COUNT, .initial = "25",
	  .min = 1, .max = 100,
	  .help = "percent of max_dirs that one user may have; 100: no limit" },
	{ .name = "rate_limit", AT(rate_limit), .type = OPTION_COUNT, .initial = "5000",
	  .min = 0, .max = 1000000000,
	  .help = "changes a second that one user may make; 0: no limit" },
	{ .name = "events_keep", AT(events_keep), .type = OPTION_DURATION, .initial = "30d",
	  .min = DAY, .max = 3650 * DAY,
	  .help = "age at which events are dropped" },
	{ .name = "events_refused", AT(events_refused), .type = OPTION_COUNT, .initial = "10",
	  .min = 0, .max = 200,
	  .help = "refusals of a user in a second that become events; more are only counted" },
	{ .name = "disable_apply", AT(disable_apply), .type = OPTION_FLAG, .initial = "off",
	  .words = flag_words,
	  .help = "hold global/apply for good" },
	{ .name = "on_event", AT(on_event), .type = OPTION_TEXT, .initial = "", .root = true,
	  .help = "shell command that gets each event on its standard input" },
	{ .name = "on_event_timeout", AT(on_event_timeout), .type = OPTION_DURATION, .initial = "10s",
	  .min = ATLOCK_SECOND, .max = HOUR,
	  .help = "after which a command of on_event is killed" },
	{ .name = "on_event_failures", AT(on_event_failures), .type = OPTION_COUNT, .initial = "5",
	  .min = 1, .max = 1000,
	  .help = "failures in a row after which the command of on_event rests" },
	{ .name = "on_event_pause", AT(on_event_pause), .type = OPTION_DURATION, .initial = "1s",
	  .min = ATLOCK_SECOND / 10, .max = HOUR,
	  .help = "how long it rests then; each failed trial doubles that, up to a minute" },
	{ .name = "log", AT(log), .type = OPTION_WORD, .initial = "auto",
	  .words = log_words, .fixed = true,
	  .help = "where messages go; auto: stderr with -f, else syslog" },
	{ .name = "log_level", AT(log_level), .type = OPTION_WORD, .initial = "info",
	  .words = level_words,
	  .help = "how much is logged" },
	{ .name = "store", AT(store), .type = OPTION_TEXT, .initial = "", .fixed = true,
	  .help = "where the locks are kept: a directory, or scheme:address" },
	{ .name = "key_file", AT(key_file), .type = OPTION_TEXT, .initial = "", .fixed = true,
	  .help = "key that what users write into locks is encrypted with in the store" },
	{ .name = "old_key_file", AT(old_key_file), .type = OPTION_TEXT, .initial = "", .fixed = true,
	  .help = "key it is encrypted with so far: all is brought to key_file's, or decrypted without one" },
};
/* clang-format on */

#define OPTIONS (sizeof(options) / sizeof(options[0]))
_Static_assert(OPTIONS <= 64, "struct atlock_options has a bit for each");

/* Parses a value into a number; the range is checked later. */
typedef int value_parse_fn(const struct option *option, const char *value, int64_t *out, struct atlock_why *why);

static int refuse(const struct option *option, const char *value, const char *hint, struct atlock_why *why)
{
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "%s=%.80s: %s", option->name, value, hint);
}

static int64_t *number_at(struct atlock_options *o, const struct option *option)
{
	return (int64_t *)(void *)((char *)o + option->offset);
}

static int64_t number_of(const struct atlock_options *o, const struct option *option)
{
	int64_t n;

	memcpy(&n, (const char *)o + option->offset, sizeof(n));
	return n;
}

static void number_print(const struct option *option, int64_t n, char *out, size_t len)
{
	if (option->automatic && n == ATLOCK_AUTO)
		strlcpy(out, "auto", len);
	else if (option->type == OPTION_DURATION)
		atlock_duration_print(n, out, len);
	else if (option->words)
		strlcpy(out, option->words[n], len);
	else
		snprintf(out, len, "%" PRId64, n);
}

static int64_t words_count(const struct option *option)
{
	int64_t n = 0;

	while (option->words[n])
		n++;
	return n;
}

static int range_check(const struct option *option, int64_t n, struct atlock_why *why)
{
	char min[32];
	char max[32];
	bool ok = n >= option->min && n <= option->max;

	if (option->words) {
		if (n >= 0 && n < words_count(option))
			return 0;
		return why_set(why, -ERANGE, ATLOCK_INVALID_REQUEST, "%s has no value %" PRId64, option->name, n);
	}
	if (ok || (option->never && n == ATLOCK_NEVER) || (option->automatic && n == ATLOCK_AUTO))
		return 0;
	number_print(option, option->min, min, sizeof(min));
	number_print(option, option->max, max, sizeof(max));
	return why_set(why, -ERANGE, ATLOCK_INVALID_REQUEST, "%s takes %s to %s%s%s", option->name, min, max,
		       option->never ? ", or never" : "", option->automatic ? ", or auto" : "");
}

static int parse_duration(const struct option *option, const char *value, int64_t *out, struct atlock_why *why)
{
	int err = atlock_duration_parse(value, option->never, out);

	if (option->automatic && strcmp(value, "auto") == 0) {
		*out = ATLOCK_AUTO;
		return 0;
	}
	/* "0" is refused here: it would be read as auto. */
	if (err == -ERANGE || (err == 0 && *out < option->min))
		return range_check(option, INT64_MIN, why);
	if (err == 0)
		return 0;
	if (strcmp(value, "never") == 0)
		return refuse(option, value, "this must have an end", why);
	if (*value && strspn(value, "0123456789") == strlen(value))
		return refuse(option, value, "a duration needs a unit, as in 90s", why);
	return refuse(option, value, "durations are written 250ms, 90s, 15m, 2h, 7d or 1h30m", why);
}

/* An empty value means no limit, where 0 is allowed: "rate_limit=". */
static int parse_count(const struct option *option, const char *value, int64_t *out, struct atlock_why *why)
{
	const char *wrong = NULL;

	if (!*value && option->min == 0) {
		*out = 0;
		return 0;
	}
	if (!*value || strspn(value, "0123456789") != strlen(value))
		return refuse(option, value, "this must be a number", why);
	*out = strtonum(value, option->min, option->max, &wrong);
	return wrong ? range_check(option, INT64_MIN, why) : 0;
}

static int parse_word(const struct option *option, const char *value, int64_t *out, struct atlock_why *why)
{
	char known[128] = "choose one of";

	for (int64_t i = 0; option->words[i]; i++) {
		if (strcmp(option->words[i], value) == 0) {
			*out = i;
			return 0;
		}
		strlcat(known, " ", sizeof(known));
		strlcat(known, option->words[i], sizeof(known));
	}
	return refuse(option, value, known, why);
}

static value_parse_fn *const parsers[] = {
	[OPTION_DURATION] = parse_duration,
	[OPTION_COUNT] = parse_count,
	[OPTION_WORD] = parse_word,
	[OPTION_FLAG] = parse_word,
};

static int text_check(const struct option *option, const char *value, struct atlock_why *why)
{
	size_t len = strnlen(value, option->size);

	if (len == option->size)
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "%s may have %zu bytes", option->name,
			       option->size - 1);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)value[i] < 0x20 || value[i] == 0x7f)
			return refuse(option, value, "control bytes are not allowed", why);
	return 0;
}

static int refuse_unknown(const char *name, struct atlock_why *why)
{
	const char *closest = NULL;
	size_t least = strnlen(name, 64) / 3 + 1; /* a larger distance would be a guess */

	for (size_t i = 0; strnlen(name, 64) < 64 && i < OPTIONS; i++) {
		size_t distance = atlock_word_distance(name, options[i].name);

		if (distance < least) {
			least = distance;
			closest = options[i].name;
		}
	}
	return why_set(why, -ENOENT, ATLOCK_INVALID_REQUEST, "there is no option \"%.64s\"%s%s%s", name,
		       closest ? ": did you mean " : "", closest ? closest : "", closest ? "?" : "");
}

static const struct option *option_find(const char *name)
{
	for (size_t i = 0; name && i < OPTIONS; i++)
		if (strcmp(options[i].name, name) == 0)
			return &options[i];
	return NULL;
}

bool option_is_given(const struct atlock_options *o, const char *name)
{
	const struct option *option = option_find(name);

	return option && (o->given >> (option - options) & 1) != 0;
}

bool option_is_root(const char *name)
{
	const struct option *option = option_find(name);

	return option && option->root;
}

bool option_is_fixed(const char *name)
{
	const struct option *option = option_find(name);

	return option && option->fixed;
}

int atlock_option_set(struct atlock_options *o, const char *name, const char *value, struct atlock_why *why)
{
	const struct option *option = option_find(name);
	int64_t n = 0;
	int err;

	if (!o || !name)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no option given");
	if (!option)
		return refuse_unknown(name, why);
	if (!value && option->type == OPTION_FLAG)
		value = "on";
	if (!value)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "%s needs a value: %s", option->name,
			       option->help);
	if (option->type == OPTION_TEXT) {
		err = text_check(option, value, why);
		if (!err)
			strlcpy((char *)o + option->offset, value, option->size);
	} else {
		err = parsers[option->type](option, value, &n, why);
		if (!err)
			err = range_check(option, n, why);
		if (!err)
			*number_at(o, option) = n;
	}
	if (!err)
		o->given |= UINT64_C(1) << (option - options);
	return err;
}

int atlock_option_get(const struct atlock_options *o, const char *name, char *out, size_t len)
{
	const struct option *option = option_find(name);
	char text[64];
	const char *value = text;

	if (!o || !out || len == 0)
		return -EINVAL;
	if (!option)
		return -ENOENT;
	if (option->type == OPTION_TEXT && text_check(option, (const char *)o + option->offset, NULL))
		return -ERANGE;
	if (option->type == OPTION_TEXT)
		value = (const char *)o + option->offset;
	else if (range_check(option, number_of(o, option), NULL))
		return -ERANGE;
	else
		number_print(option, number_of(o, option), text, sizeof(text));
	return strlcpy(out, value, len) < len ? 0 : -ERANGE;
}

const char *atlock_option_name(size_t i, const char **help)
{
	if (i >= OPTIONS)
		return NULL;
	if (help)
		*help = options[i].help;
	return options[i].name;
}

bool atlock_option_usage(size_t i, char *out, size_t len)
{
	const struct option *option = i < OPTIONS ? &options[i] : NULL;
	char min[32];
	char max[32];

	if (!option)
		return false;
	if (option->type == OPTION_TEXT) {
		snprintf(out, len, "%s=%s", option->name, option->initial);
		return true;
	}
	snprintf(out, len, "%s=%s (", option->name, option->initial);
	for (size_t word = 0; option->words && option->words[word]; word++) {
		strlcat(out, word > 0 ? " " : "", len);
		strlcat(out, option->words[word], len);
	}
	if (!option->words) {
		number_print(option, option->min, min, sizeof(min));
		number_print(option, option->max, max, sizeof(max));
		strlcat(out, min, len);
		strlcat(out, " to ", len);
		strlcat(out, max, len);
		strlcat(out, option->never ? ", never" : "", len);
		strlcat(out, option->automatic ? ", auto" : "", len);
	}
	strlcat(out, ")", len);
	return true;
}

void atlock_options_init(struct atlock_options *o)
{
	if (!o)
		return;
	memset(o, 0, sizeof(*o));
	for (size_t i = 0; i < OPTIONS; i++)
		(void)atlock_option_set(o, options[i].name, options[i].initial, NULL);
	o->given = 0;
}

int atlock_options_check(const struct atlock_options *o, struct atlock_why *why)
{
	char longest[32];

	if (!o)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no options given");
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct option *option = &options[i];
		int err = option->type == OPTION_TEXT ? text_check(option, (const char *)o + option->offset, why)
						      : range_check(option, number_of(o, option), why);

		if (err)
			return err;
	}
	if (o->default_ttl <= o->max_ttl)
		return 0;
	atlock_duration_print(o->max_ttl, longest, sizeof(longest));
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "default_ttl is longer than max_ttl, which is %s",
		       longest);
}
