#include "redis_nodes.h"

#include <bsd/string.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_SECONDS 5
#define ANSWER_SECONDS 10
#define MOVES_MAX 5 /* a key that moves more often while it is asked for is given up */

/* The server's texts may be long, never contain a password, and are one line. */
int redis_nodes_fail(struct redis_nodes *nodes, const redisReply *reply)
{
	const redisContext *context = nodes->count > 0 ? nodes->peers[nodes->now].context : NULL;

	if (reply != NULL)
		return foreign_fail(nodes->base,
				    strncmp(reply->str, "NOAUTH", 6) == 0 || strncmp(reply->str, "WRONGPASS", 9) == 0 ||
						    strncmp(reply->str, "NOPERM", 6) == 0
					    ? -EACCES
					    : -EIO,
				    "%s: %.160s", nodes->where, reply->str);
	if (context == NULL)
		return foreign_fail(nodes->base, -ENOMEM, "out of memory");
	return foreign_fail(nodes->base, -EHOSTDOWN, "%s: %s", nodes->where,
			    context->err == REDIS_ERR_IO ? strerror(errno) : context->errstr);
}

/* --- Nodes --- */

/* The node of that address, which is added if it is new; -E2BIG. */
static ssize_t peer_find(struct redis_nodes *nodes, const char *host, int port)
{
	for (size_t i = 0; i < nodes->count; i++)
		if (nodes->peers[i].port == port && strcmp(nodes->peers[i].host, host) == 0)
			return (ssize_t)i;
	if (nodes->count == REDIS_NODES_MAX)
		return foreign_fail(nodes->base, -E2BIG, "a Cluster of more than %d nodes is not read",
				    REDIS_NODES_MAX);
	nodes->peers[nodes->count] = (struct redis_peer){ .port = port };
	strlcpy(nodes->peers[nodes->count].host, host, sizeof(nodes->peers[0].host));
	return (ssize_t)nodes->count++;
}

static int login(struct redis_nodes *nodes)
{
	const struct redis_uri *uri = &nodes->uri;
	char db[16];
	int err = 0;

	if (uri->password[0] != '\0')
		err = uri->user[0] != '\0' ? redis_tell(nodes, "AUTH", uri->user, uri->password)
					   : redis_tell(nodes, "AUTH", uri->password, NULL);
	if (err < 0 || uri->db == 0)
		return err;
	snprintf(db, sizeof(db), "%d", uri->db);
	return redis_tell(nodes, "SELECT", db, NULL);
}

int redis_nodes_use(struct redis_nodes *nodes, size_t index)
{
	const struct timeval connect = { .tv_sec = CONNECT_SECONDS };
	const struct timeval answer = { .tv_sec = ANSWER_SECONDS };
	struct redis_peer *peer = &nodes->peers[index];

	nodes->now = index;
	snprintf(nodes->where, sizeof(nodes->where), "%sredis at %s port %d",
		 nodes->cluster ? "a node of the Cluster, " : "", peer->host, peer->port);
	if (peer->context != NULL && peer->context->err == 0)
		return 0;
	if (peer->context != NULL)
		redisFree(peer->context);
	peer->context = redisConnectWithTimeout(peer->host, peer->port, connect);
	if (peer->context == NULL || peer->context->err != 0 || redisSetTimeout(peer->context, answer) != REDIS_OK)
		return redis_nodes_fail(nodes, NULL);
	return login(nodes);
}

/* "id host:port@bus[,name] flags master ping pong epoch state slots...": adds a node that has slots. An empty host is the one asked. */
static int node_read(struct redis_nodes *nodes, char *line)
{
	char *words[9] = { NULL };
	char *end;
	size_t n = 0;

	while (n < 9 && (words[n] = strsep(&line, " ")) != NULL)
		n++;
	if (n < 9 || strstr(words[2], "master") == NULL)
		return 0;
	words[1][strcspn(words[1], "@")] = '\0';
	end = strrchr(words[1], ':');
	if (end == NULL)
		return foreign_fail(nodes->base, -EBADMSG, "%s names a node without a port", nodes->where);
	*end = '\0';
	return peer_find(nodes, words[1][0] == '\0' ? nodes->uri.host : words[1], atoi(end + 1)) < 0 ? -E2BIG : 0;
}

