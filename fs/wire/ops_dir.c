/* opendir, readdir, readdirplus: a directory is listed a step at a time; see listing.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ending.h"
#include "entry.h"
#include "handle.h"
#include "listing.h"
#include "ops.h"
#include "permit.h"
#include "reply.h"

static int list_node(void *arg, struct listing *out)
{
	struct call *call = arg;
	const struct kind *kind = call->node->kind;

	return kind->list == NULL ? 0 : kind->list(call, call->node, out);
}

/*
 * The kernel handles flock(2) on directories itself, so a caller who leaves out a "-" in a lock's name would run
 * unprotected. Such a name is an empty directory, opened the way flock(1) does; programs that walk trees only meet
 * listed directories.
 */
static bool is_slip(struct call *call, int flags, struct listing *listing)
{
	const struct node *node = call->node;
	mode_t type;

	if (!node->kind->unmade || node->parent->parent == NULL ||
	    (flags & (O_DIRECTORY | O_NONBLOCK | O_NOFOLLOW)) != 0)
		return false;
	return listing_seek(listing, 0, list_node, call) == 0 && listing_at(listing, 2, &type) == NULL;
}

static int dir_open(struct call *call, struct handle *handle)
{
	struct content *content = handle_content(handle);
	struct fuse_file_info fi = { .fh = handle_id(handle) };

	if (content != NULL)
		content->listing = listing_new();
	if (content == NULL || content->listing == NULL)
		return -ENOMEM;
	if (is_slip(call, handle->flags, content->listing))
		return call_refuse(call, -EISDIR, ATLOCK_INVALID_REQUEST, "this is a directory, not a lock: %s",
				   call->node->kind->hint);
	if (fuse_reply_open(call->req, &fi) == -ENOENT)
		handle_drop(handle);
	return CALL_ANSWERED;
}

static void opendir_now(struct call *call)
{
	struct handle *handle = handle_new(call, call->flags, call->node->ino);
	int err = handle == NULL ? -ENOMEM : dir_open(call, handle);

	if (err < 0)
		handle_drop(handle);
	call_end(call, err);
}

void op_opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct call *call = call_begin(req, node_of(fuse_req_userdata(req), id), NULL, ACT_LOOK);
	int err;

	if (call == NULL)
		return;
	call->flags = fi->flags;
	err = permit(call, call->node, R_OK);
	if (err == 0) {
		call->again = opendir_now;
		err = ending_then_all(call);
	}
	if (err == 0)
		opendir_now(call);
	else
		call_end(call, err);
}

void op_releasedir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	(void)id;
	handle_drop(handle_of(fuse_req_userdata(req), fi));
	fuse_reply_err(req, 0);
}

static uint64_t listing_ino(const struct node *dir, const char *name)
{
	if (strcmp(name, ".") == 0)
		return dir->ino;
	if (strcmp(name, "..") == 0)
		return dir->parent == NULL ? dir->ino : dir->parent->ino;
	return node_ino(dir, name);
}

static size_t entry_plain(struct call *call, struct node *dir, char *buf, size_t room, const char *name, mode_t type,
			  off_t next)
{
	struct stat st = { .st_ino = listing_ino(dir, name), .st_mode = type };

	return fuse_add_direntry(call->req, buf, room, name, &st, next);
}

/*
 * Adds the attributes if the kernel may cache them. Node 0 gives it only the name: a lookup would be wasted where the
 * kernel must look the name up again anyway.
 */
static size_t entry_plus(struct call *call, struct node *dir, char *buf, size_t room, const char *name, mode_t type,
			 off_t next)
{
	struct fuse_entry_param plus = { .attr = { .st_ino = listing_ino(dir, name), .st_mode = type } };
	struct found found = { .dir = NODE_NO_DIR };
	size_t used;

	if (dir->kind->plus && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	    dir->kind->lookup(call, dir, name, &found) == 0 && found.life.entry > 0)
		entry_make(call, dir, name, &found, &plus);
	used = fuse_add_direntry_plus(call->req, buf, room, name, &plus, next);
	if (used > room && plus.ino != 0)
		entry_drop(call, &plus);
	return used;
}

/*
 * If a directory is closed to the caller while he has it open, he sees no more of it; see also permit_see(). A removed
 * directory is empty for every reader.
 */
static int may_list(struct call *call, struct node *node)
{
	int err = node->dir != NODE_NO_DIR || node->kind->mirror ? permit(call, node, R_OK) : 0;

	if (err == 0)
		err = permit_see(call, node);
	return err == -ENOENT ? 0 : err;
}

/* The kernel reads one open directory in one thread at a time, so a listing needs no mutex. */
static int dir_read(struct call *call, const struct fuse_file_info *fi, size_t size, off_t off, bool plus)
{
	struct handle *handle = handle_of(call->fs, fi);
	struct content *content = handle == NULL ? NULL : atomic_load(&handle->content);
	struct listing *listing = content == NULL ? NULL : content->listing;
	const char *name;
	size_t used = 0;
	mode_t type = 0;
	char *buf;
	int err = listing == NULL ? -EBADF : may_list(call, call->node);

	if (err == 0)
		err = listing_seek(listing, (size_t)off, list_node, call);
	if (err < 0)
		return err;
	buf = malloc(size);
	if (buf == NULL)
		return -ENOMEM;
	for (size_t i = (size_t)off; (name = listing_at(listing, i, &type)) != NULL; i++) {
		size_t n = (plus ? entry_plus : entry_plain)(call, call->node, buf + used, size - used, name, type,
							     (off_t)i + 1);

		if (n > size - used)
			break;
		used += n;
	}
	fuse_reply_buf(call->req, buf, used);
	free(buf);
	return CALL_ANSWERED;
}

static void readdir_common(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi, bool plus)
{
	struct call *call = call_begin(req, node_of(fuse_req_userdata(req), id), NULL, ACT_LOOK);

	if (call != NULL)
		call_end(call, dir_read(call, fi, size, off, plus));
}

void op_readdir(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi)
{
	readdir_common(req, id, size, off, fi, false);
}

void op_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi)
{
	readdir_common(req, id, size, off, fi, true);
}
