#include "users.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_MAX sizeof(((struct atlock_options *)NULL)->admin_group)
#define UID_PREFIX "uid:"
#define RETRY (5 * ATLOCK_SECOND) /* pause after the database did not answer */

/* One cached user. All uids with the same remainder share a slot; the newest has it. */
struct slot {
	uid_t uid;
	int64_t name_until; /* 0: nothing known */
	char name[ATLOCK_OWNER_MAX + 1];
	int64_t groups_until; /* 0: nothing known */
	gid_t *groups;
	size_t group_count;
};

/* One cached group id; slots are shared in the same way. */
struct group_slot {
	char name[GROUP_MAX];
	int64_t until; /* 0: nothing known */
	int absent;    /* 1: there is no such group */
	gid_t gid;
};

struct users {
	const struct users_source *source;
	pthread_mutex_t mutex;
	struct slot slots[USERS_SLOTS];              /* mutex */
	struct group_slot groups[USERS_GROUP_SLOTS]; /* mutex */
};

int users_new(struct users **out, const struct users_source *source)
{
	struct users *users = calloc(1, sizeof(*users));

	if (users == NULL)
		return -ENOMEM;
	users->source = source != NULL ? source : &users_system;
	pthread_mutex_init(&users->mutex, NULL);
	*out = users;
	return 0;
}

void users_free(struct users *users)
{
	if (users == NULL)
		return;
	for (size_t i = 0; i < USERS_SLOTS; i++)
		free(users->slots[i].groups);
	pthread_mutex_destroy(&users->mutex);
	free(users);
}

static int64_t now_of(const struct users *users)
{
	return users->source->now(users->source->arg);
}

/* The user's slot, evicting another user's entry. Caller holds the mutex. */
static struct slot *slot_of(struct users *users, uid_t uid)
{
	struct slot *slot = &users->slots[uid % USERS_SLOTS];

	if (slot->uid != uid) {
		free(slot->groups);
		memset(slot, 0, sizeof(*slot));
		slot->uid = uid;
	}
	return slot;
}

