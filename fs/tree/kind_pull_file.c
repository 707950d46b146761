/*
 * The files of a pull request: head, meta, projects.tsv, summary. One write call is one request, all or nothing. If a
 * full block shows that a buffered writer was cut off, all of its text waits for the next write, or for close(2), which
 * may then return its error: so a long table is still one request. Offsets mean nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attr.h"
#include "call_user.h"
#include "handle.h"
#include "pull_row.h"
#include "rows.h"
#include "texts.h"

static const char *const files[] = {
	[ATLOCK_PULL_HEAD] = "head",
	[ATLOCK_PULL_META] = "meta",
	[ATLOCK_PULL_PROJECTS] = "projects.tsv",
	[ATLOCK_PULL_SUMMARY] = "summary",
};

static enum atlock_pull_text file_of(const char *name)
{
	size_t i = 0;

	while (i < ATLOCK_PULL_SUMMARY && strcmp(files[i], name) != 0)
		i++;
	return (enum atlock_pull_text)i;
}

int pull_file_stat(struct call *call, struct node *dir, const char *name, struct stat *st, struct life *life)
{
	struct atlock_pull_name pull;
	char *text = NULL;
	size_t len = 0;
	int err = pull_of(call, dir, &pull);

	if (err == 0)
		err = atlock_pull_read(call->al, &pull, file_of(name), &text, &len, &call->why);
	free(text);
	attr_file(call->fs, file_of(name) == ATLOCK_PULL_SUMMARY ? 0444 : 0666, len, st);
	*life = (struct life){ 0 };
	return err;
}

static int file_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	return pull_file_stat(call, node->parent, node->component, st, life);
}

int pull_file_unlink(struct call *call, struct node *dir, const char *name)
{
	enum atlock_pull_text what = file_of(name);
	struct atlock_pull_name pull;
	struct atlock_caller caller;
	int err = strcmp(files[what], name) != 0 ? -EISDIR : pull_of(call, dir, &pull);

	/* A summary exists as long as the data it is made of. */
	if (err < 0 || what == ATLOCK_PULL_SUMMARY)
		return err;
	err = caller_user(call, &caller);
	return err < 0 ? err : atlock_pull_clear(call->al, &caller, &pull, what, &call->why);
}

static int file_open(struct call *call, struct node *node, struct handle *handle)
{
	if (handle_writes(handle) && file_of(node->component) == ATLOCK_PULL_SUMMARY)
		return call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED, "%s is written by the file system alone",
				   node->component);
	return caller_keep(call, handle);
}

static int file_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	struct atlock_pull_name pull;
	int err = pull_of(call, node, &pull);

	(void)handle;
	return err < 0 ? err : atlock_pull_read(call->al, &pull, file_of(node->component), text, len, &call->why);
}

static int file_apply(struct call *call, struct node *node, struct content *content, const char *text, size_t len)
{
	struct atlock_pull_name pull;
	int err = pull_of(call, node, &pull);

	if (err < 0)
		return err;
	if (content->caller == NULL)
		return -EBADF;
	err = atlock_pull_write(call->al, content->caller, &pull, file_of(node->component), text, len, content->replace,
				&call->why);
	if (err == 0)
		content->replace = false;
	return err;
}

/* Applies the text that waited and removes it from the open file; it is not tried again, even if it was refused. */
static int tail_apply(struct call *call, struct node *node, const struct handle *handle, struct content *content)
{
	char *text = content->tail;
	size_t len = content->tail_len;
	int err;

	(void)texts_tail(handle, content, 0);
	content->tail = NULL;
	content->tail_len = 0;
	err = file_apply(call, node, content, text, len);
	free(text);
	return err;
}

/*
 * Whether more of the same text may follow: buffered writers cut at a full block, and the kernel splits a write call of
 * more than FS_WRITE_MAX into pieces, of which the first is shorter if the caller's buffer does not begin at a page.
 */
static bool write_goes_on(size_t len)
{
	return len % FS_WRITE_BLOCK == 0 || len > FS_WRITE_MAX - FS_WRITE_BLOCK;
}

/*
 * If a write call is split and a later piece fails, write(2) returns the bytes written so far, without the error. The
 * error is reported by the caller's next call, which goes on with the rest, or by close(2).
 */
static int refusal_take(struct call *call, struct content *content)
{
	int err = content->refused;

	/* `why` has had the reason since that piece failed. */
	if (err < 0)
		call_told(call);
	content->refused = 0;
	return err;
}

/* Adds to the text that waits. */
static int tail_add(struct call *call, const struct handle *handle, struct content *content, const char *data,
		    size_t len)
{
	size_t sum = content->tail_len + len;
	char *text;
	int err;

	if (sum > ATLOCK_PULL_BYTES)
		return call_refuse(call, -EDQUOT, ATLOCK_QUOTA, "at most %d bytes at once", ATLOCK_PULL_BYTES);
	text = realloc(content->tail, sum);
	if (text == NULL)
		return -ENOMEM;
	content->tail = text;
	err = texts_tail(handle, content, sum);
	if (err < 0)
		return err == -EDQUOT ? texts_tail_refuse(call) : err;
	memcpy(text + content->tail_len, data, len);
	content->tail_len = sum;
	return 0;
}

static int file_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	struct content *content;
	int err;

	if (len == 0)
		return 0;
	content = handle_lock(handle);
	if (content == NULL)
		return -ENOMEM;
	err = refusal_take(call, content);
	if (err < 0)
		goto done;
	err = tail_add(call, handle, content, data, len);
	if (err == 0 && !write_goes_on(len)) {
		bool pieces = content->tail_len > len;

		err = tail_apply(call, node, handle, content);
		content->refused = pieces ? err : 0;
	}
done:
	pthread_mutex_unlock(&content->mutex);
	return err;
}

static int file_flush(struct call *call, struct node *node, struct handle *handle)
{
	struct content *content = handle_lock(handle);
	int err;

	if (content == NULL)
		return -ENOMEM;
	err = refusal_take(call, content);
	if (err == 0 && content->tail_len > 0)
		err = tail_apply(call, node, handle, content);
	pthread_mutex_unlock(&content->mutex);
	return err;
}

/* Truncating is part of writing; the file has no times of its own. */
static int file_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which)
{
	if ((which & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0)
		return -EPERM;
	if ((which & FUSE_SET_ATTR_SIZE) != 0 && want->st_size == 0)
		return handle_replace(handle);
	return call_refuse(call, -EINVAL, ATLOCK_INVALID_REQUEST, "%s changes when something is written into it",
			   node->component);
}

const struct kind kind_pull_file = {
	.type = S_IFREG,
	.hint = "head, meta and projects.tsv are changed by writing to them; the summary follows from those",
	.stat = file_stat,
	.set = file_set,
	.open = file_open,
	.text = file_text,
	.write = file_write,
	.flush = file_flush,
};
