#include "flocked.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "handle.h"
#include "inode.h"

static struct flocked *flocked_new(const struct atlock_caller *caller, uint64_t ino)
{
	static _Atomic uint64_t last;
	size_t len = strlen(caller->owner) + 1;
	struct flocked *flocked = calloc(1, sizeof(*flocked) + len);

	if (flocked == NULL)
		return NULL;
	flocked->number = atomic_fetch_add(&last, 1) + 1;
	flocked->ino = ino;
	flocked->uid = caller->uid;
	flocked->gid = caller->gid;
	flocked->pid = caller->pid;
	flocked->session = caller->session;
	flocked->admin = caller->admin;
	memcpy(flocked->comm, caller->comm, sizeof(flocked->comm));
	memcpy(flocked->owner, caller->owner, len);
	return flocked;
}

void flocked_holder(const struct fs *fs, const struct flocked *flocked, struct atlock_caller *out)
{
	*out = (struct atlock_caller){
		.uid = flocked->uid,
		.gid = flocked->gid,
		.pid = flocked->pid,
		.session = flocked->session,
		.admin = flocked->admin,
	};
	memcpy(out->comm, flocked->comm, sizeof(out->comm));
	strlcpy(out->owner, flocked->owner, sizeof(out->owner));
	atlock_who_flock((uint32_t)fs->nonce, flocked->number, out->who);
}

/* Two requests of one open file may both be the first: only one of them makes the holder. */
int flocked_become(struct call *call, const struct node *node, struct handle *handle, struct atlock_caller *out)
{
	struct flocked *flocked = handle->flocked;
	int err = flocked != NULL ? 0 : caller_user(call, out);

	if (err < 0)
		return err;
	if (flocked == NULL) {
		struct flocked *made = flocked_new(out, node->ino);

		if (made == NULL)
			return -ENOMEM;
		if (atomic_compare_exchange_strong(&handle->flocked, &flocked, made)) {
			flocked = made;
			handle_flocks(handle);
		} else {
			free(made);
		}
	}
	flocked_holder(call->fs, flocked, out);
	return 0;
}

bool flocked_holds(struct handle *handle, uint64_t ino, struct atlock_caller *out)
{
	const struct flocked *flocked = handle->flocked;

	if (flocked == NULL || flocked->token == 0 || flocked->ino != ino)
		return false;
	flocked_holder(handle->fs, flocked, out);
	return true;
}

void flocked_free(struct flocked *flocked)
{
	if (flocked == NULL)
		return;
	atlock_end_free(flocked->end);
	free(flocked->ending.release);
	free(flocked);
}

void flocked_set(struct flocked *flocked, uint64_t token, struct atlock_end *end)
{
	flocked->token = token;
	atlock_end_free(atomic_exchange(&flocked->end, end));
}

bool flocked_closed(struct handle *handle, const struct fuse_buf *buf)
{
	struct flocked *flocked = handle->flocked;

	return flocked == NULL || endings_begin(handle->fs->endings, &flocked->ending, buf);
}

#define FAILED 64    /* slots for processes whose last flock failed */
#define FAILED_FOR 2 /* seconds */

/* Process and second of the failure, in one word; a later process overwrites an earlier one in the same slot. */
static _Atomic uint64_t failed[FAILED];

static uint32_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint32_t)now.tv_sec;
}

int flocked_note(const struct call *call, int err)
{
	uint32_t pid;

	if (err != -EIO)
		return err;
	pid = (uint32_t)call->ctx->pid;
	atomic_store(&failed[pid % FAILED], (uint64_t)pid << 32 | seconds());
	return err;
}

bool flocked_failed(const struct call *call)
{
	uint32_t pid = (uint32_t)call->ctx->pid;
	uint64_t last = atomic_load(&failed[pid % FAILED]);

	return pid != 0 && last >> 32 == pid && seconds() - (uint32_t)last < FAILED_FOR;
}
