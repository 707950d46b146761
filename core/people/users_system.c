/* The system's user database as a source of users.h. */
#include <bsd/string.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <time.h>

#include "users.h"

#define BUFFER_FIRST 1024
#define BUFFER_LAST (1024 * 1024)

/* Asks for one entry: sets `found`, returns the errno of the get...r() functions. */
typedef int ask_fn(const void *key, void *answer, char *buffer, size_t len);

struct user {
	char name[ATLOCK_OWNER_MAX + 1];
	uid_t uid;
	gid_t gid;
	int found;
};

/* Retries with growing buffers: a group of thousands is one entry of many kilobytes. */
static int entry_ask(ask_fn *ask, const void *key, void *answer)
{
	for (size_t len = BUFFER_FIRST; len <= BUFFER_LAST; len *= 4) {
		char *buffer = malloc(len);
		int err;

		if (buffer == NULL)
			return -EIO;
		err = ask(key, answer, buffer, len);
		free(buffer);
		switch (err) {
		case 0:
		case ENOENT: /* these four also mean that there is no such entry: getpwnam(3) */
		case ESRCH:
		case EBADF:
		case EPERM: return 0;
		case ERANGE: break;
		case EINTR: len /= 4; break;
		default: return -EIO;
		}
	}
	return -EIO;
}

static void user_take(struct user *user, const struct passwd *entry)
{
	user->found = entry != NULL;
	if (entry == NULL)
		return;
	if (strlcpy(user->name, entry->pw_name, sizeof(user->name)) >= sizeof(user->name))
		user->name[0] = '\0'; /* too long for an owner; truncated, it could be another user's */
	user->uid = entry->pw_uid;
	user->gid = entry->pw_gid;
}

static int user_by_uid(const void *key, void *answer, char *buffer, size_t len)
{
	struct passwd entry;
	struct passwd *result = NULL;
	int err = getpwuid_r(*(const uid_t *)key, &entry, buffer, len, &result);

	user_take(answer, result);
	return err;
}

static int user_by_name(const void *key, void *answer, char *buffer, size_t len)
{
	struct passwd entry;
	struct passwd *result = NULL;
	int err = getpwnam_r(key, &entry, buffer, len, &result);

	user_take(answer, result);
	return err;
}

struct group_id {
	gid_t gid;
	int found;
};

static int group_by_name(const void *key, void *answer, char *buffer, size_t len)
{
	struct group_id *id = answer;
	struct group entry;
	struct group *result = NULL;
	int err = getgrnam_r(key, &entry, buffer, len, &result);

	id->found = result != NULL;
	if (result != NULL)
		id->gid = result->gr_gid;
	return err;
}

static int system_by_uid(void *arg, uid_t uid, char *name, size_t len)
{
	struct user user = { .found = 0 };
	int err = entry_ask(user_by_uid, &uid, &user);

	(void)arg;
	if (err < 0)
		return err;
	strlcpy(name, user.name, len);
	return user.found ? 0 : 1;
}

static int system_by_name(void *arg, const char *name, uid_t *uid, gid_t *gid)
{
	struct user user = { .found = 0 };
	int err = entry_ask(user_by_name, name, &user);

	(void)arg;
	if (err < 0)
		return err;
	*uid = user.uid;
	*gid = user.gid;
	return user.found ? 0 : 1;
}

static int system_groups(void *arg, const char *name, gid_t **out, size_t *count)
{
	struct user user = { .found = 0 };
	int room = 64;
	int n = room;
	gid_t *groups;
	int err = entry_ask(user_by_name, name, &user);

	(void)arg;
	if (err < 0 || !user.found)
		return err < 0 ? err : 1;
	groups = reallocarray(NULL, (size_t)room, sizeof(*groups));
	while (groups != NULL && getgrouplist(user.name, user.gid, groups, &n) < 0) {
		gid_t *more;

		room = n > room ? n : room * 2;
		n = room;
		more = reallocarray(groups, (size_t)room, sizeof(*groups));
		if (more == NULL)
			free(groups);
		groups = more;
	}
	if (groups == NULL)
		return -EIO;
	*out = groups;
	*count = (size_t)n;
	return 0;
}

static int system_group(void *arg, const char *name, gid_t *gid)
{
	struct group_id id = { .found = 0 };
	int err = entry_ask(group_by_name, name, &id);

	(void)arg;
	*gid = id.gid;
	return err < 0 ? err : !id.found;
}

static int64_t system_now(void *arg)
{
	struct timespec t;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec * ATLOCK_SECOND + t.tv_nsec;
}

const struct users_source users_system = {
	.by_uid = system_by_uid,
	.by_name = system_by_name,
	.groups = system_groups,
	.group = system_group,
	.now = system_now,
};
