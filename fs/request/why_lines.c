#include "why_lines.h"

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
	pid_t session; /* 0: unknown */
	pid_t thread;
	time_t when; /* monotonic */
	struct atlock_why why;
};

TAILQ_HEAD(lines, line);

/* The lines of one uid; exists only while there are lines. */
struct user {
	TAILQ_ENTRY(user) link;
	uid_t uid;
	struct lines lines; /* newest first */
	size_t count;
};

TAILQ_HEAD(users, user);

struct whys {
	pthread_mutex_t mutex;
	struct users users; /* mutex; most recently refused first */
	size_t count;       /* mutex; number of all lines */
};

struct whys *whys_new(void)
{
	struct whys *whys = calloc(1, sizeof(*whys));

	if (whys == NULL)
		return NULL;
	pthread_mutex_init(&whys->mutex, NULL);
	TAILQ_INIT(&whys->users);
	return whys;
}

static void line_remove(struct whys *whys, struct user *user, struct line *line)
{
	TAILQ_REMOVE(&user->lines, line, link);
	free(line);
	user->count--;
	whys->count--;
	if (user->count > 0)
		return;
	TAILQ_REMOVE(&whys->users, user, link);
	free(user);
}

void whys_free(struct whys *whys)
{
	struct user *user;

	if (whys == NULL)
		return;
	while ((user = TAILQ_FIRST(&whys->users)) != NULL)
		line_remove(whys, user, TAILQ_FIRST(&user->lines));
	pthread_mutex_destroy(&whys->mutex);
	free(whys);
}

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

/* getsid(0) would return our own session: a caller whose pid we cannot see has none. */
static pid_t session_of(const struct fuse_ctx *ctx)
{
	pid_t session = ctx->pid > 0 ? getsid(ctx->pid) : 0;

	return session > 0 ? session : 0;
}

static struct user *user_find(struct whys *whys, uid_t uid)
{
	struct user *user;

	TAILQ_FOREACH(user, &whys->users, link)
		if (user->uid == uid)
			return user;
	return NULL;
}

/* Moves the user to the front, and makes the entry if there is none; NULL without memory. */
static struct user *user_refused(struct whys *whys, uid_t uid)
{
	struct user *user = user_find(whys, uid);

	if (user != NULL) {
		TAILQ_REMOVE(&whys->users, user, link);
	} else {
		user = calloc(1, sizeof(*user));
		if (user == NULL)
			return NULL;
		user->uid = uid;
		TAILQ_INIT(&user->lines);
	}
	TAILQ_INSERT_HEAD(&whys->users, user, link);
	return user;
}

/* The user's newest line of a session, or of any session if it is -1. `user` may be NULL. */
static struct line *line_find(const struct user *user, pid_t session)
{
	struct line *line;

	if (user == NULL)
		return NULL;
	TAILQ_FOREACH(line, &user->lines, link)
		if (session == -1 || line->session == session)
			return line;
	return NULL;
}

static struct line *line_new(const struct fuse_ctx *ctx, const struct atlock_why *why)
{
	struct line *line = malloc(sizeof(*line));

	if (line != NULL)
		*line = (struct line){
			.session = session_of(ctx),
			.thread = ctx->pid,
			.when = now(),
			.why = *why,
		};
	return line;
}

/*
 * Makes space for one line by dropping one of the user with the most: a user with few lines keeps them, whatever others
 * do. Avoids TAILQ_LAST(), which reads the head through another type: compilers may optimise on strict aliasing.
 */
static void line_drop_one(struct whys *whys)
{
	struct user *most = NULL;
	struct line *oldest = NULL;
	struct user *user;
	struct line *line;

	TAILQ_FOREACH(user, &whys->users, link)
		if (most == NULL || user->count >= most->count)
			most = user;
	if (most == NULL)
		return;
	TAILQ_FOREACH(line, &most->lines, link)
		oldest = line;
	line_remove(whys, most, oldest);
}

/* Call with the mutex held: the line replaces that of the same session. False without memory. */
static bool line_add(struct whys *whys, uid_t uid, struct line *line)
{
	struct user *user = user_find(whys, uid);
	struct line *gone = line_find(user, line->session);

	if (gone != NULL)
		line_remove(whys, user, gone);
	else if (whys->count == WHY_LINES)
		line_drop_one(whys);
	user = user_refused(whys, uid);
	if (user == NULL)
		return false;
	TAILQ_INSERT_HEAD(&user->lines, line, link);
	user->count++;
	whys->count++;
	return true;
}

void why_record(struct fs *fs, const struct fuse_ctx *ctx, const struct atlock_why *why)
{
	struct whys *whys = fs->whys;
	struct line *line = line_new(ctx, why);
	bool added;

	if (line == NULL)
		return;
	attr_touch(fs);
	pthread_mutex_lock(&whys->mutex);
	added = line_add(whys, ctx->uid, line);
	pthread_mutex_unlock(&whys->mutex);
	if (!added)
		free(line);
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
	line = line_find(user_find(whys, ctx->uid), session_of(ctx));
	told = line != NULL && line->thread == ctx->pid && line->why.code == ATLOCK_LOCK_EXISTS &&
	       same_subject(&line->why, why);
	pthread_mutex_unlock(&whys->mutex);
	return told;
}

/* The kernel decides some refusals without us; then this is all that `why` can say. */
static const char why_none[] =
	"OK: nothing of yours was refused here. \"File exists\" on a lock means that somebody has it, "
	"cat it to see who; the kernel says so without asking us\n";

/* Call with the mutex held. */
static const struct line *line_of(struct whys *whys, const struct fuse_ctx *ctx)
{
	const struct user *user = user_find(whys, ctx->uid);
	pid_t session = session_of(ctx);
	const struct line *line = session == 0 ? NULL : line_find(user, session);

	return line != NULL ? line : line_find(user, -1);
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
