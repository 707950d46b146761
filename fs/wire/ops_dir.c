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
static bool is_slip(struct call *call, struct node *node, const struct fuse_file_info *fi, struct listing *listing)
{
	mode_t type;

	if (!node->kind->unmade || node->parent->parent == NULL ||
	    (fi->flags & (O_DIRECTORY | O_NONBLOCK | O_NOFOLLOW)) != 0)
		return false;
	return listing_seek(listing, 0, list_node, call) == 0 && listing_at(listing, 2, &type) == NULL;
}

void op_opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct content *content;
	struct handle *handle;
	struct call call;
	int err = 0;

	call_begin(&call, req, node_of(fuse_req_userdata(req), id), NULL, ACT_LOOK);
	handle = handle_new(&call, fi->flags, call.node->ino);
	content = handle == NULL ? NULL : handle_content(handle);
	if (content != NULL)
		content->listing = listing_new();
	if (content == NULL || content->listing == NULL)
		err = -ENOMEM;
	else
		err = permit(&call, call.node, R_OK);
	if (err == 0)
		endings_wait_all(call.fs->endings);
	if (err == 0 && is_slip(&call, call.node, fi, content->listing))
		err = call_refuse(&call, -EISDIR, ATLOCK_INVALID_REQUEST, "this is a directory, not a lock: %s",
				  call.node->kind->hint);
	if (err < 0) {
		handle_drop(handle);
		call_fail(&call, err);
		return;
	}
	fi->fh = handle_id(handle);
	if (fuse_reply_open(req, fi) == -ENOENT)
		handle_drop(handle);
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
static void readdir_common(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi, bool plus)
{
	struct handle *handle = handle_of(fuse_req_userdata(req), fi);
	struct content *content = handle == NULL ? NULL : atomic_load(&handle->content);
	struct listing *listing = content == NULL ? NULL : content->listing;
	const char *name;
	struct node *node;
	struct call call;
	size_t used = 0;
	mode_t type = 0;
	char *buf;
	int err;

	node = node_of(fuse_req_userdata(req), id);
	call_begin(&call, req, node, NULL, ACT_LOOK);
	err = listing == NULL ? -EBADF : may_list(&call, node);
	if (err == 0)
		err = listing_seek(listing, (size_t)off, list_node, &call);
	buf = err < 0 ? NULL : malloc(size);
	if (buf == NULL) {
		call_fail(&call, err < 0 ? err : -ENOMEM);
		return;
	}
	for (size_t i = (size_t)off; (name = listing_at(listing, i, &type)) != NULL; i++) {
		size_t n = (plus ? entry_plus : entry_plain)(&call, node, buf + used, size - used, name, type,
							     (off_t)i + 1);

		if (n > size - used)
			break;
		used += n;
	}
	fuse_reply_buf(req, buf, used);
	free(buf);
}

void op_readdir(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi)
{
	readdir_common(req, id, size, off, fi, false);
}

void op_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi)
{
	readdir_common(req, id, size, off, fi, true);
}
