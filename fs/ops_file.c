/* Open files: create to release, and locks on them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "caller.h"
#include "handle.h"
#include "lock.h"
#include "ops.h"
#include "permit.h"
#include "refuse.h"
#include "why.h"

/*
 * Whether close(2) waits for an answer. It is a request more for everybody who only takes a lock; whoever opens to write says
 * so (`>`, `>>`), and what `set -C; >` leaves unsaid is said when the file is released. Whoever opens a lock to read may have
 * it by flock(2), and then it must be known that the end of that is near; see ending.h.
 */
static bool file_flushes(const struct kind *kind, const struct handle *handle)
{
	if (!handle_writes(handle))
		return kind->flush != NULL && kind->flock != NULL;
	return kind->flush != NULL && (handle->flags & (O_TRUNC | O_APPEND)) != 0;
}

/*
 * Every read comes to us: sizes are those of a moment ago and some reads wait. wait/ has no offsets, as a pipe has none.
 */
static void file_info_set(struct fuse_file_info *fi, const struct kind *kind, const struct handle *handle)
{
	fi->fh = (uint64_t)(uintptr_t)handle;
	fi->direct_io = 1;
	fi->nonseekable = kind == &kind_wait;
	fi->noflush = !file_flushes(kind, handle);
}

void ops_created(struct call *call, struct handle *handle, const struct found *found, int err)
{
	struct fuse_entry_param entry = { 0 };
	struct fuse_file_info fi = { 0 };

	if (err == 0)
		err = ops_entry(call, call->node, call->name, found, &entry);
	if (err != 0) {
		handle_drop(handle);
		call_fail(call, err);
		return;
	}
	file_info_set(&fi, found->kind, handle);
	if (fuse_reply_create(call->req, &entry, &fi) == -ENOENT) {
		ops_entry_drop(call, &entry);
		handle_drop(handle);
	}
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	struct found found = { .dir = NODE_NO_DIR };
	struct handle *handle;
	struct call call;
	int err = ops_begin(&call, req, parent, name, ACT_MAKE);
	const struct kind *kind = call.node->kind;

	if (kind->create == NULL) {
		call_fail(&call, refuse_lacking(&call, err));
		return;
	}
	handle = handle_new(&call, fi->flags, node_ino(call.node, name));
	if (handle == NULL)
		err = -ENOMEM;
	else if (err == 0)
		err = kind->create(&call, call.node, name, mode, handle, &found);
	if (err != CALL_PARKED)
		ops_created(&call, handle, &found, err);
}

/* What cannot be written is not opened for it: `> README` must not seem to work. */
static int file_open(struct call *call, struct node *node, struct handle *handle)
{
	int err = permit_open(call, node, handle->flags);

	if (handle_writes(handle) && node->kind->write == NULL)
		return refuse_lacking(call, err);
	return err < 0 || node->kind->open == NULL ? err : node->kind->open(call, node, handle);
}

void op_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct handle *handle;
	struct node *node;
	struct call call;
	int err;

	node = node_of(fuse_req_userdata(req), id);
	call_begin(&call, req, node, NULL, (permit_want(fi->flags) & W_OK) != 0 ? ACT_WRITE : ACT_LOOK);
	handle = handle_new(&call, fi->flags, node->ino);
	err = handle == NULL ? -ENOMEM : file_open(&call, node, handle);
	if (err < 0) {
		handle_drop(handle);
		call_fail(&call, err);
		return;
	}
	file_info_set(fi, node->kind, handle);
	if (fuse_reply_open(req, fi) == -ENOENT)
		handle_drop(handle);
}

static void read_text(struct call *call, struct node *node, struct handle *handle, size_t size, size_t off)
{
	struct content *content = handle_lock(handle);
	struct fuse_ctx opener;
	char *text = NULL;
	size_t len = 0;
	int err = 0;

	if (content == NULL) {
		call_fail(call, -ENOMEM);
		return;
	}
	caller_act_for(call, handle, &opener);
	if (off == 0 || content->text == NULL) {
		err = node->kind->text(call, node, handle, &text, &len);
		if (err == 0) {
			free(content->text);
			content->text = text;
			content->len = len;
		}
	}
	if (err < 0)
		call_fail(call, err);
	else if (off >= content->len)
		fuse_reply_buf(call->req, NULL, 0);
	else
		fuse_reply_buf(call->req, content->text + off, size < content->len - off ? size : content->len - off);
	pthread_mutex_unlock(&content->mutex);
}

