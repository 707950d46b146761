/* Requests about names and attributes, and the table of all operations. */
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cache.h"
#include "entry.h"
#include "handle.h"
#include "pages.h"
#include "permit.h"
#include "refuse.h"
#include "reply.h"

#define SET_NOW_WITHIN 2.0 /* seconds from now that still count as now */

struct call *ops_begin(fuse_req_t req, fuse_ino_t parent, const char *name, enum act act, int *err)
{
	struct call *call = call_begin(req, node_of(fuse_req_userdata(req), parent), name, act);

	if (call == NULL)
		return NULL;
	if (strlen(name) <= ATLOCK_COMPONENT_MAX)
		*err = permit(call, call->node, act == ACT_LOOK ? X_OK : W_OK | X_OK);
	else
		*err = call_refuse(call, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "a name has at most %d bytes",
				   ATLOCK_COMPONENT_MAX);
	return call;
}

static int reply_entry(struct call *call, const struct found *found)
{
	struct fuse_entry_param entry;
	int err = entry_make(call, call->node, call->name, found, &entry);

	if (err < 0)
		return err;
	if (fuse_reply_entry(call->req, &entry) == -ENOENT)
		entry_drop(call, &entry);
	return CALL_ANSWERED;
}

static void lookup(struct call *call)
{
	const struct kind *kind = call->node->kind;
	struct found found = { .dir = NODE_NO_DIR };
	int err = kind->lookup == NULL ? -ENOTDIR : kind->lookup(call, call->node, call->name, &found);

	/* Not a refusal: most callers that look up a free lock are about to create it. */
	if (err == -ENOENT)
		call->why.text[0] = '\0';
	call_end(call, err == 0 ? reply_entry(call, &found) : err);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	int err;
	struct call *call = ops_begin(req, parent, name, ACT_LOOK, &err);

	if (call == NULL)
		return;
	if (err < 0) {
		call_end(call, err);
		return;
	}
	call->again = lookup;
	lookup(call);
}

static void op_readlink(fuse_req_t req, fuse_ino_t id)
{
	struct call *call = call_begin(req, node_of(fuse_req_userdata(req), id), NULL, ACT_LOOK);
	char target[ATLOCK_PATH_MAX];
	const struct kind *kind;
	int err;

	if (call == NULL)
		return;
	kind = call->node->kind;
	err = kind->readlink == NULL ? -EINVAL : kind->readlink(call, call->node, target);
	if (err == 0)
		fuse_reply_readlink(req, target);
	call_end(call, err < 0 ? err : CALL_ANSWERED);
}

static void op_forget(fuse_req_t req, fuse_ino_t id, uint64_t count)
{
	struct fs *fs = fuse_req_userdata(req);

	node_forget(fs->inodes, node_of(fs, id), count);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	struct fs *fs = fuse_req_userdata(req);

	for (size_t i = 0; i < count; i++)
		node_forget(fs->inodes, node_of(fs, forgets[i].ino), forgets[i].nlookup);
	fuse_reply_none(req);
}

/*
 * A request through an open file comes without a lookup, which would check the directory. Callers may always see their
 * own.
 */
static int may_see_attr(struct call *call, struct node *node, const struct stat *st)
{
	int err = st->st_uid == call->ctx->uid ? 0 : permit_see(call, node);

	/* Only asking is not a refusal. */
	call->why.text[0] = '\0';
	return err;
}

static int reply_attr(struct call *call)
{
	struct node *node = call->node;
	struct life life = { 0 };
	struct stat st;
	int err = node->kind->stat(call, node, &st, &life);

	if (err == 0)
		err = may_see_attr(call, node, &st);
	if (err < 0 || err == CALL_LATER)
		return err;
	st.st_ino = node->ino;
	if (S_ISREG(st.st_mode)) {
		ops_size(call, node, &st);
		pages_told(node, st.st_size);
	}
	if (life.stamped && !cache_keep(call->fs->cache, node, life.stamp))
		life.attr = 0;
	fuse_reply_attr(call->req, &st, life.attr);
	return CALL_ANSWERED;
}

static void getattr(struct call *call)
{
	call_end(call, reply_attr(call));
}

static void op_getattr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct call *call = call_begin(req, node_of(fuse_req_userdata(req), id), NULL, ACT_LOOK);

	(void)fi;
	if (call == NULL)
		return;
	node_land(call->node, call->ctx->pid);
	call->again = getattr;
	getattr(call);
}

/*
 * Python's os.utime() with times, Node's utimesSync() and Go's Chtimes() mean now and read the clock a moment before
 * this. The modification time decides. Directories keep the times that they are given.
 */
