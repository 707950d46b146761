#include "refusal.h"

#include <bsd/string.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "alarm.h"
#include "atlock/manual.h"
#include "day.h"
#include "event_log.h"
#include "event_usage.h"
#include "space.h"

#define REFUSED_AFTER (ATLOCK_SECOND / 10) /* more refusals may come meanwhile and share the commit */
#define NOTED_MAX 256                      /* noted and not yet written: more than one user may cause in a second */
#define USERS 1024                         /* with separate counts */
#define USER_PROBES 16                     /* slots to try for a user */

struct noted {
	enum metrics_call call;
	enum atlock_code code;
	uint64_t skipped; /* refusals before it that were not written */
	struct atlock_caller caller;
	struct atlock_name name; /* len 0: no lock */
	char subject[256];       /* used if there is no lock; maximal length of an event field */
	bool left_out;           /* not written: this user is over the limit of space; as the next, set when written */
	uint64_t bytes;          /* bytes of its event in the store */
};

/* Counts of one user: a flood of refusals must not keep those of others out of the log. */
struct user {
	uid_t uid;
	int64_t second;  /* start of the counted second; 0: free slot */
	int64_t written; /* in that second */
	uint64_t skipped;
};

struct refusals {
	pthread_mutex_t mutex;
	struct noted *noted; /* mutex, as all below; NOTED_MAX entries, or NULL */
	size_t count;
	struct user users[USERS];
	struct user others; /* all users without a slot */
};

int refusals_new(struct refusals **out)
{
	struct refusals *refusals = calloc(1, sizeof(*refusals));

	if (refusals == NULL)
		return -ENOMEM;
	pthread_mutex_init(&refusals->mutex, NULL);
	*out = refusals;
	return 0;
}

void refusals_free(struct refusals *refusals)
{
	if (refusals == NULL)
		return;
	pthread_mutex_destroy(&refusals->mutex);
	free(refusals->noted);
	free(refusals);
}

/* Prefers a free slot, then one without skipped refusals, then others; the oldest first. */
static bool user_goes_before(const struct user *user, const struct user *other)
{
	if (other == NULL || (user->skipped == 0) != (other->skipped == 0))
		return other == NULL || user->skipped == 0;
	return user->second < other->second;
}

/*
 * Evicts a user who was not refused for a second: otherwise one person with many uids could fill all slots for good.
 * Skipped refusals of that user then count for `others`.
 */
static struct user *user_find(struct refusals *refusals, uid_t uid, int64_t now)
{
	struct user *place = NULL;

	for (size_t i = 0; i < USER_PROBES; i++) {
		struct user *user = &refusals->users[(uid + i) % USERS];

		if (user->second != 0 && user->uid == uid)
			return user;
		if ((user->second == 0 || now - user->second >= ATLOCK_SECOND) && user_goes_before(user, place))
			place = user;
	}
	if (place == NULL)
		return &refusals->others;
	refusals->others.skipped += place->skipped;
	*place = (struct user){ .uid = uid };
	return place;
}

/* Adds an entry if the user may have one more in this second; else counts the refusal as skipped and returns NULL. */
static struct noted *noted_add(struct atlock *al, struct refusals *refusals, uid_t uid)
{
	int64_t now = clock_now(&al->clock);
	struct user *user = user_find(refusals, uid, now);
	struct noted *noted;

	if (user->second == 0 || now - user->second >= ATLOCK_SECOND) {
		user->second = now;
		user->written = 0;
	}
	if (refusals->noted == NULL)
		refusals->noted = calloc(NOTED_MAX, sizeof(*refusals->noted));
	if (refusals->noted == NULL || refusals->count == NOTED_MAX ||
	    user->written >= state_options(al)->events_refused) {
		user->skipped++;
		return NULL;
	}
	user->written++;
	noted = &refusals->noted[refusals->count++];
	noted->skipped = user->skipped;
	user->skipped = 0;
	return noted;
}

/* The end of a path says more than its beginning. */
static void subject_keep(struct noted *noted, const char *subject)
{
	size_t len = strlen(subject);
	size_t room = sizeof(noted->subject) - 1;

	(void)strlcpy(noted->subject, len > room ? subject + len - room : subject, sizeof(noted->subject));
}

/* Failures of the store and cancelled calls are no refusals. */
static bool is_refusal(enum atlock_code code)
{
	return code != ATLOCK_OK && code != ATLOCK_BACKEND_ERROR && code != ATLOCK_CANCELLED;
}

