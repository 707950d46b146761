/*
 * wait/<lock>: a file for every possible lock, none of them listed. read(2) blocks until the lock is the caller's and
 * then returns the lock's text; write(2), which says how to wait, blocks as well.
 *
 * Neither the text nor its length is known before the grant. A size larger than the text makes the kernel ask for its
 * pages (sendfile(2), splice(2)), which it would not at size 0, and a short read ends the file. Tools take the size as
 * no more than a hint, as all sizes in /sys are; those that insist on it (tar, rsync) fail after the wait, loudly.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "attr.h"
#include "call_user.h"
#include "handle.h"
#include "pages.h"
#include "parked.h"
#include "path.h"
#include "permit.h"
#include "rows.h"
#include "steady.h"
#include "texts.h"
#include "why_lines.h"

#define WAIT_SIZE (1024U * 1024) /* more than any lock's text, and than the kernel's read-ahead */

static const char wait_hint[] =
	"nothing is kept in wait/: cat wait/<lock>, or write to it, waits until the lock is yours; rm <lock> gives it back";

static int wait_dir_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	return mirror_stat(call, node->dir, 0555, st, life);
}

/* Once the lock is granted, the size is that of its text. */
static int wait_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	struct handle *reader = node == NULL ? NULL : pages_reader(call, node);
	struct content *content = reader == NULL ? NULL : atomic_load(&reader->content);
	size_t size = WAIT_SIZE;

	if (content != NULL) {
		pthread_mutex_lock(&content->mutex);
		if (content_is_made(content))
			size = content->len;
		pthread_mutex_unlock(&content->mutex);
	}
	handle_drop(reader);
	attr_file(call->fs, 0666, size, st);
	st->st_blksize = WAIT_SIZE;
	*life = (struct life){ 0 };
	return 0;
}

static int wait_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	struct atlock_name lock;
	int err = path_kind(call, dir, name, &out->dir, &lock);

	if (err < 0)
		return err;
	if (err == ATLOCK_PATH_DIR) {
		out->kind = &kind_wait_dir;
		return mirror_stat(call, out->dir, 0555, &out->st, &out->life);
	}
	out->kind = &kind_wait;
	out->sized = true;
	return wait_stat(call, NULL, &out->st, &out->life);
}

/* `> wait/<lock>` truncates; touching it, or truncating it without writing, would look like waiting and is refused. */
static int wait_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which)
{
	(void)node, (void)want;
	if ((which & FUSE_SET_ATTR_OPEN) != 0)
		return handle_replace(handle);
	return call_refuse(call, -EPERM, ATLOCK_INVALID_REQUEST,
			   "nothing waits by touching: read a file in wait/, or write to it, to wait for its lock");
}

/*
 * Makes sure that the lock's text is there, from `at` on: it may have been dropped to save memory (texts.h), and is made
 * again. If the lock has changed since, or ended, the read cannot continue.
 */
static int text_need(struct call *call, struct node *node, struct handle *handle, struct content *content, size_t at)
{
	struct atlock_view view = { 0 };
	struct atlock_name name;
	char *text = NULL;
	size_t len = 0;
	int err;

	if (content->text != NULL || at >= content->len)
		return 0;
	err = path_node_lock(call, node, &name);
	if (err == 0)
		err = atlock_get(call->al, &name, &view);
	if (err == 0)
		text = caller_text(call, &view, &len);
	atlock_view_clear(&view);
	if (err < 0)
		return err;
	if (text == NULL || !texts_same(content, text, len)) {
		free(text);
		return call_refuse(call, -EIO, ATLOCK_INVALID_REQUEST,
				   "this text has changed since it was read in part: cat the lock itself");
	}
	content->text = text;
	texts_keep(call->fs->texts, content, handle->uid, len);
	return 0;
}

/* What park_answer_fn returns after a reply with this outcome. */
static int replied(int err)
{
	return err == 0 ? CALL_ANSWERED : PARK_GONE;
}

/* Returns the next part of the text, by how much was read and not by offset, as a pipe does. */
static int reply_text(struct call *call, struct content *content, size_t size)
{
	size_t left = content->len - content->pos;
	size_t n = size < left ? size : left;
	int err = fuse_reply_buf(call->req, n == 0 ? NULL : content->text + content->pos, n);

	content->pos += n;
	/* A text that was read to its end is freed. */
	if (content->pos == content->len && !content->paged && content->text != NULL)
		texts_drop(content);
	return replied(err);
}

