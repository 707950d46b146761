/*
 * Writing key=value lines to a lock. One write call is one request: all of its lines are taken or none. A last line without
 * its newline is taken as it stands, and taken again when the next write goes on with it (`{ printf reason=; date; } >> f`).
 * Only where a buffered writer was cut off in the middle, which shows by a full block, does the rest wait for what follows,
 * or for close(2), whose error it may then become. Offsets mean nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "lock.h"

/* Applies lines for the handle's opener to the lock that was opened, not to a later one of the same name. */
static int write_apply(struct call *call, struct node *node, struct handle *handle, const char *text, size_t len)
{
	struct atlock_name name;
	int err = lock_name(call, node, &name);

	if (err < 0)
		return err;
	if (handle->caller == NULL)
		return -EBADF;
	err = atlock_write(call->al,
			   &(struct atlock_request){
				   .name = &name,
				   .caller = handle->caller,
				   .token = handle->token,
				   .replace = handle->replace,
				   .text = text,
				   .text_len = len,
			   },
			   &call->why);
	if (err == 0)
		handle->replace = false;
	return err;
}

/* Keeps the unfinished line for the next write. `tail` may lie in the old one. */
static int tail_keep(struct handle *handle, const char *tail, size_t len, bool applied)
{
	char *copy = NULL;

	if (len > 0) {
		copy = malloc(len);
		if (copy == NULL)
			return -ENOMEM;
		memcpy(copy, tail, len);
	}
	free(handle->tail);
	handle->tail = copy;
	handle->tail_len = len;
	handle->tail_applied = applied;
	return 0;
}

/* Splits what is there into what is applied now and the rest of a cut line. */
static int write_text(struct call *call, struct node *node, struct handle *handle, const char *text, size_t len,
		      bool cut)
{
	const char *newline = memrchr(text, '\n', len);
	size_t tail = newline == NULL ? len : len - (size_t)(newline + 1 - text);
	size_t now = cut ? len - tail : len;
	int err = now == 0 ? 0 : write_apply(call, node, handle, text, now);

	return err < 0 ? err : tail_keep(handle, text + len - tail, tail, !cut);
}

int lock_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	char *text;
	int err;

	pthread_mutex_lock(&handle->mutex);
	if (handle->tail_len + len > 2 * (size_t)ATLOCK_META_BYTES) {
		err = call_refuse(call, -EDQUOT, ATLOCK_QUOTA, "a lock keeps at most %d bytes of your own",
				  ATLOCK_META_BYTES);
		goto done;
	}
	text = malloc(handle->tail_len + len);
	if (text == NULL) {
		err = -ENOMEM;
		goto done;
	}
	if (handle->tail_len > 0)
		memcpy(text, handle->tail, handle->tail_len);
	memcpy(text + handle->tail_len, data, len);
	err = write_text(call, node, handle, text, handle->tail_len + len, len % FS_WRITE_BLOCK == 0);
	free(text);
done:
	pthread_mutex_unlock(&handle->mutex);
	return err;
}

int lock_flush(struct call *call, struct node *node, struct handle *handle)
{
	int err = 0;

	pthread_mutex_lock(&handle->mutex);
	if (handle->tail_len > 0 && !handle->tail_applied) {
		err = write_apply(call, node, handle, handle->tail, handle->tail_len);
		tail_keep(handle, NULL, 0, false);
	}
	pthread_mutex_unlock(&handle->mutex);
	lock_flock_flush(call, handle);
	return err;
}
