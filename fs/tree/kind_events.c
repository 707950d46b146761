/*
 * events/: what happened, one file per day of UTC; `live`, a link to today's; `anchor`, which says where the log
 * begins; and `chains`, where several hosts write, with the ends of each host's. Lines are only ever appended and never move, so that readers may come back with an offset. stat(2) shows the
 * exact size, which the kernel must not cache while the file grows: `tail -f` asks again and again.
 */
#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attr.h"
#include "call_user.h"
#include "handle.h"
#include "listing.h"
#include "reach.h"
#include "rows.h"
#include "steady.h"

#define LIVE "live"
#define READ_MAX (1U << 20) /* bytes in one reply; the kernel asks for less */

static const char events_hint[] =
	"events are written by the file system alone, and kept for as long as the option events_keep says";

/* --- A day --- */

static int day_attr(struct call *call, const char *name, struct stat *st, struct life *life)
{
	struct atlock_day day;
	int err = atlock_day_get(call->al, name, &day);

	if (err != 0)
		return err < 0 ? err : -ENOENT;
	attr_file(call->fs, 0444, day.size, st);
	attr_times(st, day.changed);
	*life = (struct life){ 0 };
	return 0;
}

static int day_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	return day_attr(call, node->component, st, life);
}

static int day_read(struct call *call, struct node *node, struct handle *handle, size_t size, off_t off)
{
	size_t len = size < READ_MAX ? size : READ_MAX;
	char *text = malloc(len);
	struct reach reach;
	ssize_t n = reach_begin(&reach, call);

	(void)handle;
	if (n == 0)
		n = text == NULL ? -ENOMEM
				 : atlock_day_read(call->al, reach.all ? NULL : &reach.reader, node->component,
						   (uint64_t)off, text, len);
	reach_end(&reach);
	if (n >= 0)
		fuse_reply_buf(call->req, text, (size_t)n);
	free(text);
	return n < 0 ? (int)n : CALL_ANSWERED;
}

const struct kind kind_events_day = {
	.type = S_IFREG,
	.hint = events_hint,
	.stat = day_stat,
	.read = day_read,
};

/* --- live --- */

static int live_readlink(struct call *call, struct node *node, char out[ATLOCK_PATH_MAX])
{
	(void)node;
	atlock_day_live(call->al, out);
	return 0;
}

static int live_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	char day[ATLOCK_DAY_NAME];

	(void)node;
	atlock_day_live(call->al, day);
	attr_file(call->fs, 0777, strlen(day), st);
	st->st_mode = S_IFLNK | 0777;
	*life = (struct life){ .entry = LIFE_STEADY, .attr = 0 };
	return 0;
}

const struct kind kind_events_live = {
	.type = S_IFLNK,
	.hint = events_hint,
	.stat = live_stat,
	.readlink = live_readlink,
};

/* --- anchor: where the log begins; writing it confirms that earlier events are safe elsewhere --- */

#define ANCHOR "anchor"
#define ANCHOR_TEXT 512

static int anchor_print(struct call *call, char out[ANCHOR_TEXT])
{
	struct atlock_anchor anchor;
	int err = atlock_anchor(call->al, &anchor);

	out[0] = '\0';
	if (err != 0)
		return err < 0 ? err : 0;
	return snprintf(out, ANCHOR_TEXT, "%" PRIu64 ":%s %s%s%s%s%s\n", anchor.seq, anchor.hash,
			anchor.archived ? "archived" : "events_keep", anchor.time[0] != '\0' ? " " : "", anchor.time,
			anchor.by[0] != '\0' ? " " : "", anchor.by);
}

static int anchor_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	char text[ANCHOR_TEXT];
	int len = anchor_print(call, text);

	(void)node;
	if (len < 0)
		return len;
	attr_file(call->fs, 0644, (size_t)len, st);
	*life = (struct life){ 0 };
	return 0;
}

static int anchor_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	char value[ANCHOR_TEXT];
	int n = anchor_print(call, value);

	(void)node, (void)handle;
	if (n < 0)
		return n;
	*len = (size_t)n;
	*text = strdup(value);
	return *text == NULL ? -ENOMEM : 0;
}

static int anchor_permit(struct call *call, const struct atlock_caller *caller)
{
	if (caller->admin)
		return 0;
	return call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
			   "events are archived by administrators: root, and the members of admin_group");
}

static int anchor_open(struct call *call, struct node *node, struct handle *handle)
{
	int err = caller_keep(call, handle);

	(void)node;
	return err < 0 || !handle_writes(handle) ? err : anchor_permit(call, handle_caller(handle));
}

static int anchor_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	const struct atlock_caller *caller = handle_caller(handle);
	char value[ANCHOR_TEXT];

	(void)node;
	if (caller == NULL)
		return -EBADF;
	if (len > 0 && data[len - 1] == '\n')
		len--;
	if (len >= sizeof(value) || memchr(data, '\0', len) != NULL)
		return call_refuse(call, -EINVAL, ATLOCK_INVALID_REQUEST,
				   "write NUMBER:HASH of the last archived event");
	memcpy(value, data, len);
	value[len] = '\0';
	return atlock_archived(call->al, caller, value, &call->why);
}

