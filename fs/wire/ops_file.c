/* Open files: create to release, and locks on them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "call_user.h"
#include "entry.h"
#include "flocked.h"
#include "handle.h"
#include "ops.h"
#include "pages.h"
#include "permit.h"
#include "refuse.h"
#include "reply.h"
#include "texts.h"
#include "why_lines.h"

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	const struct kind *kind;
	int err;
	struct call *call = ops_begin(req, parent, name, ACT_MAKE, &err);

	if (call == NULL)
		return;
	kind = call->node->kind;
	if (kind->create == NULL) {
		call_end(call, refuse_lacking(call, err));
		return;
	}
	call->handle = handle_new(call, fi->flags, node_ino(call->node, name));
	call->found = (struct found){ .dir = NODE_NO_DIR };
	if (call->handle == NULL)
		err = -ENOMEM;
	if (err == 0)
		err = kind->create(call, call->node, call->name, mode, call->handle, &call->found);
	entry_created(call, err);
}

/* A file that cannot be written cannot be opened for writing: `> README` must not seem to work. */
static int file_open(struct call *call, struct node *node, struct handle *handle)
{
	int err = permit(call, node, permit_want(handle->flags));

	if (handle_writes(handle) && node->kind->write == NULL)
		return refuse_lacking(call, err);
	if (err == 0 && node->kind->open != NULL)
		err = node->kind->open(call, node, handle);
	if (err == 0 && handle_reads(handle))
		return pages_open(call, node, handle);
	/* What it does next moves the node's size in the kernel, in the middle of the read of another that is given it. */
	if (err == 0 && node->own)
		pages_written(node);
	node_land(node, call->ctx->pid);
	return err;
}

void op_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct node *node = node_of(fuse_req_userdata(req), id);
	struct call *call = call_begin(req, node, NULL, (permit_want(fi->flags) & W_OK) != 0 ? ACT_WRITE : ACT_LOOK);
	struct handle *handle;
	int err;

	if (call == NULL)
		return;
	handle = handle_new(call, fi->flags, node->ino);
	err = handle == NULL ? -ENOMEM : file_open(call, node, handle);
	if (err < 0) {
		handle_drop(handle);
		call_end(call, err);
		return;
	}
	entry_open(fi, node->kind, handle, false);
	if (fuse_reply_open(req, fi) == -ENOENT)
		entry_unopen(call, node, handle, NULL);
	call_end(call, CALL_ANSWERED);
}

/* Call with the content's mutex held: makes the text anew, for the user who opened the file. */
static int text_make(struct call *call, struct node *node, struct handle *handle, struct content *content)
{
	char *text = NULL;
	size_t len = 0;
	int err = node->kind->text(call, node, handle, &text, &len);

	if (err < 0)
		return err;
	free(content->text);
	content->text = text;
	content->len = len;
	clock_gettime(CLOCK_REALTIME, &content->made);
	content->done = false;
	texts_keep(call->fs->texts, content, handle->uid, len);
	return 0;
}

/* Makes a text again that was dropped to save memory. If it has changed since, the read cannot continue. */
static int text_again(struct call *call, struct node *node, struct handle *handle, struct content *content)
{
	char *text = NULL;
	size_t len = 0;
	int err = node->kind->text(call, node, handle, &text, &len);

	if (err < 0)
		return err;
	if (!texts_same(content, text, len)) {
		free(text);
		return call_refuse(
			call, -EIO, ATLOCK_INVALID_REQUEST,
			"this text has changed since it was read in part: open the file again, and read it to its end");
	}
	content->text = text;
	texts_keep(call->fs->texts, content, handle->uid, len);
	return 0;
}

/*
 * The text for a read from offset 0. It is made anew, except: a text whose size was reported a moment ago stays, and so
 * does a text of which the page cache has parts, unless its lock has ended. A file opened while a lock was free has no
 * holder whose text it could keep.
 */
static int text_begin(struct call *call, struct node *node, struct handle *handle, struct content *content)
{
	bool young = content_is_told(content);
	char *text = NULL;
	size_t len = 0;
	int err = 0;

	if (!content_is_made(content) || !(young || call->paged) || (node->kind->ends && handle->token == 0))
		return text_make(call, node, handle, content);
	if (content->text == NULL)
		return text_again(call, node, handle, content);
	if (node->kind->ends)
		err = node->kind->text(call, node, handle, &text, &len);
	free(text);
	return err;
}