static int set_take_now(const struct node *node, const struct stat *want, int which)
{
	const struct timespec *at = (which & FUSE_SET_ATTR_MTIME) != 0 ? &want->st_mtim : &want->st_atim;
	struct timespec now;
	double away;

	if (S_ISDIR(node->kind->type) || (which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) == 0)
		return which;
	clock_gettime(CLOCK_REALTIME, &now);
	away = difftime(at->tv_sec, now.tv_sec) + (double)(at->tv_nsec - now.tv_nsec) / 1e9;
	if (away < -SET_NOW_WITHIN || away > SET_NOW_WITHIN)
		return which;
	return which | ((which & FUSE_SET_ATTR_ATIME) != 0 ? FUSE_SET_ATTR_ATIME_NOW : 0) |
	       ((which & FUSE_SET_ATTR_MTIME) != 0 ? FUSE_SET_ATTR_MTIME_NOW : 0);
}

/*
 * The open file that a change is made through, held for the caller; NULL if by name. For O_TRUNC the kernel sends a
 * change of the size after the OPEN, which does not name the file and, unlike truncate(2), sets no time.
 */
static struct handle *set_through(const struct call *call, const struct node *node, int which,
				  const struct fuse_file_info *fi)
{
	const int times = FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW;

	if (fi == NULL && (which & FUSE_SET_ATTR_SIZE) != 0 && (which & times) == 0)
		return handle_opened(call, node->ino);
	return handle_hold(handle_of(call->fs, fi));
}

static void op_setattr(fuse_req_t req, fuse_ino_t id, struct stat *want, int which, struct fuse_file_info *fi)
{
	struct node *node = node_of(fuse_req_userdata(req), id);
	struct call *call = call_begin(req, node, NULL, ACT_CHANGE);
	struct handle *handle;
	int err;

	if (call == NULL)
		return;
	handle = set_through(call, node, which, fi);
	if (handle != NULL && fi == NULL)
		which |= FUSE_SET_ATTR_OPEN;
	which = set_take_now(node, want, which);
	if ((which & FUSE_SET_ATTR_SIZE) != 0 && handle != NULL && !handle_reads(handle))
		pages_truncated(call, node);
	node_land(node, call->ctx->pid);
	err = permit_set(call, node, handle, want, which);
	if (node->kind->set == NULL)
		err = refuse_lacking(call, err == -EPERM ? 0 : err);
	else if (err == 0)
		err = node->kind->set(call, node, handle, want, which);
	call_end(call, err < 0 ? err : reply_attr(call));
	handle_drop(handle);
}

static void op_access(fuse_req_t req, fuse_ino_t id, int mask)
{
	struct node *node = node_of(fuse_req_userdata(req), id);
	struct call *call = call_begin(req, node, NULL, ACT_LOOK);
	struct stat st;
	int err;

	if (call == NULL)
		return;
	node_land(node, call->ctx->pid);
	err = permit_attr(call, node, &st);
	if (err == 0)
		err = permit_mode(call, st.st_mode, st.st_uid, st.st_gid, mask);
	if (node->kind->access != NULL)
		err = node->kind->access(call, node, err);
	else if (err == 0)
		err = permit_reach(call, node);
	/* Asking with access(2) is not a refusal. */
	call->why.text[0] = '\0';
	call_end(call, err);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct found found = { .dir = NODE_NO_DIR };
	int err;
	struct call *call = ops_begin(req, parent, name, ACT_MKDIR, &err);

	if (call == NULL)
		return;
	if (call->node->kind->mkdir == NULL)
		err = refuse_lacking(call, err);
	else if (err == 0)
		err = call->node->kind->mkdir(call, call->node, call->name, mode, &found);
	call_end(call, err < 0 ? err : reply_entry(call, &found));
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	int err;
	struct call *call = ops_begin(req, parent, name, ACT_RMDIR, &err);

	if (call == NULL)
		return;
	if (call->node->kind->rmdir == NULL)
		err = refuse_lacking(call, err);
	else if (err == 0)
		err = call->node->kind->rmdir(call, call->node, call->name);
	if (err == 0)
		node_retire(call->fs->inodes, call->node, name);
	call_end(call, err);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	int err;
	struct call *call = ops_begin(req, parent, name, ACT_REMOVE, &err);

	if (call == NULL)
		return;
	if (call->node->kind->unlink == NULL)
		err = refuse_lacking(call, err);
	else if (err == 0)
		err = call->node->kind->unlink(call, call->node, call->name);
	call_end(call, err);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *from, fuse_ino_t to_parent, const char *to,
		      unsigned int flags)
{
	const struct kind *kind;
	int err;
	struct call *call = ops_begin(req, parent, to, ACT_MOVE, &err);

	if (call == NULL)
		return;
	kind = call->node->kind;
	call->name = from;
	if (err == 0 && parent != to_parent)
		err = permit(call, node_of(call->fs, to_parent), W_OK | X_OK);
	if (err == 0 && (kind->rename == NULL || parent != to_parent))
		err = call_refuse(
			call, -EPERM, ATLOCK_PERMISSION_DENIED,
			"nothing can be moved here; only a ticket inside its own queue/ directory, to another priority");
	else if (err == 0)
		err = kind->rename(call, call->node, from, to, flags);
	call_end(call, err);
}

