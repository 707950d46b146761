/*
 * config/: one file per option. Reading shows its value; a write by an administrator is the whole new value, whatever
 * the offset. Owner and mode cannot express who is an administrator, so the row checks permissions itself.
 */
#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attr.h"
#include "call_user.h"
#include "handle.h"
#include "listing.h"
#include "rows.h"
#include "steady.h"

#define OPTION_TEXT 512

/* The option's value and a newline; its length, or -ENOENT. */
static int option_print(struct call *call, const char *name, char out[OPTION_TEXT])
{
	struct atlock_options options;
	int err;

	atlock_options_read(call->al, &options);
	err = atlock_option_get(&options, name, out, OPTION_TEXT - 1);
	if (err < 0)
		return err;
	strlcat(out, "\n", OPTION_TEXT);
	return (int)strlen(out);
}

static int option_attr(struct call *call, const char *name, struct stat *st, struct life *life)
{
	char text[OPTION_TEXT];
	int len = option_print(call, name, text);

	if (len < 0)
		return len;
	attr_file(call->fs, 0644, (size_t)len, st);
	*life = (struct life){ 0 };
	return 0;
}

static int option_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	return option_attr(call, node->component, st, life);
}

static int option_may_read(struct call *call, const struct node *node, const struct handle *handle)
{
	struct atlock_caller caller;
	int err = caller_opener(call, handle, &caller);

	return err < 0 ? err : atlock_may_read_option(call->al, &caller, node->component, &call->why);
}

/* Refuses at open(2), not only at read(2) or write(2). */
static int option_open(struct call *call, struct node *node, struct handle *handle)
{
	int err = caller_keep(call, handle);

	if (err == 0 && handle_reads(handle))
		err = option_may_read(call, node, handle);
	if (err < 0 || !handle_writes(handle))
		return err;
	return atlock_may_configure(call->al, handle_caller(handle), node->component, &call->why);
}

/* Asks again: the value may be another than when it was opened. */
static int option_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	char value[OPTION_TEXT];
	int n = option_may_read(call, node, handle);

	if (n == 0)
		n = option_print(call, node->component, value);
	if (n < 0)
		return n;
	*len = (size_t)n;
	*text = strdup(value);
	return *text == NULL ? -ENOMEM : 0;
}

static int option_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	const struct atlock_caller *caller = handle_caller(handle);
	char value[OPTION_TEXT];

	if (caller == NULL)
		return -EBADF;
	if (len > 0 && data[len - 1] == '\n')
		len--;
	if (len >= sizeof(value) || memchr(data, '\0', len) != NULL || memchr(data, '\n', len) != NULL)
		return call_refuse(call, -EINVAL, ATLOCK_INVALID_REQUEST, "the value of %s is one line of text",
				   node->component);
	memcpy(value, data, len);
	value[len] = '\0';
	return atlock_configure(call->al, caller, node->component, value, &call->why);
}

/* Truncating does nothing yet: in `> f` the value follows. */
static int option_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which)
{
	struct atlock_caller caller;
	int err = caller_opener(call, handle, &caller);

	if (err == 0)
		err = atlock_may_configure(call->al, &caller, node->component, &call->why);
	if (err == 0 && ((which & ~(FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_OPEN)) != 0 || want->st_size != 0))
		err = call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
				  "only the value of an option can be changed: write it");
	return err;
}

const struct kind kind_option = {
	.type = S_IFREG,
	.hint = "its value is changed by writing another to it, by an administrator",
	.permits = true,
	.stat = option_stat,
	.set = option_set,
	.open = option_open,
	.text = option_text,
	.write = option_write,
};

/* --- The directory --- */

static int config_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	(void)dir;
	out->kind = &kind_option;
	return option_attr(call, name, &out->st, &out->life);
}

static int config_list(struct call *call, struct node *dir, struct listing *out)
{
	const char *name;
	int full = 0;

	(void)call, (void)dir;
	for (size_t i = listing_index(out); full == 0 && (name = atlock_option_name(i, NULL)) != NULL; i++)
		full = listing_add_index(out, i, name, S_IFREG);
	return 0;
}

/* Most likely a typing error: the manager's option table says which option was meant. */
static int config_create(struct call *call, struct node *dir, const char *name, mode_t mode, struct handle *handle,
			 struct found *out)
{
	struct atlock_options options;

	(void)dir, (void)mode, (void)handle, (void)out;
	atlock_options_init(&options);
	atlock_option_set(&options, name, NULL, &call->why);
	return -EPERM;
}

static int config_unlink(struct call *call, struct node *dir, const char *name)
{
	(void)dir;
	return call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
			   "%s is always there: write another value to change it", name);
}

const struct kind kind_config = {
	.type = S_IFDIR,
	.mode = 0755,
	.hint = "every option has its file: echo <value> > config/<option>, by an administrator, changes it",
	.stat = steady_stat,
	.lookup = config_lookup,
	.list = config_list,
	.create = config_create,
	.unlink = config_unlink,
};