void op_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct handle *handle = handle_hold(handle_of(fi));
	struct fuse_ctx opener;
	struct node *node;
	struct call call;
	int err = 0;

	node = node_of(fuse_req_userdata(req), id);
	call_begin(&call, req, node, NULL, ACT_LOOK);
	caller_act_as_opener(&call, handle, &opener);
	if (node->kind->read == NULL)
		read_text(&call, node, handle, size, (size_t)off);
	else
		err = node->kind->read(&call, node, handle, size, off);
	if (err < 0)
		call_fail(&call, err);
	handle_drop(handle);
}

void op_write(fuse_req_t req, fuse_ino_t id, const char *data, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct handle *handle = handle_hold(handle_of(fi));
	struct node *node;
	struct call call;
	int err;

	(void)off;
	node = node_of(fuse_req_userdata(req), id);
	call_begin(&call, req, node, NULL, ACT_WRITE);
	err = node->kind->write == NULL ? refuse_lacking(&call, 0) : node->kind->write(&call, node, handle, data, size);
	if (err < 0)
		call_fail(&call, err);
	else if (err != CALL_PARKED)
		fuse_reply_write(req, size);
	handle_drop(handle);
}

void op_flush(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct node *node;
	struct call call;

	node = node_of(fuse_req_userdata(req), id);
	call_begin(&call, req, node, NULL, ACT_WRITE);
	call_done(&call, node->kind->flush == NULL ? 0 : node->kind->flush(&call, node, handle_of(fi)));
}

/* Nobody waits for a release and it says not whose it was: what failed in it is for whoever opened the file. */
static void tell_opener(struct call *call, const struct handle *handle, int err)
{
	const struct atlock_caller *caller = handle_caller(handle);
	struct fuse_ctx opener = { 0 };

	refuse_explain(call, err);
	if (caller == NULL || call->why.text[0] == '\0')
		return;
	opener.uid = caller->uid;
	opener.pid = caller->pid;
	why_record(call->fs->whys, &opener, &call->why);
}

void ops_seen(const struct fuse_buf *buf)
{
	const struct fuse_in_header *header = buf->mem;
	const struct fuse_release_in *in = (const void *)(header + 1);

	if (header->opcode == FUSE_RELEASE && buf->size >= sizeof(*header) + sizeof(*in))
		lock_flock_closed(handle_of(&(struct fuse_file_info){ .fh = in->fh }));
}

void op_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);
	struct node *node;
	struct call call;
	int err;

	node = node_of(fuse_req_userdata(req), id);
	call_begin(&call, req, node, NULL, ACT_WRITE);
	err = node->kind->flush == NULL ? 0 : node->kind->flush(&call, node, handle);
	if (err < 0)
		tell_opener(&call, handle, err);
	if (node->kind->release != NULL)
		node->kind->release(&call, node, handle);
	handle_drop(handle);
	fuse_reply_err(req, 0);
}

/* Every change was durable before it was answered. */
void op_fsync(fuse_req_t req, fuse_ino_t id, int datasync, struct fuse_file_info *fi)
{
	(void)id, (void)datasync, (void)fi;
	fuse_reply_err(req, 0);
}

void op_flock(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, int op)
{
	struct handle *handle = handle_hold(handle_of(fi));
	struct node *node;
	struct call call;

	node = node_of(fuse_req_userdata(req), id);
	call_begin(&call, req, node, NULL, ACT_FLOCK);
	call_done(&call, node->kind->flock == NULL ? -EOPNOTSUPP : node->kind->flock(&call, node, handle, op));
	handle_drop(handle);
}

/*
 * fcntl locks end when any descriptor of the file is closed, which no lock of ours may. Having these operations is what
 * keeps the kernel from granting such locks by itself.
 */
static void refuse_fcntl(fuse_req_t req, fuse_ino_t id)
{
	struct call call;

	call_begin(&call, req, node_of(fuse_req_userdata(req), id), NULL, ACT_FLOCK);
	call_fail(&call, call_refuse(&call, -EOPNOTSUPP, ATLOCK_INVALID_REQUEST,
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
