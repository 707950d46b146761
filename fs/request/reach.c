#include "reach.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "dir_access_cache.h"
#include "permit.h"

/* Limit on components of a path: a damaged store may have a cycle of parents. */
#define DEPTH_MAX (ATLOCK_PATH_MAX / 2)

/* FUSE does not pass a caller's groups. They are read from /proc once for all directories. */
static void groups_read(struct reach *reach)
{
	struct call *call = reach->call;
	int n;

	reach->grouped = true;
	/* An opener's groups are not those of the process that reads; see caller_act_as_opener(). */
	if (call->ctx != fuse_req_ctx(call->req))
		return;
	n = fuse_req_getgroups(call->req, 0, NULL);
	if (n <= 0)
		return;
	reach->groups = calloc((size_t)n, sizeof(*reach->groups));
	if (reach->groups == NULL || fuse_req_getgroups(call->req, n, reach->groups) != n)
		return;
	call->groups = reach->groups;
	call->group_count = (size_t)n;
}

/* Checks one directory alone. A directory that cannot be read counts as closed. Clears `open` if not every user may search it. */
static bool dir_may(struct reach *reach, uint64_t dir, uint64_t *parent, bool *open)
{
	struct call *call = reach->call;
	struct dir_access access;
	bool may;

	if (dir_access_get(call, dir, &access) < 0)
		return false;
	*parent = access.parent;
	if ((access.mode & 0111U) == 0111U)
		return true;
	*open = false;
	if (!reach->grouped)
		groups_read(reach);
	may = permit_mode(call, access.mode, access.uid, access.gid, X_OK) == 0;
	call->why = (struct atlock_why){ .text = "" };
	return may;
}

static bool reach_dir(void *arg, uint64_t dir)
{
	struct reach *reach = arg;
	uint64_t changes = dir_access_changes(reach->call);
	uint64_t at = dir;
	bool may = true;
	bool open = true;

	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		size_t slot = at % REACH_KNOWN;
		bool known = reach->known[slot].known && reach->known[slot].dir == at;
		uint64_t parent = 0;

		if (!known && dir_access_is_open(reach->call, at))
			break;
		may = known ? reach->known[slot].may : dir_may(reach, at, &parent, &open);
		open = open && !known;
		if (!may || known || at == 0)
			break;
		at = parent;
	}
	if (may && open)
		dir_access_open(reach->call, dir, changes);
	reach->known[dir % REACH_KNOWN].dir = dir;
	reach->known[dir % REACH_KNOWN].known = true;
	reach->known[dir % REACH_KNOWN].may = may;
	return may;
}

int reach_begin(struct reach *reach, struct call *call)
{
	int err = 0;

	reach->call = call;
	reach->grouped = false;
	reach->groups = NULL;
	for (size_t i = 0; i < REACH_KNOWN; i++)
		reach->known[i].known = false;
	reach->all = call->ctx->uid == 0;
	if (!reach->all)
		err = caller_user(call, &reach->user);
	if (err == 0 && !reach->all)
		reach->all = reach->user.admin;
	reach->reader = (struct atlock_reader){ .user = reach->user.owner, .may = reach_dir, .arg = reach };
	return err;
}

void reach_end(struct reach *reach)
{
	reach->call->groups = NULL;
	reach->call->group_count = 0;
	free(reach->groups);
}

bool reach_lock(struct reach *reach, const struct atlock_name *name)
{
	uint64_t dir;

	return reach->all || !atlock_name_dir(name, &dir) || reach_dir(reach, dir);
}
