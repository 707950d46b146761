/*
 * A FUSE file system that does nothing but keep its files in memory: what a request costs before any lock is involved. It
 * has the daemon's libfuse, number of readers and kind of file handle, but not its permission checks, names, store or caches.
 *
 *	bench_nullfs [-o lifetime=SECONDS,max_threads=N,clone_fd,...] MOUNTPOINT
 *
 * Stays in the foreground until it is unmounted. Without a lifetime the kernel asks for every name and attribute again;
 * with one it may keep what it was told.
 */
#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "null_table.h"

static struct settings {
	double lifetime;
	unsigned int max_threads;
	int clone_fd;
} settings = { .max_threads = 3 }; /* as many as read requests in the daemon; more are slower */

struct listing {
	struct node **nodes;
	size_t count;
};

static struct node *node_of(fuse_ino_t id)
{
	return id == FUSE_ROOT_ID ? table_root() : (struct node *)(uintptr_t)id;
}

static struct fuse_entry_param entry_of(struct node *node, const struct stat *st)
{
	return (struct fuse_entry_param){
		.ino = (fuse_ino_t)(uintptr_t)node,
		.attr = *st,
		.attr_timeout = settings.lifetime,
		.entry_timeout = settings.lifetime,
	};
}

/* Replies with a node that was found or made, or with errno if it is NULL. */
static void reply_entry(fuse_req_t req, struct node *node, const struct stat *st, int error)
{
	struct fuse_entry_param entry;

	if (node == NULL) {
		fuse_reply_err(req, error);
		return;
	}
	entry = entry_of(node, st);
	if (fuse_reply_entry(req, &entry) == -ENOENT)
		table_forget(node, 1);
}

static struct stat stat_like(fuse_req_t req, mode_t mode)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	return (struct stat){ .st_mode = mode, .st_uid = ctx->uid, .st_gid = ctx->gid, .st_blksize = 4096 };
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct stat st;
	struct node *node = table_find(node_of(parent), name, &st);

	reply_entry(req, node, &st, ENOENT);
}

static void op_forget(fuse_req_t req, fuse_ino_t id, uint64_t count)
{
	table_forget(node_of(id), count);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		table_forget(node_of(forgets[i].ino), forgets[i].nlookup);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	table_stat(node_of(id), &st);
	fuse_reply_attr(req, &st, settings.lifetime);
}

static struct timespec time_wanted(const struct timespec *want, int which, int given, int now, struct timespec old)
{
	if ((which & now) != 0)
		clock_gettime(CLOCK_REALTIME_COARSE, &old);
	else if ((which & given) != 0)
		old = *want;
	return old;
}

static void op_setattr(fuse_req_t req, fuse_ino_t id, struct stat *want, int which, struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	table_stat(node_of(id), &st);
	if ((which & FUSE_SET_ATTR_MODE) != 0)
		st.st_mode = want->st_mode;
	if ((which & FUSE_SET_ATTR_UID) != 0)
		st.st_uid = want->st_uid;
	if ((which & FUSE_SET_ATTR_GID) != 0)
		st.st_gid = want->st_gid;
	if ((which & FUSE_SET_ATTR_SIZE) != 0)
		st.st_size = want->st_size < FILE_MAX ? want->st_size : FILE_MAX;
	st.st_atim = time_wanted(&want->st_atim, which, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, st.st_atim);
	st.st_mtim = time_wanted(&want->st_mtim, which, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, st.st_mtim);
	table_set(node_of(id), &st);
	fuse_reply_attr(req, &st, settings.lifetime);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct stat like = stat_like(req, S_IFDIR | (mode & 07777U));
	struct stat st;
	struct node *node = table_make(node_of(parent), name, &like, &st);

	reply_entry(req, node, &st, errno);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, -table_remove(node_of(parent), name, S_IFREG));
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, -table_remove(node_of(parent), name, S_IFDIR));
}

/* As the daemon does: what is read is what the file says now, and a close needs no answer. */
static void file_info_set(struct fuse_file_info *fi)
{
	fi->direct_io = 1;
	fi->noflush = 1;
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	struct stat like = stat_like(req, S_IFREG | (mode & 07777U));
	struct stat st;
	struct node *node = table_make(node_of(parent), name, &like, &st);
	struct fuse_entry_param entry;

	if (node == NULL) {
		fuse_reply_err(req, errno);
		return;
	}
	entry = entry_of(node, &st);
	file_info_set(fi);
	if (fuse_reply_create(req, &entry, fi) == -ENOENT)
		table_forget(node, 1);
}

static void op_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	(void)id;
	file_info_set(fi);
	fuse_reply_open(req, fi);
}

static void op_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi)
{
	char buf[FILE_MAX];

	(void)fi;
	fuse_reply_buf(req, buf,
		       (size_t)table_read(node_of(id), buf, size < sizeof(buf) ? size : sizeof(buf), (size_t)off));
}

