/*
 * events/: what happened, one file for each day of UTC, and `live`, a link to today's. Lines are only ever added and stay where
 * they are, so that readers may come back with an offset. Files are as long as stat(2) says, which the kernel must not keep of
 * one that grows: `tail -f` asks again and again.
 */
#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attr.h"
#include "kind.h"
#include "listing.h"
#include "reach.h"

#define LIVE "live"
#define READ_MAX (1U << 20) /* bytes in one answer; the kernel asks for less */

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
	return n < 0 ? (int)n : 0;
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

/* --- The directory --- */

static int events_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	(void)node;
	attr_virtual(call->fs, 0555, st);
	*life = (struct life){ .entry = LIFE_STEADY, .attr = LIFE_STEADY };
	return 0;
}

static int events_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	if (strcmp(name, LIVE) == 0) {
		out->kind = &kind_events_live;
		return live_stat(call, dir, &out->st, &out->life);
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

static int events_list(struct call *call, struct node *dir, struct listing *out)
{
	struct atlock_place *place = listing_place(out);
	struct listed listed = { .out = out };
	int err;

	(void)dir;
	if (place->len == sizeof(LIVE) && memcmp(place->data, LIVE, sizeof(LIVE)) == 0)
		return 0;
	err = atlock_days(call->al, place, list_day, &listed);
	if (err < 0 || listed.full)
		return err;
	place->len = sizeof(LIVE);
	memcpy(place->data, LIVE, sizeof(LIVE));
	(void)listing_add(out, LIVE, S_IFLNK);
	return 0;
}

const struct kind kind_events = {
	.type = S_IFDIR,
	.hint = events_hint,
	.stat = events_stat,
	.lookup = events_lookup,
	.list = events_list,
};
