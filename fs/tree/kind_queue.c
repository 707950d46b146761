/*
 * queue/: for every lock a directory with its waiters. Only queues with waiters are listed; all others exist and are
 * empty.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "attr_of.h"
#include "handle.h"
#include "listing.h"
#include "path.h"
#include "permit.h"
#include "rows.h"
#include "steady.h"
#include "ticket_name.h"

static int queue_dir_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	return mirror_stat(call, node->dir, 0777, st, life);
}

/*
 * A user who may not take a lock in a directory of custom/ may not queue for it either: the queue has the directory's
 * mode.
 */
static int queue_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	return mirror_stat(call, node->parent->dir, 0777, st, life);
}

static int queue_dir_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	struct atlock_name lock;
	int err = path_kind(call, dir, name, &out->dir, &lock);

	if (err == ATLOCK_PATH_DIR) {
		out->kind = &kind_queue_dir;
		return mirror_stat(call, out->dir, 0777, &out->st, &out->life);
	}
	if (err < 0)
		return err;
	if (lock.who[0] != '\0')
		return call_refuse(call, -EINVAL, ATLOCK_INVALID_REQUEST,
				   "a queue is a lock's, without @who: touch queue/<lock>/normal@%s", lock.who);
	out->kind = &kind_queue;
	return mirror_stat(call, dir->dir, 0777, &out->st, &out->life);
}

static int list_queue(void *arg, const char *component)
{
	return listing_add(arg, component, S_IFDIR);
}

static int queue_dir_children(struct call *call, const struct node *dir, struct atlock_place *place,
			      atlock_group_fn *fn, void *arg)
{
	char path[ATLOCK_PATH_MAX];
	int err;

	if (dir->dir != NODE_NO_DIR)
		return atlock_queue_dir_children(call->al, dir->dir, place, fn, arg);
	err = path_print(dir, "", path);
	return err < 0 ? err : atlock_queue_children(call->al, path, place, fn, arg);
}

static int queue_dir_list(struct call *call, struct node *dir, struct listing *out)
{
	return queue_dir_children(call, dir, listing_place(out), list_queue, out);
}

static int list_ticket(void *arg, const struct atlock_ticket *ticket)
{
	char name[ATLOCK_COMPONENT_MAX + 1];

	ticket_name_print(ticket, name);
	return listing_add(arg, name, S_IFREG);
}

static int queue_list(struct call *call, struct node *dir, struct listing *out)
{
	struct atlock_name lock;
	int err = path_node_lock(call, dir, &lock);

	return err < 0 ? err : atlock_queue_list(call->al, &lock, listing_place(out), list_ticket, out);
}

static int any_queue(void *arg, const char *component)
{
	(void)component;
	*(bool *)arg = true;
	return 1;
}

static int any_ticket(void *arg, const struct atlock_ticket *ticket)
{
	(void)ticket;
	*(bool *)arg = true;
	return 1;
}

/* As below repos/: the directory is virtual, so removing it when it is empty changes nothing. */
static int queue_dir_rmdir(struct call *call, struct node *dir, const char *name)
{
	char path[ATLOCK_PATH_MAX];
	struct atlock_name lock;
	bool any = false;
	uint64_t id;
	int err = path_kind(call, dir, name, &id, &lock);

	if (err == ATLOCK_PATH_DIR && id != NODE_NO_DIR) {
		err = atlock_queue_dir_children(call->al, id, NULL, any_queue, &any);
	} else if (err == ATLOCK_PATH_DIR) {
		err = path_print(dir, name, path);
		if (err == 0)
			err = atlock_queue_children(call->al, path, NULL, any_queue, &any);
	} else if (err == ATLOCK_PATH_LOCK) {
		err = atlock_queue_list(call->al, &lock, NULL, any_ticket, &any);
	}
	if (err < 0)
		return err;
	return any ? -ENOTEMPTY : 0;
}

static int queue_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	struct atlock_ticket ticket = { 0 };
	struct ticket_name parsed;
	struct atlock_name lock;
	int err = path_node_lock(call, dir, &lock);

	if (err < 0)
		return err;
	err = ticket_find(call, &lock, name, &parsed, &ticket);
	if (err == -EINVAL || err == 1) {
		call->why.text[0] = '\0';
		return -ENOENT;
	}
	if (err < 0)
		return err;
	out->kind = &kind_ticket;
	err = attr_ticket(call, &lock, &ticket, &out->st);
	atlock_ticket_clear(&ticket);
	return err;
}

/* A holder that already has a ticket keeps it: another priority is a rename, not a second place in the queue. */
static int enqueue_again(struct call *call, const struct atlock_name *lock, uint64_t number)
{
	struct atlock_ticket ticket = { 0 };

	if (atlock_ticket_get(call->al, lock, number, NULL, NULL, &ticket) == 0)
		call_refuse(call, -EEXIST, ATLOCK_LOCK_EXISTS,
			    "%s@%s waits for this lock already, with priority %s: mv the ticket to change that",
			    ticket.owner, ticket.who, atlock_priority_name(ticket.priority));
	atlock_ticket_clear(&ticket);
	return -EEXIST;
}