int redis_nodes_look(struct redis_nodes *nodes)
{
	redisReply *reply;
	char *rest;
	char *line;
	int err;

	if (!nodes->cluster)
		return 0;
	reply = redis_ask_words(nodes, &err, "CLUSTER", "NODES", NULL);
	if (reply == NULL)
		return err;
	rest = reply->type == REDIS_REPLY_STRING ? reply->str : NULL;
	while (err == 0 && (line = strsep(&rest, "\n")) != NULL)
		err = node_read(nodes, line);
	freeReplyObject(reply);
	nodes->base->nodes = (unsigned int)nodes->count;
	return err;
}

static bool is_cluster(struct redis_nodes *nodes)
{
	int err;
	redisReply *reply = redis_ask_words(nodes, &err, "INFO", "cluster", NULL);
	bool cluster = reply != NULL && reply->type == REDIS_REPLY_STRING &&
		       strstr(reply->str, "cluster_enabled:1") != NULL;

	freeReplyObject(reply);
	return cluster;
}

/* --- Commands --- */

/* "MOVED 866 host:port": asks that node from now on. 1: the reply is something else. */
static int follow(struct redis_nodes *nodes, const redisReply *reply)
{
	char host[256];
	const char *at = strncmp(reply->str, "MOVED ", 6) == 0 ? strchr(reply->str + 6, ' ') : NULL;
	const char *end = at == NULL ? NULL : strrchr(at, ':');
	ssize_t index;

	if (end == NULL || (size_t)(end - at) > sizeof(host))
		return 1;
	strlcpy(host, at + 1, (size_t)(end - at));
	index = peer_find(nodes, host[0] == '\0' ? nodes->peers[nodes->now].host : host, atoi(end + 1));
	return index < 0 ? (int)index : redis_nodes_use(nodes, (size_t)index);
}

redisReply *redis_ask(struct redis_nodes *nodes, int *err, int argc, const char **argv, const size_t *lens)
{
	redisReply *reply = NULL;

	for (int moves = 0; moves <= MOVES_MAX; moves++) {
		freeReplyObject(reply);
		reply = redisCommandArgv(nodes->peers[nodes->now].context, argc, argv, lens);
		*err = 0;
		if (reply != NULL && reply->type != REDIS_REPLY_ERROR)
			return reply;
		*err = reply == NULL ? 1 : follow(nodes, reply);
		if (*err != 0)
			break;
	}
	if (*err >= 0)
		*err = redis_nodes_fail(nodes, reply);
	freeReplyObject(reply);
	return NULL;
}

redisReply *redis_ask_words(struct redis_nodes *nodes, int *err, const char *a, const char *b, const char *c)
{
	const char *argv[] = { a, b, c };

	return redis_ask(nodes, err, c != NULL ? 3 : b != NULL ? 2 : 1, argv, NULL);
}

int redis_tell(struct redis_nodes *nodes, const char *a, const char *b, const char *c)
{
	int err;

	freeReplyObject(redis_ask_words(nodes, &err, a, b, c));
	return err;
}

/* The calls of a command as INFO tells them; 0 if there were none. */
static int64_t calls_of(const char *info, const char *command)
{
	char line[64];
	const char *at;

	snprintf(line, sizeof(line), "cmdstat_%s:calls=", command);
	at = strstr(info, line);
	return at == NULL ? 0 : strtoll(at + strlen(line), NULL, 10);
}

