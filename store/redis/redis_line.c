#include "redis_line.h"

#include "remote_adapter.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REDIRECTS 5  /* that one request follows */
#define ELSEWHERE 64 /* not one of enum remote_result: the realm is elsewhere */

void redis_line_init(struct redis_line *line, struct redis_place *place, int timeout)
{
	*line = (struct redis_line){ .place = place, .timeout = timeout };
}

void redis_line_close(struct redis_line *line)
{
	if (line->context != NULL)
		redisFree(line->context);
	line->context = NULL;
}

/* What errors begin with. */
static const struct known {
	const char *begin;
	int is;
	bool elsewhere; /* another server may have the realm now */
} knowns[] = {
	{ "NOSCRIPT", REMOTE_HELLO, false }, { "OOM", -ENOSPC, false },          { "NOAUTH", -EACCES, false },
	{ "WRONGPASS", -EACCES, false },     { "DENIED", -EACCES, false },       { "READONLY", -EHOSTDOWN, true },
	{ "NOREPLICAS", -EHOSTDOWN, true },  { "MASTERDOWN", -EHOSTDOWN, true }, { "LOADING", -EHOSTDOWN, false },
	{ "BUSY", -EHOSTDOWN, false },       { "MISCONF", -EHOSTDOWN, false },   { "CLUSTERDOWN", -EHOSTDOWN, true },
	{ "MOVED", -EHOSTDOWN, false },      { "ASK", -EHOSTDOWN, false },       { "TRYAGAIN", -EHOSTDOWN, false },
	{ "UNBLOCKED", -EHOSTDOWN, true },
};

static const struct known *known_find(const char *text)
{
	for (size_t i = 0; i < sizeof(knowns) / sizeof(knowns[0]); i++)
		if (strncmp(text, knowns[i].begin, strlen(knowns[i].begin)) == 0)
			return &knowns[i];
	return NULL;
}

int redis_error(const char *text)
{
	const struct known *known = known_find(text);

	if (known != NULL)
		return known->is;
	/* Of the command itself, not of one that a script calls. */
	return strncmp(text, "NOPERM", 6) == 0 && strstr(text, "script:") == NULL ? -EACCES : -EINPROGRESS;
}

/* Notes what is wrong; `text` may be the server's. */
static void trouble_set(struct redis_line *line, const char *text)
{
	(void)snprintf(line->trouble, sizeof(line->trouble), "%.120s:%d: %.100s", line->target.node.host,
		       line->target.node.port, text);
}

static struct timeval timeval_until(int64_t until)
{
	int64_t ms = until - redis_clock();

	ms = ms < 1 ? 1 : ms;
	return (struct timeval){ .tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000 };
}

/* A command of words, for its effect. */
static int tell(struct redis_line *line, int64_t until, int count, const char **words)
{
	(void)redisSetTimeout(line->context, timeval_until(until));
	redisReply *reply = redisCommandArgv(line->context, count, words, NULL);
	int rc = reply == NULL ? -EHOSTDOWN : reply->type != REDIS_REPLY_ERROR ? 0 : redis_error(reply->str);

	if (rc != 0)
		trouble_set(line, reply == NULL ? line->context->errstr : reply->str);
	freeReplyObject(reply);
	return rc == 0 || rc == -EACCES ? rc : -EHOSTDOWN;
}

static int login(struct redis_line *line, int64_t until)
{
	const struct redis_address *address = line->place->address;
	char db[16];
	int rc = 0;

	if (address->password[0] != '\0' && address->user[0] != '\0')
		rc = tell(line, until, 3, (const char *[]){ "AUTH", address->user, address->password });
	else if (address->password[0] != '\0')
		rc = tell(line, until, 2, (const char *[]){ "AUTH", address->password });
	if (rc == 0 && address->db != 0) {
		(void)snprintf(db, sizeof(db), "%d", address->db);
		rc = tell(line, until, 2, (const char *[]){ "SELECT", db });
	}
	return rc;
}