/* Whether a name can be an owner and does not look like "uid:N". */
static bool name_fits(const char *name)
{
	if (name[0] == '\0' || strncmp(name, UID_PREFIX, strlen(UID_PREFIX)) == 0)
		return false;
	for (const char *p = name; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	return true;
}

static int name_ask(const struct users *users, uid_t uid, char out[ATLOCK_OWNER_MAX + 1])
{
	int err = users->source->by_uid(users->source->arg, uid, out, ATLOCK_OWNER_MAX + 1);

	if (err < 0)
		return err;
	if (err > 0 || !name_fits(out))
		snprintf(out, ATLOCK_OWNER_MAX + 1, UID_PREFIX "%u", uid);
	return 0;
}

int users_name(struct users *users, uid_t uid, char out[ATLOCK_OWNER_MAX + 1])
{
	int64_t now = now_of(users);
	char name[ATLOCK_OWNER_MAX + 1];
	struct slot *slot;
	bool fresh;
	int err;

	pthread_mutex_lock(&users->mutex);
	slot = slot_of(users, uid);
	fresh = now < slot->name_until;
	if (fresh)
		strlcpy(out, slot->name, sizeof(slot->name));
	pthread_mutex_unlock(&users->mutex);
	if (fresh)
		return 0;

	err = name_ask(users, uid, name);
	pthread_mutex_lock(&users->mutex);
	slot = slot_of(users, uid);
	if (err == 0) {
		strlcpy(slot->name, name, sizeof(slot->name));
		slot->name_until = now + USERS_KEEP;
	} else if (slot->name_until != 0) {
		slot->name_until = now + RETRY;
		err = 0;
	}
	if (err == 0)
		strlcpy(out, slot->name, sizeof(slot->name));
	pthread_mutex_unlock(&users->mutex);
	return err;
}

int users_find(struct users *users, const char *name, uid_t *uid, gid_t *gid)
{
	if (strncmp(name, UID_PREFIX, strlen(UID_PREFIX)) == 0) {
		const char *digits = name + strlen(UID_PREFIX);
		const char *bad = NULL;
		/* The highest number is no user: chown(2) takes it for "leave unchanged". */
		long long number = strtonum(digits, 0, (long long)UINT32_MAX - 1, &bad);

		if (bad != NULL || strspn(digits, "0123456789") != strlen(digits) ||
		    (digits[0] == '0' && digits[1] != '\0'))
			return 1;
		*uid = (uid_t)number;
		*gid = (gid_t)number;
		return 0;
	}
	if (!name_fits(name) || strlen(name) > ATLOCK_OWNER_MAX)
		return 1;
	return users->source->by_name(users->source->arg, name, uid, gid);
}

static struct group_slot *group_slot_of(struct users *users, const char *name)
{
	uint32_t hash = UINT32_C(0x811c9dc5);
	struct group_slot *slot;

	for (const char *p = name; *p != '\0'; p++)
		hash = (hash ^ (unsigned char)*p) * UINT32_C(0x01000193);
	slot = &users->groups[hash % USERS_GROUP_SLOTS];
	if (strcmp(slot->name, name) != 0) {
		memset(slot, 0, sizeof(*slot));
		strlcpy(slot->name, name, sizeof(slot->name));
	}
	return slot;
}

/* The group's id: 0, 1 (no such group), or -EIO. */
static int group_number(struct users *users, const char *name, int64_t now, gid_t *gid)
{
	struct group_slot *slot;
	gid_t asked = 0;
	bool fresh;
	int answer;

	pthread_mutex_lock(&users->mutex);
	slot = group_slot_of(users, name);
	fresh = now < slot->until;
	answer = slot->absent;
	*gid = slot->gid;
	pthread_mutex_unlock(&users->mutex);
	if (fresh)
		return answer;

	answer = users->source->group(users->source->arg, name, &asked);
	pthread_mutex_lock(&users->mutex);
	slot = group_slot_of(users, name);
	if (answer >= 0) {
		slot->absent = answer;
		slot->gid = asked;
		slot->until = now + USERS_KEEP;
	} else if (slot->until != 0) {
		slot->until = now + RETRY;
		answer = slot->absent;
	}
	*gid = slot->gid;
	pthread_mutex_unlock(&users->mutex);
	return answer;
}

/* Whether the user's list contains the group: 0 yes, 1 no. Caller holds the mutex. */
static int slot_look(const struct slot *slot, gid_t gid)
{
	for (size_t i = 0; i < slot->group_count; i++)
		if (slot->groups[i] == gid)
			return 0;
	return 1;
}

/* Fetches the user's list of groups and searches it. */
static int groups_ask(struct users *users, uid_t uid, int64_t now, gid_t gid)
{
	char name[ATLOCK_OWNER_MAX + 1];
	gid_t *groups = NULL;
	size_t count = 0;
	struct slot *slot;
	int answer = users_name(users, uid, name);

	if (answer == 0)
		answer = users->source->groups(users->source->arg, name, &groups, &count);
	pthread_mutex_lock(&users->mutex);
	slot = slot_of(users, uid);
	if (answer >= 0) {
		free(slot->groups);
		slot->groups = groups;
		slot->group_count = count;
		slot->groups_until = now + USERS_KEEP;
	} else if (slot->groups_until != 0) {
		slot->groups_until = now + RETRY;
		answer = 0;
	}
	if (answer >= 0)
		answer = slot_look(slot, gid);
	pthread_mutex_unlock(&users->mutex);
	return answer;
}

int users_in_group(struct users *users, uid_t uid, const char *group)
{
	int64_t now = now_of(users);
	struct slot *slot;
	gid_t gid;
	bool fresh;
	int answer;

	if (group[0] == '\0' || strlen(group) >= GROUP_MAX)
		return 1;
	answer = group_number(users, group, now, &gid);
	if (answer != 0)
		return answer;
	pthread_mutex_lock(&users->mutex);
	slot = slot_of(users, uid);
	fresh = now < slot->groups_until;
	answer = slot_look(slot, gid);
	pthread_mutex_unlock(&users->mutex);
	return fresh ? answer : groups_ask(users, uid, now, gid);
}

/* One entry of a list: a user's name, or a group after '@'. */
static bool entry_has(struct users *users, uid_t uid, const char *name, const char *entry, size_t len)
{
	char group[GROUP_MAX];

	if (entry[0] != '@')
		return strlen(name) == len && memcmp(name, entry, len) == 0;
	if (len > sizeof(group))
		return false;
	memcpy(group, entry + 1, len - 1);
	group[len - 1] = '\0';
	return users_in_group(users, uid, group) == 0;
}

bool users_listed(struct users *users, uid_t uid, const char *name, const char *list)
{
	size_t len;

	for (; *list != '\0'; list += len) {
		list += strspn(list, USERS_BETWEEN);
		len = strcspn(list, USERS_BETWEEN);
		if (len > 0 && entry_has(users, uid, name, list, len))
			return true;
	}
	return false;
}