static void op_write(fuse_req_t req, fuse_ino_t id, const char *buf, size_t size, off_t off, struct fuse_file_info *fi)
{
	ptrdiff_t done = table_write(node_of(id), buf, size, (size_t)off);

	(void)fi;
	if (done < 0)
		fuse_reply_err(req, (int)-done);
	else
		fuse_reply_write(req, (size_t)done);
}

static void op_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	(void)id, (void)fi;
	fuse_reply_err(req, 0);
}

/* --- Directories: listed once when read from the start, and served from that --- */

static struct listing *listing_of(const struct fuse_file_info *fi)
{
	return (struct listing *)(uintptr_t)fi->fh;
}

static void listing_clear(struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		table_forget(listing->nodes[i], 1);
	free(listing->nodes);
	*listing = (struct listing){ .count = 0 };
}

static void op_opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct listing *listing = calloc(1, sizeof(*listing));

	(void)id;
	fi->fh = (uint64_t)(uintptr_t)listing;
	if (listing == NULL)
		fuse_reply_err(req, ENOMEM);
	else if (fuse_reply_open(req, fi) == -ENOENT)
		free(listing);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct listing *listing = listing_of(fi);

	(void)id;
	listing_clear(listing);
	free(listing);
	fuse_reply_err(req, 0);
}

static size_t entry_add(fuse_req_t req, char *buf, size_t room, struct node *node, off_t next, bool plus)
{
	struct fuse_entry_param entry;
	struct stat st;
	size_t used;

	if (!table_again(node, &st))
		return 0;
	entry = entry_of(node, &st);
	if (plus)
		used = fuse_add_direntry_plus(req, buf, room, node->name, &entry, next);
	else
		used = fuse_add_direntry(req, buf, room, node->name, &st, next);
	if (!plus || used > room)
		table_forget(node, 1);
	return used;
}

static void readdir_common(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi, bool plus)
{
	struct listing *listing = listing_of(fi);
	char *buf = malloc(size);
	size_t used = 0;

	if (off == 0) {
		listing_clear(listing);
		listing->nodes = table_list(node_of(id), &listing->count);
	}
	if (buf == NULL || listing->nodes == NULL) {
		fuse_reply_err(req, ENOMEM);
		free(buf);
		return;
	}
	for (size_t i = (size_t)off; i < listing->count; i++) {
		size_t n = entry_add(req, buf + used, size - used, listing->nodes[i], (off_t)i + 1, plus);

		if (n > size - used)
			break;
		used += n;
	}
	fuse_reply_buf(req, buf, used);
	free(buf);
}

static void op_readdir(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi)
{
	readdir_common(req, id, size, off, fi, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi)
{
	readdir_common(req, id, size, off, fi, true);
}

static const struct fuse_lowlevel_ops operations = {
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.create = op_create,
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.release = op_release,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_releasedir,
};

/* --- Start and end --- */

static int session_loop(struct fuse_session *session)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int err;

	if (config == NULL)
		return -ENOMEM;
	fuse_loop_cfg_set_max_threads(config, settings.max_threads);
	fuse_loop_cfg_set_idle_threads(config, settings.max_threads);
	fuse_loop_cfg_set_clone_fd(config, (unsigned int)settings.clone_fd);
	err = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	return err;
}

static int serve(struct fuse_args *args, const char *mountpoint)
{
	struct fuse_session *session = fuse_session_new(args, &operations, sizeof(operations), NULL);
	int status = 1;

	if (session == NULL)
		return 1;
	if (fuse_set_signal_handlers(session) == 0) {
		if (fuse_session_mount(session, mountpoint) == 0) {
			status = session_loop(session) == 0 ? 0 : 1;
			fuse_session_unmount(session);
		}
		fuse_remove_signal_handlers(session);
	}
	fuse_session_destroy(session);
	return status;
}

int main(int argc, char **argv)
{
	static const struct fuse_opt known[] = {
		{ "lifetime=%lf", offsetof(struct settings, lifetime), 0 },
		{ "max_threads=%u", offsetof(struct settings, max_threads), 0 },
		{ "clone_fd", offsetof(struct settings, clone_fd), 1 },
		FUSE_OPT_END,
	};
	struct fuse_args args = FUSE_ARGS_INIT(argc - 1, argv);
	int status = 1;

	if (argc < 2 || argv[argc - 1][0] == '-')
		fputs("usage: bench_nullfs [-o lifetime=SECONDS,max_threads=N,clone_fd,...] MOUNTPOINT\n", stderr);
	else if (fuse_opt_parse(&args, &settings, known, NULL) == 0 &&
		 fuse_opt_add_arg(&args, "-ofsname=nullfs,subtype=nullfs") == 0 && table_init() == 0)
		status = serve(&args, argv[argc - 1]);
	fuse_opt_free_args(&args);
	return status;
}
