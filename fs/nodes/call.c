/* One request while it is processed: what it is about and, if it is refused, why. */
#include <atlock/program.h>
#include <bsd/string.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs.h"

#define CALLS_KEPT 32 /* for requests to come: a call has 3 KiB, and a burst of them must not keep a megabyte */

struct calls {
	pthread_mutex_t mutex;
	struct call_list free; /* protected by mutex, as the next */
	size_t kept;
};

struct calls *calls_new(void)
{
	struct calls *calls = calloc(1, sizeof(*calls));

	if (calls == NULL)
		return NULL;
	pthread_mutex_init(&calls->mutex, NULL);
	TAILQ_INIT(&calls->free);
	return calls;
}

void calls_free(struct calls *calls)
{
	struct call *call;

	if (calls == NULL)
		return;
	while ((call = TAILQ_FIRST(&calls->free)) != NULL) {
		TAILQ_REMOVE(&calls->free, call, link);
		free(call);
	}
	pthread_mutex_destroy(&calls->mutex);
	free(calls);
}

void call_free(struct call *call)
{
	struct fs *fs = call->fs;
	struct share *share = call->share;
	bool keep;

	pthread_mutex_lock(&fs->calls->mutex);
	keep = fs->calls->kept < CALLS_KEPT;
	if (keep) {
		TAILQ_INSERT_HEAD(&fs->calls->free, call, link);
		fs->calls->kept++;
	}
	pthread_mutex_unlock(&fs->calls->mutex);
	if (!keep)
		free(call);
	if (share != NULL)
		fs->wire->ended(fs, share);
}

/* Takes the call that was freed last, which is in the processor's cache, or a new one. */
struct call *call_begin(fuse_req_t req, struct node *node, const char *name, enum act act)
{
	struct fs *fs = fuse_req_userdata(req);
	struct call *call;

	pthread_mutex_lock(&fs->calls->mutex);
	call = TAILQ_FIRST(&fs->calls->free);
	if (call != NULL) {
		TAILQ_REMOVE(&fs->calls->free, call, link);
		fs->calls->kept--;
	}
	pthread_mutex_unlock(&fs->calls->mutex);
	if (call == NULL)
		call = malloc(sizeof(*call));
	if (call == NULL) {
		fuse_reply_err(req, ENOMEM);
		return NULL;
	}
	call->fs = fs;
	call->al = fs->al;
	call->req = req;
	call->ctx = fuse_req_ctx(req);
	call->node = node;
	call->name = name;
	if (name != NULL && strlcpy(call->component, name, sizeof(call->component)) < sizeof(call->component))
		call->name = call->component;
	call->act = act;
	call->paged = false;
	call->groups = NULL;
	call->group_count = 0;
	call->why.code = ATLOCK_OK;
	call->why.noted = false;
	call->why.text[0] = '\0';
	call->share = NULL;
	call->waited = false;
	call->again = NULL;
	call->named = NULL;
	return call;
}

void call_later(struct call *call)
{
	if (call->share == NULL)
		call->share = call->fs->wire->later(call->fs, fuse_req_ctx(call->req)->uid);
}

int caller_identify(struct call *call, const char *who, struct atlock_caller *out)
{
	int err = atlock_identify(call->al, call->ctx->pid, call->ctx->uid, call->ctx->gid, who, out, &call->why);

	/* The process cannot change its identity while its request waits for our reply. */
	if (err == 0)
		atlock_caller_look(call->al, out);
	return err;
}

/* Any who that can be written after '@' is good enough: only the user matters. */
int caller_user(struct call *call, struct atlock_caller *out)
{
	return caller_identify(call, "x", out);
}

void call_told(struct call *call)
{
	call->why.text[0] = '\0';
	call->act = ACT_LOOK;
}

int call_refuse(struct call *call, int err, enum atlock_code code, const char *fmt, ...)
{
	va_list args;

	call->why = (struct atlock_why){ .code = code };
	va_start(args, fmt);
	vsnprintf(call->why.text, sizeof(call->why.text), fmt, args);
	va_end(args);
	/* The text may quote a name as the caller gave it. */
	atlock_tame(call->why.text, strlen(call->why.text));
	return err;
}