/* Truncating does nothing yet: in `> f` the event follows. */
static int anchor_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which)
{
	struct atlock_caller caller;
	int err = caller_opener(call, handle, &caller);

	(void)node;
	if (err == 0)
		err = anchor_permit(call, &caller);
	if (err == 0 && ((which & ~(FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_OPEN)) != 0 || want->st_size != 0))
		err = call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
				  "write NUMBER:HASH of the last archived event");
	return err;
}

const struct kind kind_events_anchor = {
	.type = S_IFREG,
	.hint = "atlock audit archive writes the last archived event to it, as an administrator",
	.permits = true,
	.stat = anchor_stat,
	.set = anchor_set,
	.open = anchor_open,
	.text = anchor_text,
	.write = anchor_write,
};

/* --- chains: one line for each host that has written to the store; not there if there is one host only --- */

#define CHAINS "chains"
#define CHAIN_LINE 512

struct chains_text {
	char *text;
	size_t len;
};

static int chain_print(void *arg, const struct atlock_chain *chain)
{
	struct chains_text *out = arg;
	char *text = realloc(out->text, out->len + CHAIN_LINE);
	char anchor[128] = "";

	if (text == NULL)
		return -ENOMEM;
	out->text = text;
	if (chain->anchor != 0)
		(void)snprintf(anchor, sizeof(anchor), ",\"anchor\":\"%" PRIu64 ":%s\"", chain->anchor,
			       chain->anchor_hash);
	int len = snprintf(text + out->len, CHAIN_LINE,
			   "{\"chain\":%u,\"host\":\"%s\",\"own\":%s,\"last\":%" PRIu64 ",\"hash\":\"%s\"%s}\n",
			   chain->chain, chain->host, chain->own ? "true" : "false", chain->last, chain->hash, anchor);
	out->len += len < 0 ? 0 : (size_t)len;
	return 0;
}

static int chains_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	struct chains_text out = { .text = NULL };
	int err = atlock_chains(call->al, chain_print, &out);

	(void)node, (void)handle;
	if (err == 0 && out.text == NULL)
		out.text = calloc(1, 1);
	if (err != 0 || out.text == NULL) {
		free(out.text);
		return err < 0 ? err : err == 1 ? -ENOENT : -ENOMEM;
	}
	*text = out.text;
	*len = out.len;
	return 0;
}

static int chains_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	char *text = NULL;
	size_t len;
	int err = chains_text(call, node, NULL, &text, &len);

	if (err < 0)
		return err;
	free(text);
	attr_file(call->fs, 0444, len, st);
	*life = (struct life){ 0 };
	return 0;
}

const struct kind kind_events_chains = {
	.type = S_IFREG,
	.hint = events_hint,
	.stat = chains_stat,
	.text = chains_text,
};

/* --- The directory --- */

static int events_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	if (strcmp(name, LIVE) == 0) {
		out->kind = &kind_events_live;
		return live_stat(call, dir, &out->st, &out->life);
	}
	if (strcmp(name, ANCHOR) == 0) {
		out->kind = &kind_events_anchor;
		return anchor_stat(call, dir, &out->st, &out->life);
	}
	if (strcmp(name, CHAINS) == 0) {
		out->kind = &kind_events_chains;
		return chains_stat(call, dir, &out->st, &out->life);
	}
	out->kind = &kind_events_day;
	out->sized = true;
	return day_attr(call, name, &out->st, &out->life);
}

struct listed {
	struct listing *out;
	bool full;
};

static int list_day(void *arg, const struct atlock_day *day)
{
	struct listed *listed = arg;

	listed->full = listing_add(listed->out, day->name, S_IFREG) != 0;
	return listed->full;
}

static bool place_is(const struct atlock_place *place, const char *name)
{
	return place->len == strlen(name) + 1 && memcmp(place->data, name, place->len) == 0;
}

/* Lists one of the names after the days; its place is its name. */
static int list_fixed(struct listing *out, const char *name, mode_t type)
{
	struct atlock_place *place = listing_place(out);

	place->len = (uint16_t)(strlen(name) + 1);
	memcpy(place->data, name, place->len);
	return listing_add(out, name, type);
}

static int chain_ignore(void *arg, const struct atlock_chain *chain)
{
	(void)arg, (void)chain;
	return 1;
}

static int list_chains(struct call *call, struct listing *out)
{
	int err = atlock_chains(call->al, chain_ignore, NULL);

	if (err == 0)
		(void)list_fixed(out, CHAINS, S_IFREG);
	return err < 0 ? err : 0;
}

static int events_list(struct call *call, struct node *dir, struct listing *out)
{
	struct atlock_place *place = listing_place(out);
	struct listed listed = { .out = out };
	struct atlock_anchor anchor;
	int err;

	(void)dir;
	if (place_is(place, CHAINS))
		return 0;
	if (place_is(place, LIVE))
		return list_chains(call, out);
	if (!place_is(place, ANCHOR)) {
		err = atlock_days(call->al, place, list_day, &listed);
		if (err < 0 || listed.full)
			return err;
		err = atlock_anchor(call->al, &anchor);
		if (err < 0 || (err == 0 && list_fixed(out, ANCHOR, S_IFREG) != 0))
			return err;
	}
	return list_fixed(out, LIVE, S_IFLNK) != 0 ? 0 : list_chains(call, out);
}

const struct kind kind_events = {
	.type = S_IFDIR,
	.mode = 0555,
	.hint = events_hint,
	.stat = steady_stat,
	.lookup = events_lookup,
	.list = events_list,
};