static void refuse_make(fuse_req_t req, fuse_ino_t parent, const char *name, const char *what)
{
	int err;
	struct call *call = ops_begin(req, parent, name, ACT_MAKE, &err);

	if (call == NULL)
		return;
	if (err == 0)
		err = call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED, "a lock file system has no %s", what);
	call_end(call, err);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	(void)mode, (void)dev;
	refuse_make(req, parent, name, "special files; open a lock with O_CREAT to take it");
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	refuse_make(req, parent, name, "symbolic links that users make");
}

static void op_link(fuse_req_t req, fuse_ino_t id, fuse_ino_t parent, const char *name)
{
	struct node *from = node_of(fuse_req_userdata(req), id);
	struct call *call = call_begin(req, from, NULL, ACT_LOOK);
	int err;

	if (call == NULL)
		return;
	err = from->parent == NULL ? 0 : permit(call, from->parent, X_OK);
	if (err < 0) {
		call_end(call, err);
		return;
	}
	call_free(call);
	refuse_make(req, parent, name, "hard links: one lock has one name");
}

/* `df -i` shows held locks as used and, as free, how many more the store has space for at a kilobyte each. */
static void op_statfs(fuse_req_t req, fuse_ino_t id)
{
	const struct fs *fs = fuse_req_userdata(req);
	struct atlock_status status;

	(void)id;
	/* If the store cannot be read, replies with what is known: programs call this to identify the file system. */
	(void)atlock_status(fs->al, &status);
	fuse_reply_statfs(req, &(struct statvfs){
				       .f_bsize = 4096,
				       .f_frsize = 4096,
				       .f_blocks = (status.store_used + status.store_free) / 4096,
				       .f_bfree = status.store_free / 4096,
				       .f_bavail = status.store_free / 4096,
				       .f_files = status.held + status.store_free / 1024,
				       .f_ffree = status.store_free / 1024,
				       .f_favail = status.store_free / 1024,
				       .f_namemax = ATLOCK_COMPONENT_MAX,
			       });
}

static void ops_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;

	conn->time_gran = 1;
	conn->max_write = FS_WRITE_MAX;
	/*
	 * No caller waits for a read-ahead, and it cannot be interrupted: in wait/ it would wait on after its reader
	 * was killed.
	 */
	conn->want &= ~(unsigned int)FUSE_CAP_ASYNC_READ;
	/*
	 * The same is true of a direct read by aio or io_uring: its process may be killed, and its ticket would stay in
	 * the queue.
	 */
	conn->want &= ~(unsigned int)FUSE_CAP_ASYNC_DIO;
	/*
	 * With O_TRUNC in the OPEN, the kernel sets the size to 0 by itself, and sendfile(2) from that file would read
	 * nothing. Without, it asks, and is told the size of the text, which truncating alone does not change.
	 */
	conn->want &= ~(unsigned int)FUSE_CAP_ATOMIC_O_TRUNC;
	/* Of a shared store the kernel keeps no names and attributes, so looking up each name of a listing would be for nothing. */
	if (atlock_is_shared(fs->al))
		conn->want &= ~(unsigned int)(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
	/* With a lower limit, the kernel would hold back RELEASEs beyond a dozen, over all users. */
	conn->max_background = UINT16_MAX;
	fs->ready(fs);
}

const struct fuse_lowlevel_ops ops = {
	.init = ops_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.readlink = op_readlink,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.access = op_access,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.create = op_create,
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.flush = op_flush,
	.release = op_release,
	.fsync = op_fsync,
	.fsyncdir = op_fsync,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_releasedir,
	.statfs = op_statfs,
	.setxattr = op_setxattr,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.removexattr = op_removexattr,
	.flock = op_flock,
	.getlk = op_getlk,
	.setlk = op_setlk,
};
