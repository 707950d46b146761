#include "entry.h"

#include <errno.h>
#include <fcntl.h>

#include "cache.h"
#include "handle.h"
#include "pages.h"
#include "reply.h"

int entry_make(struct call *call, struct node *dir, const char *name, const struct found *found,
	       struct fuse_entry_param *out)
{
	const struct kind *kind = found->kind;
	struct inodes *inodes = call->fs->inodes;
	bool file = S_ISREG(found->st.st_mode);
	struct node *node;
	bool keep;

	if (file && found->life.entry <= 0)
		node = node_own(inodes, dir, name, kind, found->dir, call->ctx->pid,
				found->counted ? &found->life.stamp.changes : NULL);
	else
		node = node_intern(inodes, dir, name, kind, found->dir);
	if (node == NULL)
		return -ENOMEM;
	keep = node->own || !found->life.stamped || cache_keep(call->fs->cache, node, found->life.stamp);
	*out = (struct fuse_entry_param){
		.ino = node_id(inodes, node),
		.attr = found->st,
		.attr_timeout = keep ? found->life.attr : 0,
		.entry_timeout = keep && !node->own ? found->life.entry : 0,
	};
	out->attr.st_ino = node->ino;
	if (file && found->sized) {
		pages_told(node, found->st.st_size);
	} else if (file) {
		out->attr.st_size = kind->most > 0 ? kind->most : PAGES_MOST;
		out->attr_timeout = 0;
	}
	return 0;
}

void entry_drop(struct call *call, const struct fuse_entry_param *entry)
{
	node_forget(call->fs->inodes, node_of(call->fs, entry->ino), 1);
}

/*
 * Whether close(2) sends a FLUSH and waits for its reply. That is one more request for every caller that only takes a
 * lock. A file opened for writing (`>`, `>>`) needs it to report errors. With `set -C; >` they are reported at RELEASE,
 * and so they are for O_NONBLOCK, which touch(1) uses to renew a lock: an OPEN does not say that it truncates. A lock
 * opened for reading may be held through flock(2), and then the daemon must know that its end is near; see
 * ending.h.
 */
static bool file_flushes(const struct kind *kind, const struct handle *handle, bool created)
{
	if (kind->flush == NULL)
		return false;
	if (!handle_writes(handle))
		return kind->flock != NULL;
	return created ? (handle->flags & (O_TRUNC | O_APPEND)) != 0 : (handle->flags & O_NONBLOCK) == 0;
}

/*
 * Every read(2) comes to the daemon, because texts change and some reads wait. pages.h has the exceptions. wait/ has no
 * offsets, like a pipe; sendfile(2) from it to a file then fails, and programs fall back to read(2).
 */
void entry_open(struct fuse_file_info *fi, const struct kind *kind, const struct handle *handle, bool created)
{
	fi->fh = handle_id(handle);
	fi->direct_io = 1;
	fi->nonseekable = kind->stream;
	fi->noflush = !file_flushes(kind, handle, created);
}

void entry_unopen(struct call *call, struct node *node, struct handle *handle, const struct fuse_entry_param *entry)
{
	if (handle_reads(handle))
		pages_close(call, node, handle);
	handle_drop(handle);
	if (entry != NULL)
		entry_drop(call, entry);
}

/* A new file that is open for reading gets a node of its own. Returns what call_end() takes. */
static int create_reply(struct call *call, struct handle *handle, struct found *found)
{
	struct fuse_entry_param entry;
	struct fuse_file_info fi = { 0 };
	struct node *node;
	int err;

	if (handle_reads(handle))
		found->life.entry = 0;
	err = entry_make(call, call->node, call->name, found, &entry);
	if (err < 0)
		return err;
	node = node_of(call->fs, entry.ino);
	entry_open(&fi, found->kind, handle, true);
	if (handle_reads(handle))
		err = pages_open(call, node, handle);
	else
		node_land(node, call->ctx->pid);
	if (err < 0) {
		entry_drop(call, &entry);
		return err;
	}
	if (fuse_reply_create(call->req, &entry, &fi) == -ENOENT)
		entry_unopen(call, node, handle, &entry);
	return CALL_ANSWERED;
}

void entry_created(struct call *call, int err)
{
	if (err == CALL_LATER)
		return;
	if (err == 0)
		err = create_reply(call, call->handle, &call->found);
	if (err < 0)
		handle_drop(call->handle);
	call_end(call, err);
}