/* Call with the content's mutex held: makes sure that the text for this offset is there. */
static int text_need(struct call *call, struct node *node, struct handle *handle, struct content *content, size_t off)
{
	if (off == 0 || !content_is_made(content))
		return text_begin(call, node, handle, content);
	/* A reader at the end reads once more to find the end of file. */
	if (content->text != NULL || off >= content->len)
		return 0;
	return text_again(call, node, handle, content);
}

static int read_text(struct call *call, struct node *node, struct handle *handle, size_t size, size_t off)
{
	struct content *content = handle_lock(handle);
	size_t left;
	int err;

	if (content == NULL)
		return -ENOMEM;
	content->paged |= call->paged;
	err = text_need(call, node, handle, content, off);
	if (err == 0 && !call->paged) {
		content->sized = false;
		content->done = off + size >= content->len;
	}
	/* The kernel stops at the size that it was told, and would truncate the text. */
	if (err == 0 && call->paged && (!pages_fit(node, content->len) || off > content->len))
		err = -EIO;
	if (err == 0) {
		left = off < content->len ? content->len - off : 0;
		fuse_reply_buf(call->req, left == 0 ? NULL : content->text + off, size < left ? size : left);
		err = CALL_ANSWERED;
	}
	pthread_mutex_unlock(&content->mutex);
	return err;
}

/*
 * A lock that ended meanwhile does not get size 0: programs that rely on the size would not read, and so not get the
 * error.
 */
static void size_text(struct call *call, struct node *node, struct handle *reader, struct stat *st)
{
	struct content *content = handle_lock(reader);
	bool middle;
	int err;

	if (content == NULL)
		return;
	/* A reader in the middle of a text keeps it; tar checks at the end whether the size is still what it read. */
	middle = content_is_made(content) && !content->sized &&
		 (!content->done || (node->kind->passing && content_is_young(content)));
	err = middle ? 0 : text_begin(call, node, reader, content);
	if (err == -ESTALE)
		st->st_size = content->len > 0 ? (off_t)content->len : 1;
	if (err == 0) {
		content->sized = !middle;
		st->st_size = (off_t)content->len;
		st->st_blocks = (blkcnt_t)((content->len + 511) / 512);
		if (node->kind->moment)
			st->st_mtim = st->st_ctim = content->made;
	}
	call->why.text[0] = '\0';
	pthread_mutex_unlock(&content->mutex);
}

void ops_size(struct call *call, struct node *node, struct stat *st)
{
	struct handle *reader = node->kind->text == NULL ? NULL : pages_reader(call, node);
	const struct fuse_ctx *caller = call->ctx;

	if (reader == NULL)
		return;
	caller_act_as_opener(call, reader);
	size_text(call, node, reader, st);
	call->ctx = caller;
	handle_drop(reader);
}

/* The call may end, and the kernel close the file, before the row's operation returns: so the handle is held. */
void op_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct handle *handle = handle_hold(handle_of(fuse_req_userdata(req), fi));
	struct node *node = node_of(fuse_req_userdata(req), id);
	struct call *call = call_begin(req, node, NULL, ACT_LOOK);
	int err = handle == NULL ? -EBADF : 0;

	if (call != NULL && err == 0) {
		caller_act_as_opener(call, handle);
		/* The kernel sets lock_owner for read(2), not for reads into its page cache. */
		call->paged = fi->lock_owner == 0;
		if (node->kind->read == NULL)
			err = read_text(call, node, handle, size, (size_t)off);
		else
			err = node->kind->read(call, node, handle, size, off);
	}
	if (call != NULL)
		call_end(call, err);
	handle_drop(handle);
}

/* After a write through the same file, reads must show a new text. */
static void text_drop(struct handle *handle)
{
	struct content *content = handle_lock(handle);

	if (content == NULL)
		return;
	texts_drop(content);
	content->dropped = false;
	content->len = 0;
	content->sized = false;
	pthread_mutex_unlock(&content->mutex);
}

static int file_write(struct call *call, struct handle *handle, const char *data, size_t size)
{
	struct node *node = call->node;
	int err;

	if (!handle_reads(handle))
		pages_written(node);
	err = node->kind->write == NULL ? refuse_lacking(call, 0) : node->kind->write(call, node, handle, data, size);
	if (err != 0)
		return err;
	if (handle_reads(handle) && node->kind->text != NULL)
		text_drop(handle);
	fuse_reply_write(call->req, size);
	return CALL_ANSWERED;
}