static int open_until(struct redis_line *line, int64_t until)
{
	if (line->context != NULL && redis_place_is(line->place, &line->target))
		return line->only == 0 || line->only == line->connections ? 0 : -EHOSTDOWN;
	redis_line_close(line);
	if (line->only != 0)
		return -EHOSTDOWN;
	int rc = redis_place_find(line->place, line->timeout / 2, &line->target);
	if (rc < 0) {
		(void)strlcpy(line->trouble, "no Sentinel names the server", sizeof(line->trouble));
		return rc;
	}
	line->context = redisConnectWithTimeout(line->target.node.host, line->target.node.port, timeval_until(until));
	rc = line->context == NULL ? -ENOMEM : line->context->err != 0 ? -EHOSTDOWN : 0;
	if (rc == 0) {
		(void)redisEnableKeepAlive(line->context);
		rc = login(line, until);
	} else if (line->context != NULL) {
		trouble_set(line, line->context->errstr);
	}
	if (rc == -EHOSTDOWN)
		redis_place_forget(line->place, &line->target);
	if (rc < 0)
		redis_line_close(line);
	else
		line->connections++;
	return rc;
}

int redis_line_open(struct redis_line *line)
{
	return open_until(line, redis_clock() + line->timeout);
}

/* A command, after ASKING if need be. NULL: no answer. */
static redisReply *exchange(struct redis_line *line, const char **argv, const size_t *lens, size_t count, int64_t until)
{
	void *reply = NULL;

	(void)redisSetTimeout(line->context, timeval_until(until));
	if (!line->target.asking)
		return redisCommandArgv(line->context, (int)count, argv, lens);
	if (redisAppendCommand(line->context, "ASKING") != REDIS_OK ||
	    redisAppendCommandArgv(line->context, (int)count, argv, lens) != REDIS_OK ||
	    redisGetReply(line->context, &reply) != REDIS_OK)
		return NULL;
	freeReplyObject(reply);
	reply = NULL;
	(void)redisGetReply(line->context, &reply);
	return reply;
}

/* As redis_line_ask(), once; ELSEWHERE if it must be sent again, to another server. */
static int ask_once(struct redis_line *line, const char **argv, const size_t *lens, size_t count, int64_t until,
		    redisReply **out)
{
	int rc = open_until(line, until);

	if (rc < 0)
		return rc;
	redisReply *reply = exchange(line, argv, lens, count, until);
	if (reply == NULL) {
		trouble_set(line, line->context->errstr);
		redis_place_forget(line->place, &line->target);
		redis_line_close(line);
		return -EINPROGRESS;
	}
	if (reply->type != REDIS_REPLY_ERROR) {
		*out = reply;
		return 0;
	}
	const struct known *known = known_find(reply->str);
	bool elsewhere = redis_place_redirect(line->place, &line->target, reply->str);
	trouble_set(line, reply->str);
	if (known != NULL && known->elsewhere)
		redis_place_forget(line->place, &line->target);
	rc = elsewhere ? ELSEWHERE : redis_error(reply->str);
	freeReplyObject(reply);
	return rc;
}

int redis_line_ask(struct redis_line *line, const struct slice *words, size_t count, int wait, redisReply **out)
{
	int64_t until = redis_clock() + line->timeout + wait;
	const char **argv = calloc(count, sizeof(*argv));
	size_t *lens = calloc(count, sizeof(*lens));
	int rc = argv == NULL || lens == NULL ? -ENOMEM : ELSEWHERE;

	*out = NULL;
	for (size_t i = 0; i < count && rc != -ENOMEM; i++) {
		argv[i] = words[i].data;
		lens[i] = words[i].len;
	}
	for (int i = 0; i < REDIRECTS && rc == ELSEWHERE; i++)
		rc = ask_once(line, argv, lens, count, until, out);
	free(argv);
	free(lens);
	return rc == ELSEWHERE ? -EHOSTDOWN : rc;
}
