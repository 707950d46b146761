#include "redis_process.h"

#include "redis_script.h"

#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define WORDS 16

static const struct {
	const char *format;
	const char *flags;
} scripts[REDIS_SCRIPTS] = {
	[REDIS_COMMIT] = { redis_commit_script, REDIS_USUAL },
	[REDIS_COMMIT_FULL] = { redis_commit_script, REDIS_FULL },
	[REDIS_BARRIER] = { redis_barrier_script, REDIS_FULL },
};

void redis_process_init(struct redis_process *process, struct redis_line *line, const char *hash, const char *stream)
{
	*process = (struct redis_process){ .line = line, .hash = hash, .stream = stream };
	pthread_mutex_init(&process->lock, NULL);
}

void redis_process_destroy(struct redis_process *process)
{
	pthread_mutex_destroy(&process->lock);
}

/* As redis_line_ask(), by the connection that is known, without doubt. */
static int ask_known(struct redis_process *process, const struct slice *words, size_t count, redisReply **out)
{
	process->line->only = process->of;
	int rc = redis_line_ask(process->line, words, count, 0, out);
	process->line->only = 0;
	return rc > 0 || rc == -EINPROGRESS ? -EHOSTDOWN : rc;
}

static int process_ask(struct redis_process *process)
{
	const struct slice words[] = { slice_of("INFO"), slice_of("server") };
	struct redis_line *line = process->line;
	char version[REDIS_VERSION] = "";
	redisReply *reply;

	process->of = line->connections;
	int rc = ask_known(process, words, 2, &reply);
	if (rc == 0) {
		rc = reply_process(reply, process->run_id, version);
		freeReplyObject(reply);
	}
	if (rc == -EPROTONOSUPPORT)
		(void)snprintf(line->trouble, sizeof(line->trouble),
			       "%.120s:%d is Redis %s: version 7 or later is needed", line->target.node.host,
			       line->target.node.port, version);
	if (rc < 0)
		process->of = 0;
	return rc == -EBADMSG ? -EHOSTDOWN : rc;
}

int redis_process_know(struct redis_process *process)
{
	const struct slice words[] = { slice_of("HMGET"), slice_of(process->hash), slice_of("mid") };
	struct redis_line *line = process->line;
	redisReply *reply;
	int rc = redis_line_open(line);

	if (rc < 0 || process->of == line->connections)
		return rc;
	/* In a cluster the node that was named may not be the one that has the realm: a question about its key is sent on. */
	rc = redis_line_ask(line, words, 3, 0, &reply);
	if (rc != 0)
		return rc > 0 || rc == -EINPROGRESS ? -EHOSTDOWN : rc;
	freeReplyObject(reply);
	return process_ask(process);
}

int redis_process_eval(struct redis_process *process, const char *script, const struct slice *args, size_t count,
		       redisReply **out)
{
	struct slice words[WORDS] = { slice_of("EVAL"), slice_of(script), slice_of("2"), slice_of(process->hash),
				      slice_of(process->stream) };
	size_t at = 5;

	for (size_t i = 0; i < count && at < WORDS; i++)
		words[at++] = args[i];
	return ask_known(process, words, at, out);
}

/* Loads one script; its sum. */
static int script_load(struct redis_process *process, enum redis_script script, uint64_t epoch,
		       char sha[static REDIS_SHA + 1])
{
	char number[24];
	char text[4096];
	redisReply *reply;

	(void)snprintf(number, sizeof(number), "%" PRIu64, epoch);
	/* The formats are this room's own. */
	int len = snprintf(text, sizeof(text), scripts[script].format, scripts[script].flags, number);
	if (len < 0 || (size_t)len >= sizeof(text))
		return -E2BIG;
	const struct slice words[] = { slice_of("SCRIPT"), slice_of("LOAD"), { .data = text, .len = (size_t)len } };
	int rc = ask_known(process, words, 3, &reply);
	if (rc < 0)
		return rc;
	bool good = reply->type == REDIS_REPLY_STRING && reply->len == REDIS_SHA;
	if (good)
		(void)strlcpy(sha, reply->str, REDIS_SHA + 1);
	freeReplyObject(reply);
	return good ? 0 : -EBADMSG;
}

int redis_process_load(struct redis_process *process, uint64_t epoch)
{
	char shas[REDIS_SCRIPTS][REDIS_SHA + 1];
	int rc = 0;

	for (enum redis_script i = 0; i < REDIS_SCRIPTS && rc == 0; i++)
		rc = script_load(process, i, epoch, shas[i]);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&process->lock);
	process->epoch = epoch;
	memcpy(process->shas, shas, sizeof(shas));
	pthread_mutex_unlock(&process->lock);
	return 0;
}

int redis_process_sha(struct redis_process *process, enum redis_script script, uint64_t epoch,
		      char out[static REDIS_SHA + 1])
{
	pthread_mutex_lock(&process->lock);
	int rc = process->epoch == epoch ? 0 : REMOTE_HELLO;
	memcpy(out, process->shas[script], REDIS_SHA + 1);
	pthread_mutex_unlock(&process->lock);
	return rc;
}
