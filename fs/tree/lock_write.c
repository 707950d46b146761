/*
 * Writing key=value lines to a lock. One write call is one request: all of its lines are applied or none. A last line
 * without its newline is applied as it stands, and again when the next write continues it (`{ printf reason=; date; }
 * >> f`). Only if a full block shows that a buffered writer was cut off in the middle of a line does that line wait for
 * the next write, or for close(2), which may then return its error. Offsets mean nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "lock_file.h"
#include "path.h"
#include "texts.h"

/* Applies lines as the handle's opener, to the lock that was opened, not to a later one of the same name. */
static int write_apply(struct call *call, struct node *node, struct handle *handle, const char *text, size_t len)
{
	struct content *content = handle_content(handle);
	struct atlock_name name;
	int err = path_node_lock(call, node, &name);

	if (err < 0)
		return err;
	if (content->caller == NULL)
		return -EBADF;
	err = atlock_write(call->al,
			   &(struct atlock_request){
				   .name = &name,
				   .caller = content->caller,
				   .token = handle->token,
				   .replace = content->replace,
				   .text = text,
				   .text_len = len,
			   },
			   &call->why);
	if (err == 0)
		content->replace = false;
	return err;
}

/* Keeps the unfinished line for the next write. `tail` may lie inside the old tail. */
static int tail_keep(struct call *call, const struct handle *handle, struct content *content, const char *tail,
		     size_t len, bool applied)
{
	char *copy = NULL;
	int err;

	if (len > 0) {
		copy = malloc(len);
		if (copy == NULL)
			return -ENOMEM;
		memcpy(copy, tail, len);
	}
	err = texts_tail(handle, content, len);
	if (err < 0) {
		free(copy);
		return err == -EDQUOT ? texts_tail_refuse(call) : err;
	}
	free(content->tail);
	content->tail = copy;
	content->tail_len = len;
	content->tail_applied = applied;
	return 0;
}

/* Splits the text into the lines applied now and the rest of a cut line. */
static int write_text(struct call *call, struct node *node, struct handle *handle, const char *text, size_t len,
		      bool cut)
{
	const char *newline = memrchr(text, '\n', len);
	size_t tail = newline == NULL ? len : len - (size_t)(newline + 1 - text);
	size_t now = cut ? len - tail : len;
	int err = now == 0 ? 0 : write_apply(call, node, handle, text, now);

	return err < 0 ? err : tail_keep(call, handle, handle_content(handle), text + len - tail, tail, !cut);
}

int lock_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	struct content *content = handle_lock(handle);
	char *text;
	int err;

	if (content == NULL)
		return -ENOMEM;
	if (content->tail_len + len > 2 * (size_t)ATLOCK_META_BYTES) {
		err = call_refuse(call, -EDQUOT, ATLOCK_QUOTA, "a lock keeps at most %d bytes of your own",
				  ATLOCK_META_BYTES);
		goto done;
	}
	text = malloc(content->tail_len + len);
	if (text == NULL) {
		err = -ENOMEM;
		goto done;
	}
	if (content->tail_len > 0)
		memcpy(text, content->tail, content->tail_len);
	memcpy(text + content->tail_len, data, len);
	err = write_text(call, node, handle, text, content->tail_len + len, len % FS_WRITE_BLOCK == 0);
	free(text);
done:
	pthread_mutex_unlock(&content->mutex);
	return err;
}

int lock_flush(struct call *call, struct node *node, struct handle *handle)
{
	struct content *content = atomic_load(&handle->content);
	int err = 0;

	if (content != NULL) {
		pthread_mutex_lock(&content->mutex);
		if (content->tail_len > 0 && !content->tail_applied) {
			err = write_apply(call, node, handle, content->tail, content->tail_len);
			(void)tail_keep(call, handle, content, NULL, 0, false);
		}
		pthread_mutex_unlock(&content->mutex);
	}
	lock_flock_flush(call, handle);
	return err;
}
