/*
 * A ticket as a file. It ends when the lock is granted; a file that is still open then reads as the lock that it waited
 * for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attr_of.h"
#include "call_user.h"
#include "handle.h"
#include "path.h"
#include "rows.h"
#include "ticket_name.h"

/* What became of the ticket that a node names. */
struct ticket_state {
	struct atlock_name lock;
	struct atlock_ticket ticket;
	struct atlock_view view;
	struct atlock_caller caller;
	enum { TICKET_WAITS, TICKET_GRANTED, TICKET_GONE } is;
	bool own; /* the ticket is the caller's */
};

static void state_clear(struct ticket_state *state)
{
	atlock_ticket_clear(&state->ticket);
	atlock_view_clear(&state->view);
}

/* For its own holder only, the ticket has become the lock. */
static int state_read(struct call *call, struct node *node, struct ticket_state *state)
{
	struct ticket_name name = { 0 };
	int err = path_node_lock(call, node->parent, &state->lock);

	if (err == 0)
		err = ticket_find(call, &state->lock, node->component, &name, &state->ticket);
	if (err < 0)
		return err;
	state->own = name.who[0] != '\0' && ticket_caller(call, &name, &state->caller) == 0;
	call->why.text[0] = '\0';
	state->is = err == 0 ? TICKET_WAITS : TICKET_GONE;
	if (err == 0) {
		state->own = state->own && strcmp(state->caller.owner, state->ticket.owner) == 0 &&
			     strcmp(state->caller.who, state->ticket.who) == 0;
		return 0;
	}
	if (state->own && atlock_holds(call->al, &state->lock, &state->caller, &state->view, NULL) == 0)
		state->is = TICKET_GRANTED;
	return 0;
}

static int ticket_queue_lock(struct call *call, const struct node *node, struct atlock_name *out)
{
	return path_node_lock(call, node->parent, out);
}

static int ticket_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	struct ticket_state state = { 0 };
	int err = state_read(call, node, &state);

	*life = (struct life){ 0 };
	if (err == 0 && state.is == TICKET_WAITS)
		err = attr_ticket(call, &state.lock, &state.ticket, st);
	else if (err == 0 && state.is == TICKET_GRANTED)
		err = attr_lock(call, &state.view, true, st);
	else if (err == 0)
		attr_free_lock(call, st);
	if (err == 0 && state.is != TICKET_WAITS)
		st->st_nlink = 0;
	state_clear(&state);
	return err;
}

static int ticket_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	struct ticket_state state = { 0 };
	int err = state_read(call, node, &state);

	(void)handle;
	if (err < 0)
		return err;
	if (state.is == TICKET_GONE)
		err = call_refuse(call, -ESTALE, ATLOCK_LOCK_NOT_FOUND, "this ticket is not in the queue any more");
	else if (state.is == TICKET_WAITS)
		*text = atlock_ticket_text(call->al, &state.lock, &state.ticket, len);
	else
		*text = caller_text(call, &state.view, len);
	state_clear(&state);
	return err < 0 ? err : *text == NULL ? -ENOMEM : 0;
}

static int ticket_not_own(struct call *call)
{
	return call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
			   "this ticket is another's; its holder may remove or move it");
}

static int ticket_open(struct call *call, struct node *node, struct handle *handle)
{
	struct ticket_state state = { 0 };
	int err = state_read(call, node, &state);

	if (err == 0 && state.is == TICKET_GONE)
		err = -ESTALE;
	else if (err == 0 && handle_writes(handle) && !state.own)
		err = ticket_not_own(call);
	state_clear(&state);
	return err;
}

/* touch(1) on one's own ticket has nothing to do: it waits, or was granted meanwhile. */
static int ticket_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which)
{
	struct ticket_state state = { 0 };
	int err = state_read(call, node, &state);

	(void)handle, (void)want;
	if (err == 0 && state.is == TICKET_GONE)
		err = -ENOENT;
	else if (err == 0 && !state.own)
		err = ticket_not_own(call);
	else if (err == 0 && (which & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)))
		err = call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED, "a ticket has no owner or mode to change");
	state_clear(&state);
	return err;
}

static int ticket_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	(void)node, (void)handle, (void)data, (void)len;
	return call_refuse(
		call, -EPERM, ATLOCK_INVALID_REQUEST,
		"a ticket takes no text: write ttl= and the like to wait/<lock>, or to the lock once it is yours");
}

const struct kind kind_ticket = {
	.type = S_IFREG,
	.ends = true,
	.hint = "a ticket is moved to another priority or removed, by the user who made it",
	.lock = ticket_queue_lock,
	.stat = ticket_stat,
	.set = ticket_set,
	.open = ticket_open,
	.text = ticket_text,
	.write = ticket_write,
};
