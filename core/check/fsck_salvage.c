/* Locks whose record is damaged or missing but which are in the index of holders: rebuilt from the indexes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fsck.h"
#include "holder.h"
#include "lock_name.h"
#include "process.h"
#include "table.h"
#include "users.h"

/* A parsed entry of the index of holders. */
struct entry {
	char owner[ATLOCK_OWNER_MAX + 1];
	char who[ATLOCK_WHO_MAX + 1];
	uint64_t token;
};

static bool part_take(const char *from, size_t len, char *out, size_t max)
{
	if (len > max)
		return false;
	memcpy(out, from, len);
	out[len] = '\0';
	return holder_text_check(out, max);
}

/* o <owner> 00 <who> 00 <token 8> */
static bool entry_split(struct slice key, struct entry *out)
{
	const char *owner = (const char *)key.data + 1;
	const char *end = (const char *)key.data + key.len - 9;
	const char *who;

	if (key.len < 13 || *end != '\0')
		return false;
	who = memchr(owner, '\0', (size_t)(end - owner));
	if (who == NULL)
		return false;
	who++;
	out->token = record_number((const unsigned char *)end + 1);
	return part_take(owner, (size_t)(who - 1 - owner), out->owner, ATLOCK_OWNER_MAX) &&
	       part_take(who, (size_t)(end - who), out->who, ATLOCK_WHO_MAX);
}

static int due_gather(struct fsck *fsck, struct slice key, struct slice value)
{
	const unsigned char *bytes = key.data;

	(void)value;
	if (key.len != 18 || bytes[9] != DUE_LOCK)
		return 0;
	return fsck_number_add(&fsck->due, record_number(bytes + 10), (int64_t)record_number(bytes + 1));
}

/* Reads all deadlines by token: the index itself is sorted by time. */
static int due_gather_all(struct fsck *fsck)
{
	int rc = fsck_table(fsck, TABLE_DUE, due_gather);

	if (rc == 0 && fsck->due.room == 0)
		rc = fsck_number_add(&fsck->due, 0, ATLOCK_NEVER); /* marks an empty list as read */
	fsck_numbers_sort(&fsck->due);
	return rc;
}

static int id_gather(struct fsck *fsck, struct slice key, struct slice value)
{
	const unsigned char *bytes = key.data;
	uint64_t random = 0;
	int rc;

	(void)value;
	if (key.len != 21)
		return 0;
	for (size_t i = 9; i < 13; i++)
		random = random << 8 | bytes[i];
	rc = fsck_number_add(&fsck->id_times, record_number(bytes + 13), (int64_t)record_number(bytes + 1));
	return rc < 0 ? rc : fsck_number_add(&fsck->id_randoms, record_number(bytes + 13), (int64_t)random);
}

static int id_gather_all(struct fsck *fsck)
{
	int rc = fsck_table(fsck, TABLE_ID, id_gather);

	if (rc == 0 && fsck->id_times.room == 0)
		rc = fsck_number_add(&fsck->id_times, 0, 0); /* marks an empty list as read */
	fsck_numbers_sort(&fsck->id_times);
	fsck_numbers_sort(&fsck->id_randoms);
	return rc;
}

/* The parts of the id of the grant with this token, if the index of ids has it. */
static int id_find(struct fsck *fsck, struct record_grant *grant)
{
	const struct fsck_number *time;
	const struct fsck_number *random;
	int rc = fsck->id_times.room == 0 ? id_gather_all(fsck) : 0;

	if (rc < 0)
		return rc;
	time = fsck_number_find(&fsck->id_times, grant->token);
	random = fsck_number_find(&fsck->id_randoms, grant->token);
	if (time != NULL && random != NULL) {
		grant->id_time = (uint64_t)time->value;
		grant->id_random = (uint32_t)random->value;
	}
	return 0;
}

/* When the grant with this token ends. */
static int due_find(struct fsck *fsck, uint64_t token, int64_t *out)
{
	const struct fsck_number *found;
	int rc = fsck->due.room == 0 ? due_gather_all(fsck) : 0;

	if (rc < 0)
		return rc;
	found = fsck_number_find(&fsck->due, token);
	*out = found != NULL ? found->value : ATLOCK_NEVER;
	return 0;
}

/*
 * The start tells a process or session from later ones with the same number. One that is gone gets a start that no process has:
 * then the locks of a process end, and no session is taken for one that is over.
 */
static uint64_t start_of(const char *who)
{
	enum holder_kind kind = holder_kind(who);
	const char *number = strchr(who, ':');
	uint64_t start;

	if (number == NULL || (kind != HOLDER_PROCESS && kind != HOLDER_SESSION))
		return 0;
	return process_start((pid_t)strtol(number + 1, NULL, 10), &start) == 0 ? start : UINT64_MAX;
}

static int lock_make(struct fsck *fsck, struct slice lock, const struct entry *entry)
{
	struct op *op = fsck->op;
	struct record_key key = record_key_of(TABLE_LOCK, lock);
	struct record_lock record = {
		.mode = 0644,
		.grant = {
			.state = RECORD_ACQUIRED,
			.priority = ATLOCK_NORMAL,
			.token = entry->token,
			.version = 1,
			.id_time = (uint64_t)op->wall,
			.id_random = (uint32_t)(op->random ^ entry->token),
			.acquired = op->now,
			.renewed = op->now,
			.holder = {
				.boot = op->al->boot,
				.start = start_of(entry->who),
				.owner = slice_of(entry->owner),
				.who = slice_of(entry->who),
				.host = slice_of(op->al->host),
			},
		},
	};
	uid_t uid = HOLDER_NOBODY;
	gid_t gid = HOLDER_NOBODY;
	int rc = due_find(fsck, entry->token, &record.grant.expires);

	if (rc == 0)
		rc = id_find(fsck, &record.grant);
	if (rc < 0)
		return rc;
	record.grant.ttl = record.grant.expires == ATLOCK_NEVER ? ATLOCK_NEVER : op->options->default_ttl;
	if (users_find(op->al->users, entry->owner, &uid, &gid) != 0)
		uid = gid = HOLDER_NOBODY;
	record.grant.holder.uid = uid;
	record.grant.holder.gid = gid;
	fsck_problem(fsck, record_key_slice(&key), "the lock's record is damaged or gone",
		     "made anew from the index of holders");
	return op_put(op, RECORD_LOCK, &key, &record);
}

static int entry_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_lock record;
	struct atlock_name name;
	struct record_key at;
	struct entry entry;
	int rc;

	if (value.len == 0 || value.len > sizeof(name.key) || !entry_split(key, &entry))
		return 0;
	name_from_key(&name, value);
	if (name_check(&name) < 0)
		return 0;
	at = record_key_of(TABLE_LOCK, value);
	rc = fsck_get(fsck, RECORD_LOCK, &at, &record);
	return rc == 1 ? lock_make(fsck, value, &entry) : rc;
}

int fsck_salvage(struct fsck *fsck)
{
	return fsck->fix ? fsck_table(fsck, TABLE_HELD, entry_one) : 0;
}
