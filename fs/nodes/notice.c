#include "notice.h"

#include <errno.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* FUSE_EXPIRE_ONLY, which older headers lack. A kernel before 6.2 ignores it and drops the name, which is also right. */
#define EXPIRE_ONLY 1U

/* Without a name (NULL) nothing follows the arguments. */
static void notice_add(struct notice *notice, int32_t code, const void *args, size_t args_len, const char *name)
{
	size_t name_len = name == NULL ? 0 : strlen(name) + 1;
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + args_len + name_len),
		.error = code, /* of a notification, which has no `unique` */
	};
	uint8_t *at = notice->bytes + notice->len;

	memcpy(at, &header, sizeof(header));
	memcpy(at + sizeof(header), args, args_len);
	if (name != NULL)
		memcpy(at + sizeof(header) + args_len, name, name_len);
	notice->len += header.len;
}

void notice_delete(struct notice *notice, fuse_ino_t parent, fuse_ino_t node, const char *name)
{
	struct fuse_notify_delete_out args = { .parent = parent, .child = node, .namelen = (uint32_t)strlen(name) };

	notice_add(notice, FUSE_NOTIFY_DELETE, &args, sizeof(args), name);
}

void notice_expire(struct notice *notice, fuse_ino_t parent, const char *name)
{
	/* The last member has another name in older headers. */
	struct fuse_notify_inval_entry_out args = { parent, (uint32_t)strlen(name), EXPIRE_ONLY };

	notice_add(notice, FUSE_NOTIFY_INVAL_ENTRY, &args, sizeof(args), name);
}

void notice_attr(struct notice *notice, fuse_ino_t node)
{
	struct fuse_notify_inval_inode_out args = { .ino = node, .off = -1 };

	notice_add(notice, FUSE_NOTIFY_INVAL_INODE, &args, sizeof(args), NULL);
}

void notice_write(int device, const uint8_t *bytes, size_t len)
{
	struct fuse_out_header header;

	for (size_t at = 0; at + sizeof(header) <= len; at += header.len) {
		memcpy(&header, bytes + at, sizeof(header));
		if (header.len < sizeof(header) || header.len > len - at)
			return;
		(void)!write(device, bytes + at, header.len);
	}
}

/* False if that process is gone. */
static bool notice_hand_over(int socket, const struct notice *notice)
{
	uint8_t done;
	ssize_t n;

	do
		n = send(socket, notice->bytes, notice->len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return false;
	do
		n = recv(socket, &done, sizeof(done), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(done);
}

void notice_send(const struct fs *fs, const struct notice *notice)
{
	if (fs->notifier.pid == 0 || !notice_hand_over(fs->notifier.socket, notice))
		notice_write(fuse_session_fd(fs->session), notice->bytes, notice->len);
}
