#include "why.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#define WHY_LINES 1024

struct line {
	TAILQ_ENTRY(line) link;
	uid_t uid;
	pid_t session; /* 0: unknown */
	pid_t thread;
	enum atlock_code code;
	time_t when; /* monotonic */
	char *text;
};

TAILQ_HEAD(lines, line);

struct whys {
	pthread_mutex_t mutex;
	struct lines lines; /* mutex; newest first */
	size_t count;       /* mutex */
};

struct whys *whys_new(void)
{
	struct whys *whys = calloc(1, sizeof(*whys));

	if (whys == NULL)
		return NULL;
	pthread_mutex_init(&whys->mutex, NULL);
	TAILQ_INIT(&whys->lines);
	return whys;
}

static void line_drop(struct whys *whys, struct line *line)
{
	TAILQ_REMOVE(&whys->lines, line, link);
	whys->count--;
	free(line->text);
	free(line);
}

void whys_free(struct whys *whys)
{
	struct line *next;

	if (whys == NULL)
		return;
	for (struct line *line = TAILQ_FIRST(&whys->lines); line != NULL; line = next) {
		next = TAILQ_NEXT(line, link);
		free(line->text);
		free(line);
	}
	pthread_mutex_destroy(&whys->mutex);
	free(whys);
}

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

/* getsid(0) would be our own: a caller we cannot see has no session. */
static pid_t session_of(const struct fuse_ctx *ctx)
{
	pid_t session = ctx->pid > 0 ? getsid(ctx->pid) : 0;

	return session > 0 ? session : 0;
}

/* The newest line of a session, or of anybody with this uid if `session` is -1. */
static struct line *line_find(struct whys *whys, uid_t uid, pid_t session)
{
	struct line *line;

	TAILQ_FOREACH(line, &whys->lines, link)
		if (line->uid == uid && (session == -1 || line->session == session))
			return line;
	return NULL;
}

void why_record(struct whys *whys, const struct fuse_ctx *ctx, const struct atlock_why *why)
{
	pid_t session = session_of(ctx);
	struct line *line = calloc(1, sizeof(*line));
	struct line *old;

	if (line == NULL)
		return;
	*line = (struct line){
		.uid = ctx->uid, .session = session, .thread = ctx->pid, .code = why->code, .when = now()
	};
	line->text = strdup(why->text);
	if (line->text == NULL) {
		free(line);
		return;
	}
	pthread_mutex_lock(&whys->mutex);
	old = line_find(whys, ctx->uid, session);
	if (old != NULL)
		line_drop(whys, old);
	TAILQ_INSERT_HEAD(&whys->lines, line, link);
	whys->count++;
	if (whys->count > WHY_LINES)
		line_drop(whys, TAILQ_LAST(&whys->lines, lines));
	pthread_mutex_unlock(&whys->mutex);
}

/* The texts begin with the path of the lock. */
bool why_told_held(struct whys *whys, const struct fuse_ctx *ctx, const struct atlock_why *why)
{
	const struct line *line;
	bool told;

	pthread_mutex_lock(&whys->mutex);
	line = line_find(whys, ctx->uid, session_of(ctx));
	told = line != NULL && line->thread == ctx->pid && line->code == ATLOCK_LOCK_EXISTS &&
	       strncmp(line->text, why->text, strcspn(why->text, " ") + 1) == 0;
	pthread_mutex_unlock(&whys->mutex);
	return told;
}

/* Some refusals never reach us; then this is the best that can be said. */
static const char why_none[] =
	"OK: nothing of yours was refused here. \"File exists\" or \"Permission denied\" on a lock means "
	"that somebody has it, cat it to see who; the kernel says so without asking us\n";

char *why_text(struct whys *whys, const struct fuse_ctx *ctx, size_t *len)
{
	pid_t session = session_of(ctx);
	struct line *line;
	char *out = NULL;

	pthread_mutex_lock(&whys->mutex);
	line = session == 0 ? NULL : line_find(whys, ctx->uid, session);
	if (line == NULL)
		line = line_find(whys, ctx->uid, -1);
	if (line == NULL)
		out = strdup(why_none);
	else if (asprintf(&out, "%s: %s (%jds ago)\n", atlock_code_name(line->code), line->text,
			  (intmax_t)(now() - line->when)) < 0)
		out = NULL;
	pthread_mutex_unlock(&whys->mutex);
	*len = out == NULL ? 0 : strlen(out);
	return out;
}