/* The same for a page, by offset. Beyond the end: EIO, see pages.h. */
static int reply_page(struct call *call, struct content *content, size_t size, size_t off)
{
	size_t left = off < content->len ? content->len - off : 0;

	content->paged = true;
	if (off > content->len)
		return replied(fuse_reply_err(call->req, EIO));
	return replied(fuse_reply_buf(call->req, left == 0 ? NULL : content->text + off, size < left ? size : left));
}

/*
 * The lock may have ended between the grant and now: two calls of one holder got the grant, and the other gave it back.
 */
static int answer_text(struct call *call, struct node *node, struct handle *handle, size_t size, bool paged,
		       const struct atlock_grant *grant)
{
	struct content *content = NULL;
	struct atlock_view view = { 0 };
	struct atlock_name name;
	char *text = NULL;
	size_t len = 0;
	int err = path_node_lock(call, node, &name);

	if (err == 0)
		err = atlock_get(call->al, &name, &view);
	if (err == 1 || (err == 0 && view.token != grant->token))
		err = call_refuse(call, -ESTALE, ATLOCK_LOCK_EXPIRED, "%s was granted and has ended already",
				  node->component);
	if (err == 0) {
		text = caller_text(call, &view, &len);
		content = text == NULL ? NULL : handle_lock(handle);
		err = content == NULL ? -ENOMEM : 0;
	}
	atlock_view_clear(&view);
	if (content == NULL) {
		free(text);
		return err;
	}
	free(content->text);
	content->text = text;
	content->len = len;
	content->pos = 0;
	texts_keep(call->fs->texts, content, handle->uid, len);
	err = paged ? reply_page(call, content, size, 0) : reply_text(call, content, size);
	pthread_mutex_unlock(&content->mutex);
	return err;
}

static int answer_read(struct call *call, struct node *node, struct handle *handle, size_t size,
		       const struct atlock_grant *grant)
{
	return answer_text(call, node, handle, size, false, grant);
}

/* For the first page: no other page waits. */
static int answer_page(struct call *call, struct node *node, struct handle *handle, size_t size,
		       const struct atlock_grant *grant)
{
	return answer_text(call, node, handle, size, true, grant);
}

static int answer_write(struct call *call, struct node *node, struct handle *handle, size_t size,
			const struct atlock_grant *grant)
{
	(void)node;
	handle->token = grant->token;
	return replied(fuse_reply_write(call->req, size));
}

/* Costs a reader no memory. */
static void asked_set(struct handle *handle)
{
	struct content *content = handle_writes(handle) ? handle_lock(handle) : NULL;

	if (content == NULL)
		return;
	content->asked = true;
	pthread_mutex_unlock(&content->mutex);
}

/* Whether the file is open for writing, if need be with O_TRUNC, and no read or write has asked for the lock. */
static bool is_unasked(struct handle *handle, bool truncated)
{
	struct content *content = handle_writes(handle) ? handle_lock(handle) : NULL;
	bool unasked = false;

	if (content != NULL) {
		unasked = !content->asked && (!truncated || content->replace);
		pthread_mutex_unlock(&content->mutex);
	}
	return unasked;
}

/* Takes the lock if it is free, as O_NONBLOCK asks. */
static int wait_try(struct call *call, const struct atlock_request *req, struct node *node, struct handle *handle,
		    size_t size, park_answer_fn *answer)
{
	struct atlock_grant grant = { 0 };
	int err = atlock_acquire(call->al, req, &grant, &call->why);

	if (err < 0)
		return call->why.code == ATLOCK_LOCK_EXISTS ? -EAGAIN : err;
	return park_granted(call, req, &grant, node, handle, size, answer);
}

static int wait_for(struct call *call, struct atlock_request req, struct node *node, struct handle *handle, size_t size,
		    park_answer_fn *answer)
{
	struct atlock_caller caller;
	struct atlock_name name;
	int err = caller_opened(call, handle);

	asked_set(handle);
	if (err == 0)
		err = path_node_lock(call, node, &name);
	if (err == 0)
		err = permit_change(call, node->parent);
	if (err == 0)
		err = caller_identify(call, name.who, &caller);
	if (err < 0)
		return err;
	req.name = &name;
	req.caller = &caller;
	if ((handle->flags & O_NONBLOCK) != 0 || call->paged)
		return wait_try(call, &req, node, handle, size, answer);
	return park_wait(call, &req, node, handle, size, answer);
}

