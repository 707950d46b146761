#include "fair.h"

#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define FAIR_SHARES 256
#define FAIR_FEW 1                                /* requests of one user under way while there are others */
#define FAIR_RECENT (20 * (ATLOCK_SECOND / 1000)) /* for so long after a request its user is one of the others */

struct kept {
	STAILQ_ENTRY(kept) link;
	struct fuse_buf buf;
};

struct share {
	unsigned int under_way;
	STAILQ_HEAD(, kept) kept;
	TAILQ_ENTRY(share) turn; /* while something is kept */
};

struct fair {
	struct share shares[FAIR_SHARES];
	TAILQ_HEAD(, share) turns; /* who has something kept; first is next */
	/* The two who asked last, and when: enough to know of each whether he is alone. */
	const struct share *newest;
	int64_t newest_at;
	int64_t other_at;
};

struct fair *fair_new(void)
{
	struct fair *fair = calloc(1, sizeof(*fair));

	if (fair == NULL)
		return NULL;
	TAILQ_INIT(&fair->turns);
	for (size_t i = 0; i < FAIR_SHARES; i++)
		STAILQ_INIT(&fair->shares[i].kept);
	return fair;
}

static void kept_free(struct kept *kept)
{
	free(kept->buf.mem);
	free(kept);
}

void fair_free(struct fair *fair)
{
	struct kept *kept;

	if (fair == NULL)
		return;
	for (size_t i = 0; i < FAIR_SHARES; i++) {
		while ((kept = STAILQ_FIRST(&fair->shares[i].kept)) != NULL) {
			STAILQ_REMOVE_HEAD(&fair->shares[i].kept, link);
			kept_free(kept);
		}
	}
	free(fair);
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
	return time.tv_sec * ATLOCK_SECOND + time.tv_nsec;
}

static void fair_note(struct fair *fair, const struct share *share, int64_t at)
{
	if (fair->newest != share) {
		fair->newest = share;
		fair->other_at = fair->newest_at;
	}
	fair->newest_at = at;
}

/* Whether the share may have one more under way. */
static bool share_may(const struct fair *fair, const struct share *share, int64_t at)
{
	int64_t others = fair->newest == share ? fair->other_at : fair->newest_at;

	return share->under_way < FAIR_FEW || others == 0 || at - others > FAIR_RECENT;
}

/* What ends something or nobody waits for is done at once; the kernel often does not say for whom. */
static bool is_urgent(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_INIT:
	case FUSE_DESTROY:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR: return true;
	default: return false;
	}
}

static bool share_keep(struct fair *fair, struct share *share, const struct fuse_buf *buf)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	if (kept == NULL)
		return false;
	kept->buf = *buf;
	kept->buf.mem = malloc(buf->size);
	if (kept->buf.mem == NULL) {
		free(kept);
		return false;
	}
	memcpy(kept->buf.mem, buf->mem, buf->size);
	if (STAILQ_EMPTY(&share->kept))
		TAILQ_INSERT_TAIL(&fair->turns, share, turn);
	STAILQ_INSERT_TAIL(&share->kept, kept, link);
	return true;
}

struct share *fair_enter(struct fair *fair, const struct fuse_buf *buf)
{
	const struct fuse_in_header *header = buf->mem;
	struct share *share = &fair->shares[header->uid % FAIR_SHARES];
	int64_t at;

	if (!is_urgent(header->opcode)) {
		at = now();
		fair_note(fair, share, at);
		if (!share_may(fair, share, at) && share_keep(fair, share, buf))
			return NULL;
	}
	share->under_way++;
	return share;
}

void fair_leave(struct share *share)
{
	share->under_way--;
}

/* Call only if something is kept. */
static struct share *fair_turn(const struct fair *fair)
{
	struct share *share;
	int64_t at = now();

	TAILQ_FOREACH(share, &fair->turns, turn)
		if (share_may(fair, share, at))
			break;
	return share;
}

bool fair_waits(const struct fair *fair)
{
	return !TAILQ_EMPTY(&fair->turns) && fair_turn(fair) != NULL;
}

struct share *fair_next(struct fair *fair, struct fuse_buf *buf)
{
	struct share *share = TAILQ_EMPTY(&fair->turns) ? NULL : fair_turn(fair);
	struct kept *kept;

	if (share == NULL)
		return NULL;
	kept = STAILQ_FIRST(&share->kept);
	STAILQ_REMOVE_HEAD(&share->kept, link);
	TAILQ_REMOVE(&fair->turns, share, turn);
	if (!STAILQ_EMPTY(&share->kept))
		TAILQ_INSERT_TAIL(&fair->turns, share, turn);
	share->under_way++;
	*buf = kept->buf;
	free(kept);
	return share;
}