int64_t redis_nodes_flushes(struct redis_nodes *nodes)
{
	int err;
	redisReply *reply = redis_ask_words(nodes, &err, "INFO", "commandstats", NULL);
	int64_t flushes = reply == NULL || reply->type != REDIS_REPLY_STRING
				  ? -1
				  : calls_of(reply->str, "flushall") + calls_of(reply->str, "flushdb");

	freeReplyObject(reply);
	return flushes;
}

/* --- Notifications --- */

/* Whether the server tells of every change of a string: K, and A or both g (del) and $ (set). */
static bool is_telling(struct redis_nodes *nodes)
{
	int err;
	redisReply *reply = redis_ask_words(nodes, &err, "CONFIG", "GET", "notify-keyspace-events");
	const char *classes = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
					      reply->element[1]->type == REDIS_REPLY_STRING
				      ? reply->element[1]->str
				      : "";
	bool telling = strchr(classes, 'K') != NULL &&
		       (strchr(classes, 'A') != NULL || (strchr(classes, 'g') != NULL && strchr(classes, '$') != NULL));

	freeReplyObject(reply);
	return telling;
}

static void watch_end(struct redis_nodes *nodes)
{
	if (nodes->watch != NULL)
		redisFree(nodes->watch);
	nodes->watch = NULL;
	nodes->base->watch = -1;
}

/* Subscribes on a connection of its own. A server that does not tell, or not us, is polled: that is no failure. */
static void watch_begin(struct redis_nodes *nodes)
{
	struct redis_nodes *other;
	char pattern[48];
	int err;

	if (nodes->cluster || !is_telling(nodes))
		return;
	other = calloc(1, sizeof(*other));
	if (other == NULL)
		return;
	other->base = nodes->base;
	other->uri = nodes->uri;
	(void)peer_find(other, nodes->uri.host, nodes->uri.port);
	snprintf(pattern, sizeof(pattern), "__keyspace@%d__:*", nodes->uri.db);
	err = redis_nodes_use(other, 0);
	if (err == 0)
		err = redis_tell(other, "PSUBSCRIBE", pattern, NULL);
	nodes->watch = other->peers[0].context;
	nodes->base->watch = nodes->watch == NULL ? -1 : nodes->watch->fd;
	if (err < 0)
		watch_end(nodes);
	explicit_bzero(&other->uri, sizeof(other->uri));
	free(other);
}

bool redis_nodes_changed(struct redis_nodes *nodes)
{
	bool changed = nodes->watch == NULL;
	struct pollfd ready = { .events = POLLIN };
	void *message = NULL;

	/* A message may also be left in the connection's buffer, where poll() does not see it. */
	while (nodes->watch != NULL) {
		int rc = redisGetReplyFromReader(nodes->watch, &message);

		if (rc == REDIS_OK && message != NULL) {
			changed = true;
			freeReplyObject(message);
			continue;
		}
		ready.fd = nodes->watch->fd;
		if (rc == REDIS_OK && poll(&ready, 1, 0) == 0)
			break;
		if (rc != REDIS_OK || redisBufferRead(nodes->watch) != REDIS_OK) {
			watch_end(nodes);
			changed = true;
		}
	}
	return changed;
}

/* --- Open and close --- */

int redis_nodes_open(struct redis_nodes *nodes, struct foreign *base, const char *address, bool watch)
{
	int err;

	*nodes = (struct redis_nodes){ .base = base };
	base->watch = -1;
	err = redis_uri_parse(address, &nodes->uri, base->error, sizeof(base->error));
	if (err < 0)
		return err;
	(void)peer_find(nodes, nodes->uri.host, nodes->uri.port);
	err = redis_nodes_use(nodes, 0);
	if (err < 0)
		return err;
	nodes->cluster = is_cluster(nodes);
	if (watch)
		watch_begin(nodes);
	return 0;
}

void redis_nodes_close(struct redis_nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++)
		if (nodes->peers[i].context != NULL)
			redisFree(nodes->peers[i].context);
	if (nodes->watch != NULL)
		redisFree(nodes->watch);
	explicit_bzero(&nodes->uri, sizeof(nodes->uri));
}