void op_write(fuse_req_t req, fuse_ino_t id, const char *data, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct handle *handle = handle_hold(handle_of(fuse_req_userdata(req), fi));
	struct call *call = call_begin(req, node_of(fuse_req_userdata(req), id), NULL, ACT_WRITE);

	(void)off;
	if (call != NULL)
		call_end(call, handle == NULL ? -EBADF : file_write(call, handle, data, size));
	handle_drop(handle);
}

void op_flush(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fuse_req_userdata(req), fi);
	struct node *node = node_of(fuse_req_userdata(req), id);
	struct call *call = call_begin(req, node, NULL, ACT_WRITE);

	if (call != NULL)
		call_end(call, handle == NULL || node->kind->flush == NULL ? 0 : node->kind->flush(call, node, handle));
}

/* No caller waits for a RELEASE, and it carries no credentials: its error goes to the `why` of the opener. */
static void tell_opener(struct call *call, const struct handle *handle, int err)
{
	const struct atlock_caller *caller = handle_caller(handle);
	struct fuse_ctx opener = { 0 };

	refuse_explain(call, err);
	if (caller == NULL || call->why.text[0] == '\0')
		return;
	opener.uid = caller->uid;
	opener.pid = caller->pid;
	why_record(call->fs, &opener, &call->why);
}

bool ops_seen(struct fs *fs, const struct fuse_buf *buf)
{
	const struct fuse_in_header *header = buf->mem;
	const struct fuse_release_in *in = (const void *)(header + 1);
	struct handle *handle = NULL;

	if (header->opcode == FUSE_RELEASE && buf->size >= sizeof(*header) + sizeof(*in))
		handle = handle_of(fs, &(struct fuse_file_info){ .fh = in->fh });
	return handle == NULL || flocked_closed(handle, buf);
}

static int file_release(struct call *call, struct handle *handle)
{
	struct node *node = call->node;
	int err = node->kind->flush == NULL ? 0 : node->kind->flush(call, node, handle);

	if (err < 0)
		tell_opener(call, handle, err);
	if (node->kind->release != NULL)
		node->kind->release(call, node, handle);
	if (handle_reads(handle))
		pages_close(call, node, handle);
	handle_drop(handle);
	return 0;
}

void op_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fuse_req_userdata(req), fi);
	struct call *call = call_begin(req, node_of(fuse_req_userdata(req), id), NULL, ACT_WRITE);

	if (call != NULL)
		call_end(call, handle == NULL ? -EBADF : file_release(call, handle));
}

/* Nothing to do: every change was durable before it was answered. */
void op_fsync(fuse_req_t req, fuse_ino_t id, int datasync, struct fuse_file_info *fi)
{
	(void)id, (void)datasync, (void)fi;
	fuse_reply_err(req, 0);
}

/* The handle is held as in op_read(). */
static void flock_now(struct call *call)
{
	struct handle *handle = handle_hold(call->handle);
	const struct kind *kind = call->node->kind;

	call_end(call, kind->flock == NULL ? -EOPNOTSUPP : kind->flock(call, call->node, handle, call->flags));
	handle_drop(handle);
}

void op_flock(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, int op)
{
	struct call *call = call_begin(req, node_of(fuse_req_userdata(req), id), NULL, ACT_FLOCK);

	if (call == NULL)
		return;
	call->handle = handle_of(call->fs, fi);
	call->flags = op;
	call->again = flock_now;
	if (call->handle == NULL)
		call_end(call, -EBADF);
	else
		flock_now(call);
}

/*
 * fcntl locks end when any descriptor of the file is closed, which no lock of ours may. Without these operations the
 * kernel would grant such locks itself.
 */
static void refuse_fcntl(fuse_req_t req, fuse_ino_t id)
{
	struct call *call = call_begin(req, node_of(fuse_req_userdata(req), id), NULL, ACT_FLOCK);

	if (call != NULL)
		call_end(call,
			 call_refuse(call, -EOPNOTSUPP, ATLOCK_INVALID_REQUEST,
				     "fcntl and lockf locks are not supported: use flock(2), or create the file"));
}

void op_getlk(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, struct flock *lock)
{
	(void)fi, (void)lock;
	refuse_fcntl(req, id);
}

void op_setlk(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, struct flock *lock, int sleep)
{
	(void)fi, (void)lock, (void)sleep;
	refuse_fcntl(req, id);
}