/* Attributes of the new file: the ticket or, if the lock was free and is the caller's now, the lock. */
static int enqueue_stat(struct call *call, const struct atlock_name *lock, uint64_t number, struct stat *st)
{
	struct atlock_ticket ticket = { 0 };
	struct atlock_view view = { 0 };
	int err = number == 0 ? 1 : atlock_ticket_get(call->al, lock, number, NULL, NULL, &ticket);

	if (err == 0)
		err = attr_ticket(call, lock, &ticket, st);
	else if (err == 1 && (err = atlock_get(call->al, lock, &view)) == 0)
		err = attr_lock(call, &view, true, st);
	if (err == 1) {
		attr_free_lock(call, st);
		err = 0;
	}
	atlock_ticket_clear(&ticket);
	atlock_view_clear(&view);
	return err;
}

static int queue_create(struct call *call, struct node *dir, const char *name, mode_t mode, struct handle *handle,
			struct found *out)
{
	struct atlock_caller caller;
	struct ticket_name parsed;
	struct atlock_grant grant;
	struct atlock_name lock;
	uint64_t number = 0;
	int err = path_node_lock(call, dir, &lock);

	(void)mode, (void)handle;
	if (err == 0)
		err = ticket_name_parse(call, name, &parsed);
	if (err == 0 && parsed.sequence != 0)
		err = call_refuse(call, -EINVAL, ATLOCK_INVALID_REQUEST,
				  "a ticket is made as <priority> or <priority>@<who>");
	if (err == 0)
		err = permit_change(call, dir->parent);
	if (err == 0)
		err = caller_identify(call, parsed.who, &caller);
	if (err < 0)
		return err;
	err = atlock_enqueue(call->al,
			     &(struct atlock_request){ .name = &lock, .caller = &caller, .priority = parsed.priority },
			     &number, &grant, &call->why);
	if (err < 0)
		return err;
	if (err == 1)
		return enqueue_again(call, &lock, number);
	out->kind = &kind_ticket;
	return enqueue_stat(call, &lock, err == 2 ? 0 : number, &out->st);
}

/* Finds a ticket and checks the caller's right to it. */
static int queue_own(struct call *call, struct node *dir, const char *name, struct atlock_name *lock,
		     struct atlock_ticket *ticket, struct atlock_caller *caller)
{
	struct ticket_name parsed;
	int err = path_node_lock(call, dir, lock);

	if (err == 0)
		err = ticket_find(call, lock, name, &parsed, ticket);
	if (err == 0)
		err = ticket_caller(call, &parsed, caller);
	return err == 1 ? -ENOENT : err;
}

static int queue_unlink(struct call *call, struct node *dir, const char *name)
{
	struct atlock_ticket ticket = { 0 };
	struct atlock_caller caller;
	struct atlock_name lock;
	int err = queue_own(call, dir, name, &lock, &ticket, &caller);

	if (err == 0)
		err = atlock_cancel(call->al,
				    &(struct atlock_request){ .name = &lock, .caller = &caller, .force = true },
				    ticket.ticket, &call->why);
	atlock_ticket_clear(&ticket);
	return err == 1 ? -ENOENT : err;
}

/* With EINVAL, mv would complain of a directory moved into itself. */
static int queue_rename(struct call *call, struct node *dir, const char *from, const char *to, unsigned int flags)
{
	struct atlock_ticket ticket = { 0 };
	struct atlock_caller caller;
	struct ticket_name target;
	struct atlock_name lock;
	int err = ticket_name_parse(call, to, &target);

	if (err == -EINVAL)
		return -EPERM;
	if (err == 0 && ((flags & ~(unsigned int)RENAME_NOREPLACE) != 0 || target.sequence != 0))
		err = call_refuse(call, -EPERM, ATLOCK_INVALID_REQUEST,
				  "a ticket is moved to <priority> or <priority>@<who>");
	if (err == 0)
		err = queue_own(call, dir, from, &lock, &ticket, &caller);
	if (err == 0 && strcmp(target.named ? target.who : caller.who, ticket.who) != 0)
		err = call_refuse(call, -EPERM, ATLOCK_INVALID_REQUEST, "a ticket keeps its holder: move it to %s@%s",
				  atlock_priority_name(target.priority), ticket.who);
	if (err == 0) {
		struct atlock_request req = {
			.name = &lock, .caller = &caller, .force = true, .priority = target.priority
		};

		err = atlock_reprioritise(call->al, &req, ticket.ticket, &call->why);
	}
	atlock_ticket_clear(&ticket);
	return err == 1 ? -ENOENT : err;
}

const struct kind kind_queue_dir = {
	.type = S_IFDIR,
	.hint = "every lock has a queue, called as the lock is: touch queue/<lock>/<priority>@<who> joins it",
	.plus = true,
	.mirror = true,
	.stat = queue_dir_stat,
	.lookup = queue_dir_lookup,
	.list = queue_dir_list,
	.rmdir = queue_dir_rmdir,
};

const struct kind kind_queue = {
	.type = S_IFDIR,
	.hint = "a queue has tickets: touch <priority>@<who> joins it, mv to another priority and rm change and end that",
	.missing =
		"tickets are called <priority>@<who>; a lock below a directory of custom/ needs that directory first: mkdir it",
	.mirror = true,
	.lock = path_node_lock,
	.stat = queue_stat,
	.lookup = queue_lookup,
	.list = queue_list,
	.create = queue_create,
	.unlink = queue_unlink,
	.rename = queue_rename,
};
