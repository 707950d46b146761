/* The kernel's requests, grouped by what they are about. ops.c has the table that libfuse calls. */
#ifndef OPS_H
#define OPS_H

#include "kind.h"

struct handle;

extern const struct fuse_lowlevel_ops ops;

/*
 * Begins a request about `name` below a directory: checks that the caller may search it and, unless he only looks,
 * change it. call->node is the directory. NULL: as call_begin().
 */
struct call *ops_begin(fuse_req_t req, fuse_ino_t parent, const char *name, enum act act, int *err);

/*
 * For loop_run(): records a RELEASE as soon as it is read, before any request read later is answered. Returns whether
 * the request is to be processed now; if not, endings_next() returns it later.
 */
bool ops_seen(struct fs *fs, const struct fuse_buf *buf);

/*
 * Sets the size of a file that is open for reading through a node of its own: that of the text which it is about to
 * show, made now if there is none yet.
 */
void ops_size(struct call *call, struct node *node, struct stat *st);

/* ops_dir.c */
void op_opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi);
void op_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi);
void op_releasedir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);

/* ops_file.c */
void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi);
void op_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t off, struct fuse_file_info *fi);
void op_write(fuse_req_t req, fuse_ino_t id, const char *data, size_t size, off_t off, struct fuse_file_info *fi);
void op_flush(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t id, int datasync, struct fuse_file_info *fi);
void op_flock(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, int op);
void op_getlk(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, struct flock *lock);
void op_setlk(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi, struct flock *lock, int sleep);

/* ops_xattr.c */
void op_getxattr(fuse_req_t req, fuse_ino_t id, const char *name, size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t id, size_t size);
void op_setxattr(fuse_req_t req, fuse_ino_t id, const char *name, const char *value, size_t size, int flags);
void op_removexattr(fuse_req_t req, fuse_ino_t id, const char *name);

#endif
