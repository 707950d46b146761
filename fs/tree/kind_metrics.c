/*
 * metrics/: counters for Prometheus. node_exporter's textfile collector can be pointed at the directory. The file is
 * made when it is opened, and its time is now: it is never stale.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attr.h"
#include "handle.h"
#include "listing.h"
#include "rows.h"
#include "steady.h"

#define METRICS_FILE "atlockfs.prom"

static const char metrics_hint[] = "metrics are written by the file system alone, whenever they are read";

static int metrics_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	size_t len = 0;
	char *text = atlock_metrics_text(call->al, &len);

	(void)node;
	if (text == NULL)
		return -EIO;
	free(text);
	attr_passing(call->fs, 0444, len, st);
	*life = (struct life){ 0 };
	return 0;
}

static int metrics_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	(void)node, (void)handle;
	*text = atlock_metrics_text(call->al, len);
	return *text == NULL ? -EIO : 0;
}

static int metrics_dir_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	(void)dir;
	if (strcmp(name, METRICS_FILE) != 0)
		return -ENOENT;
	out->kind = &kind_metrics;
	attr_passing(call->fs, 0444, 0, &out->st);
	return 0;
}

static int metrics_dir_list(struct call *call, struct node *dir, struct listing *out)
{
	(void)call, (void)dir;
	if (listing_index(out) == 0)
		(void)listing_add_index(out, 0, METRICS_FILE, S_IFREG);
	return 0;
}

const struct kind kind_metrics_dir = {
	.type = S_IFDIR,
	.mode = 0755,
	.hint = metrics_hint,
	.stat = steady_stat,
	.lookup = metrics_dir_lookup,
	.list = metrics_dir_list,
};

const struct kind kind_metrics = {
	.type = S_IFREG,
	.hint = metrics_hint,
	.passing = true,
	.moment = true,
	.stat = metrics_stat,
	.text = metrics_text,
};