static void note(struct atlock *al, enum metrics_call call, const struct atlock_caller *caller,
		 const struct atlock_name *name, const char *subject, enum atlock_code code)
{
	struct refusals *refusals = al->refusals;
	struct noted *noted;
	bool first;

	if (!is_refusal(code) || al->readonly)
		return;
	metrics_refusal(&al->metrics, code);
	pthread_mutex_lock(&refusals->mutex);
	noted = noted_add(al, refusals, caller->uid);
	first = noted != NULL && refusals->count == 1;
	if (noted != NULL) {
		noted->call = call;
		noted->code = code;
		noted->caller = *caller;
		noted->name.len = 0;
		if (name != NULL)
			noted->name = *name;
		subject_keep(noted, name == NULL && subject != NULL ? subject : "");
	}
	pthread_mutex_unlock(&refusals->mutex);
	if (first)
		alarm_set(al, ALARM_REFUSED, REFUSED_AFTER);
}

void refusal_note(const struct op *op, int rc)
{
	if (rc >= 0 || op->caller == NULL || op->why == NULL || op->why->noted)
		return;
	op->why->noted = true;
	note(op->al, op->call, op->caller, op->request != NULL ? op->request->name : NULL, NULL, op->why->code);
}

void atlock_refused(struct atlock *al, const struct atlock_caller *caller, const struct atlock_name *name,
		    const char *subject, struct atlock_why *why)
{
	struct atlock_caller asker;

	if (al == NULL || caller == NULL || why == NULL || why->noted)
		return;
	why->noted = true;
	asker = *caller;
	asker.who[0] = '\0'; /* the caller asked for no lock under this who */
	note(al, METRICS_NONE, &asker, name, subject, why->code);
}

void atlock_refused_count(struct atlock *al, struct atlock_why *why)
{
	why->noted = true;
	metrics_refusal(&al->metrics, why->code);
}

struct batch {
	struct noted *noted;
	size_t count;
	uint32_t day; /* day on which they are written */
};

static int write_in_txn(struct op *op)
{
	struct batch *batch = op->arg;
	/* Refusals are optional: they are not written while space is scarce. */
	int rc = space_check(op);

	batch->day = day_of(op->wall);
	for (size_t i = 0; i < batch->count && rc == 0; i++) {
		struct noted *noted = &batch->noted[i];

		op->caller = &noted->caller;
		noted->left_out = space_user_is_over(op);
		if (noted->left_out)
			continue;
		noted->bytes = space_events_all(&op->tail);
		rc = event_refused(op, noted->code, noted->call, noted->skipped, name_slice(&noted->name),
				   noted->subject);
		noted->bytes = space_events_all(&op->tail) - noted->bytes;
	}
	op->caller = NULL;
	return rc;
}

/* Counts an unwritten refusal as skipped: the user's next written one reports it. */
static void noted_skip(struct atlock *al, const struct noted *noted)
{
	struct refusals *refusals = al->refusals;
	int64_t now = clock_now(&al->clock);
	struct user *user;

	pthread_mutex_lock(&refusals->mutex);
	user = user_find(refusals, noted->caller.uid, now);
	user->second = user->second == 0 ? now : user->second;
	user->skipped += 1 + noted->skipped;
	pthread_mutex_unlock(&refusals->mutex);
}

int atlock_run_refused(struct atlock *al)
{
	struct refusals *refusals;
	struct batch batch;
	int rc = 0;

	if (al == NULL)
		return -EINVAL;
	refusals = al->refusals;
	pthread_mutex_lock(&refusals->mutex);
	batch = (struct batch){ refusals->noted, refusals->count, 0 };
	refusals->noted = NULL;
	refusals->count = 0;
	pthread_mutex_unlock(&refusals->mutex);
	if (batch.count > 0) {
		rc = op_call(al, NULL, METRICS_NONE, write_in_txn, &batch, NULL);
	}
	for (size_t i = 0; i < batch.count; i++) {
		if (rc < 0 || batch.noted[i].left_out)
			noted_skip(al, &batch.noted[i]);
		else if (!batch.noted[i].caller.admin)
			event_usage_add(al->event_usages, batch.noted[i].caller.uid, batch.day,
					(int64_t)batch.noted[i].bytes);
	}
	free(batch.noted);
	return rc < 0 ? rc : (int)batch.count;
}
