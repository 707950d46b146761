#include "why.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "attr.h"

#define WHY_LINES 1024

struct line {
	TAILQ_ENTRY(line) link;
	uid_t uid;
	pid_t session; /* 0: unknown */
	pid_t thread;
	time_t when; /* monotonic */
	struct atlock_why why;
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

static void line_remove(struct whys *whys, struct line *line)
{
	TAILQ_REMOVE(&whys->lines, line, link);
	whys->count--;
}

static void line_add(struct whys *whys, struct line *line)
{
	TAILQ_INSERT_HEAD(&whys->lines, line, link);
	whys->count++;
}

void whys_free(struct whys *whys)
{
	struct line *next;

	if (whys == NULL)
		return;
	for (struct line *line = TAILQ_FIRST(&whys->lines); line != NULL; line = next) {
		next = TAILQ_NEXT(line, link);
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

static struct line *line_new(const struct fuse_ctx *ctx, const struct atlock_why *why)
{
	struct line *line = malloc(sizeof(*line));

	if (line != NULL)
		*line = (struct line){
			.uid = ctx->uid,
			.session = session_of(ctx),
			.thread = ctx->pid,
			.when = now(),
			.why = *why,
		};
	return line;
}

/* Not by TAILQ_LAST(), which reads the head as another type than it is, and compilers may take that for a promise. */
static struct line *line_oldest(struct whys *whys)
{
	struct line *oldest = NULL;
	struct line *line;

	TAILQ_FOREACH(line, &whys->lines, link)
		oldest = line;
	return oldest;
}

void why_record(struct fs *fs, const struct fuse_ctx *ctx, const struct atlock_why *why)
{
	struct whys *whys = fs->whys;
	struct line *line = line_new(ctx, why);
	struct line *gone;

	if (line == NULL)
		return;
	attr_touch(fs);
	pthread_mutex_lock(&whys->mutex);
	gone = line_find(whys, line->uid, line->session);
	if (gone == NULL && whys->count == WHY_LINES)
		gone = line_oldest(whys);
	if (gone != NULL)
		line_remove(whys, gone);
	line_add(whys, line);
	pthread_mutex_unlock(&whys->mutex);
	free(gone);
}

static bool same_subject(const struct atlock_why *a, const struct atlock_why *b)
{
	return a->subject != 0 && a->subject == b->subject &&
	       memcmp(a->text + a->begin, b->text + b->begin, a->subject) == 0;
}

bool why_told_held(struct whys *whys, const struct fuse_ctx *ctx, const struct atlock_why *why)
{
	const struct line *line;
	bool told;

	pthread_mutex_lock(&whys->mutex);
	line = line_find(whys, ctx->uid, session_of(ctx));
	told = line != NULL && line->thread == ctx->pid && line->why.code == ATLOCK_LOCK_EXISTS &&
	       same_subject(&line->why, why);
	pthread_mutex_unlock(&whys->mutex);
	return told;
}

/* Some refusals never reach us; then this is the best that can be said. */
static const char why_none[] =
	"OK: nothing of yours was refused here. \"File exists\" on a lock means that somebody has it, "
	"cat it to see who; the kernel says so without asking us\n";

/* With the mutex held. */
static const struct line *line_of(struct whys *whys, const struct fuse_ctx *ctx)
{
	pid_t session = session_of(ctx);
	const struct line *line = session == 0 ? NULL : line_find(whys, ctx->uid, session);

	return line != NULL ? line : line_find(whys, ctx->uid, -1);
}

char *why_text(struct whys *whys, const struct fuse_ctx *ctx, size_t *len)
{
	const struct line *line;
	char *out = NULL;

	pthread_mutex_lock(&whys->mutex);
	line = line_of(whys, ctx);
	if (line == NULL)
		out = strdup(why_none);
	else if (asprintf(&out, "%s: %s (%jds ago)\n", atlock_code_name(line->why.code), line->why.text,
			  (intmax_t)(now() - line->when)) < 0)
		out = NULL;
	pthread_mutex_unlock(&whys->mutex);
	*len = out == NULL ? 0 : strlen(out);
	return out;
}

int why_part(struct whys *whys, const struct fuse_ctx *ctx, const char *key, char *out, size_t len)
{
	struct atlock_why why = { .code = ATLOCK_OK };
	const struct line *line;
	size_t end;

	pthread_mutex_lock(&whys->mutex);
	line = line_of(whys, ctx);
	if (line != NULL)
		why = line->why;
	pthread_mutex_unlock(&whys->mutex);
	end = why.end == 0 ? strlen(why.text) : why.end;
	out[0] = '\0';
	if (strcmp(key, "code") == 0)
		(void)snprintf(out, len, "%s", atlock_code_name(why.code));
	if (line != NULL && strcmp(key, "fact") == 0)
		(void)snprintf(out, len, "%.*s", (int)(end - why.begin), why.text + why.begin);
	if (line != NULL && strcmp(key, "advice") == 0)
		(void)snprintf(out, len, "%s", atlock_advice_name(why.advice));
	return out[0] == '\0' ? -ENODATA : 0;
}
