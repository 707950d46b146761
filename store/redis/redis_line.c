#include "redis_line.h"

#include "remote_adapter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void redis_line_init(struct redis_line *line, const struct redis_uri *uri, int timeout)
{
	*line = (struct redis_line){ .uri = uri, .timeout = timeout };
}

void redis_line_close(struct redis_line *line)
{
	if (line->context != NULL)
		redisFree(line->context);
	line->context = NULL;
}

int redis_error(const char *text)
{
	static const struct {
		const char *begin;
		int is;
	} known[] = {
		{ "NOSCRIPT", REMOTE_HELLO },  { "OOM", -ENOSPC },
		{ "NOAUTH", -EACCES },         { "WRONGPASS", -EACCES },
		{ "READONLY", -EHOSTDOWN },    { "NOREPLICAS", -EHOSTDOWN },
		{ "MASTERDOWN", -EHOSTDOWN },  { "LOADING", -EHOSTDOWN },
		{ "BUSY", -EHOSTDOWN },        { "MISCONF", -EHOSTDOWN },
		{ "CLUSTERDOWN", -EHOSTDOWN }, { "MOVED", -EHOSTDOWN },
		{ "ASK", -EHOSTDOWN },         { "TRYAGAIN", -EHOSTDOWN },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(text, known[i].begin, strlen(known[i].begin)) == 0)
			return known[i].is;
	/* Of the command itself, not of one that a script calls. */
	return strncmp(text, "NOPERM", 6) == 0 && strstr(text, "script:") == NULL ? -EACCES : -EINPROGRESS;
}

static struct timeval timeval_of(int ms)
{
	return (struct timeval){ .tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000 };
}

/* A command of words, for its effect. */
static int tell(struct redis_line *line, int count, const char **words)
{
	redisReply *reply = redisCommandArgv(line->context, count, words, NULL);
	int rc = reply == NULL ? -EHOSTDOWN : reply->type != REDIS_REPLY_ERROR ? 0 : redis_error(reply->str);

	freeReplyObject(reply);
	return rc == 0 || rc == -EACCES ? rc : -EHOSTDOWN;
}

static int login(struct redis_line *line)
{
	const struct redis_uri *uri = line->uri;
	char db[16];
	int rc = 0;

	if (uri->password[0] != '\0' && uri->user[0] != '\0')
		rc = tell(line, 3, (const char *[]){ "AUTH", uri->user, uri->password });
	else if (uri->password[0] != '\0')
		rc = tell(line, 2, (const char *[]){ "AUTH", uri->password });
	if (rc == 0 && uri->db != 0) {
		(void)snprintf(db, sizeof(db), "%d", uri->db);
		rc = tell(line, 2, (const char *[]){ "SELECT", db });
	}
	return rc;
}

int redis_line_open(struct redis_line *line)
{
	if (line->context != NULL)
		return 0;
	line->context = redisConnectWithTimeout(line->uri->host, line->uri->port, timeval_of(line->timeout));
	int rc = line->context == NULL ? -ENOMEM : line->context->err != 0 ? -EHOSTDOWN : 0;
	if (rc == 0) {
		(void)redisEnableKeepAlive(line->context);
		(void)redisSetTimeout(line->context, timeval_of(line->timeout));
		rc = login(line);
	}
	if (rc < 0)
		redis_line_close(line);
	else
		line->connections++;
	return rc;
}

int redis_line_ask(struct redis_line *line, const struct slice *words, size_t count, int wait, redisReply **out)
{
	const char **argv = calloc(count, sizeof(*argv));
	size_t *lens = calloc(count, sizeof(*lens));
	redisReply *reply = NULL;
	int rc = argv == NULL || lens == NULL ? -ENOMEM : redis_line_open(line);

	*out = NULL;
	if (rc == 0) {
		for (size_t i = 0; i < count; i++) {
			argv[i] = words[i].data;
			lens[i] = words[i].len;
		}
		(void)redisSetTimeout(line->context, timeval_of(line->timeout + wait));
		reply = redisCommandArgv(line->context, (int)count, argv, lens);
		rc = reply == NULL ? -EINPROGRESS : reply->type == REDIS_REPLY_ERROR ? redis_error(reply->str) : 0;
		if (reply == NULL)
			redis_line_close(line);
	}
	free(argv);
	free(lens);
	if (rc == 0)
		*out = reply;
	else
		freeReplyObject(reply);
	return rc;
}