/*
 * A page is never waited for: the process that touches it may hold a directory's lock in the kernel meanwhile
 * (getdents(2) into a mapping of this file), and all other users of that directory would wait. The lock is taken if it
 * is free. If not, sendfile(2) fails, after which cat and copyfile fall back to read(2), and wait; a mapping gets
 * SIGBUS.
 */
static int wait_page(struct call *call, struct node *node, struct handle *handle, size_t size, off_t off)
{
	int err = off > 0 ? -EIO
			  : wait_for(call, (struct atlock_request){ .priority = ATLOCK_NORMAL }, node, handle, size,
				     answer_page);

	return err == -EAGAIN ? -EIO : err;
}

static int wait_read(struct call *call, struct node *node, struct handle *handle, size_t size, off_t off)
{
	struct atlock_request req = { .priority = ATLOCK_NORMAL };
	struct content *content = atomic_load(&handle->content);
	int err = 0;

	if (content != NULL) {
		pthread_mutex_lock(&content->mutex);
		if (content_is_made(content)) {
			err = text_need(call, node, handle, content, call->paged ? (size_t)off : content->pos);
			if (err == 0)
				err = call->paged ? reply_page(call, content, size, (size_t)off)
						  : reply_text(call, content, size);
		}
		pthread_mutex_unlock(&content->mutex);
	}
	if (err != 0)
		return err == PARK_GONE ? CALL_ANSWERED : err;
	return call->paged ? wait_page(call, node, handle, size, off)
			   : wait_for(call, req, node, handle, size, answer_read);
}

/*
 * bash writes each line of a printf separately. The first write has waited; later ones on the same open file change the
 * lock that it got.
 */
static int wait_more(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	struct atlock_caller caller;
	struct atlock_name name;
	int err = caller_opened(call, handle);

	if (err == 0)
		err = path_node_lock(call, node, &name);
	if (err == 0)
		err = caller_identify(call, name.who, &caller);
	if (err < 0)
		return err;
	return atlock_write(
		call->al,
		&(struct atlock_request){
			.name = &name, .caller = &caller, .token = handle->token, .text = data, .text_len = len },
		&call->why);
}

static int wait_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	struct atlock_request req = { .priority = ATLOCK_NORMAL, .text = data, .text_len = len };

	return handle->token != 0 ? wait_more(call, node, handle, data, len)
				  : wait_for(call, req, node, handle, len, answer_write);
}

/*
 * Closing a file that was opened for writing, and through which no lock was asked for, fails: `cat empty > wait/<lock>`
 * must not look as if it had waited. A shell closes its own copy of a redirection before the command writes, and ignores
 * the error; so `why` learns of it only when the last copy of a truncated file is closed. Other refusals have a line.
 */
static int wait_flush(struct call *call, struct node *node, struct handle *handle)
{
	(void)node;
	if (!is_unasked(handle, false))
		return 0;
	call_told(call);
	return -ENODATA;
}

static void wait_release(struct call *call, struct node *node, struct handle *handle)
{
	const struct fuse_ctx opener = { .uid = handle->uid, .gid = handle->gid, .pid = handle->pid };

	if (!is_unasked(handle, true))
		return;
	(void)call_refuse(call, -ENODATA, ATLOCK_INVALID_REQUEST,
			  "nothing was written to wait/.../%s, so nothing waited for the lock: write a line such as "
			  "priority=normal, or read the file",
			  node->component);
	why_record(call->fs, &opener, &call->why);
}

const struct kind kind_wait_dir = {
	.type = S_IFDIR,
	.hint = wait_hint,
	.mirror = true,
	.stat = wait_dir_stat,
	.lookup = wait_lookup,
};

const struct kind kind_wait = {
	.type = S_IFREG,
	.stream = true,
	.hint = wait_hint,
	.stat = wait_stat,
	.set = wait_set,
	.read = wait_read,
	.write = wait_write,
	.flush = wait_flush,
	.release = wait_release,
};
