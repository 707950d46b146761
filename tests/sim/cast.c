#include "cast.h"

#include <stdlib.h>
#include <string.h>

const char *const cast_repos[CAST_REPOS] = { "acme/infra", "acme/infra2", "acme/app", "" };

struct cast_lock cast_locks[CAST_LOCKS] = {
	{ .path = "repos/acme/infra/-/modules/vpc/-/production", .repo = 0 },
	{ .path = "repos/acme/infra/-/net/-/default:web", .repo = 0 },
	{ .path = "repos/acme/infra2/-/net/-/default", .repo = 1 },
	{ .path = "repos/acme/app/-/net/-/default", .repo = 2 },
	{ .path = "global/apply", .repo = 3, .lasts = true },
	{ .path = "global/plan", .repo = 3, .lasts = true },
	{ .path = "custom/deploy", .repo = 3 },
	{ .path = "custom/deploy-2", .repo = 3 },
};

struct cast_actor cast_actors[CAST_ACTORS] = {
	{ .owner = "alice", .who = "sid:1", .uid = 1000 },
	{ .owner = "alice", .who = "build-17", .uid = 1000 },
	{ .owner = "alice", .who = "pr:5", .uid = 1000, .unending = true, .pull = 5 },
	{ .owner = "bob", .who = "sid:1", .uid = 1001 },
	{ .owner = "bob", .who = "build-17", .uid = 1001 },
	{ .owner = "bob", .who = "pr:5", .uid = 1001, .unending = true, .pull = 5 },
	{ .owner = "carol", .who = "flock:9", .uid = 1002, .unending = true },
	{ .owner = "carol", .who = "pr:50", .uid = 1002, .unending = true, .pull = 50 },
	{ .owner = "carol", .who = "nightly", .uid = 1002 },
	{ .owner = "alice-x", .who = "sid:1", .uid = 1000 },
	{ .owner = "root", .who = "sid:1", .uid = 0, .admin = true },
};

static int lock_order(const void *left, const void *right)
{
	const struct atlock_name *a = &((const struct cast_lock *)left)->name;
	const struct atlock_name *b = &((const struct cast_lock *)right)->name;
	int order = memcmp(a->key, b->key, a->len < b->len ? a->len : b->len);
	return order ? order : (int)a->len - (int)b->len;
}

static int lock_parse(struct cast_lock *lock)
{
	static const char custom[] = "custom/";
	if (strncmp(lock->path, custom, sizeof custom - 1) == 0)
		return atlock_name_custom(0, lock->path + sizeof custom - 1, &lock->name, NULL);
	return atlock_name_parse(lock->path, &lock->name, NULL);
}

int cast_init(void)
{
	for (int i = 0; i < CAST_LOCKS; i++) {
		int err = lock_parse(&cast_locks[i]);
		if (err < 0)
			return err;
	}
	qsort(cast_locks, CAST_LOCKS, sizeof cast_locks[0], lock_order);
	for (int i = 0; i < CAST_ACTORS; i++) {
		struct cast_actor *actor = &cast_actors[i];
		int err = atlock_caller_init(&actor->caller, actor->owner, actor->who, actor->uid);
		if (err < 0)
			return err;
		actor->caller.admin = actor->admin;
	}
	return 0;
}

int cast_find_lock(const struct atlock_name *name)
{
	for (int i = 0; i < CAST_LOCKS; i++) {
		if (atlock_name_equal(name, &cast_locks[i].name))
			return i;
	}
	return -1;
}

int cast_find_path(const char *path)
{
	for (int i = 0; i < CAST_LOCKS; i++) {
		if (strcmp(path, cast_locks[i].path) == 0)
			return i;
	}
	return -1;
}

int cast_find_actor(const char *owner, const char *who)
{
	for (int i = 0; i < CAST_ACTORS; i++) {
		if (strcmp(owner, cast_actors[i].owner) == 0 && strcmp(who, cast_actors[i].who) == 0)
			return i;
	}
	return -1;
}

bool cast_same_uid(int a, int b)
{
	return cast_actors[a].uid == cast_actors[b].uid;
}
