/*
 * SET with NX, and a script that deletes what is still the caller's.
 */
#include <err.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "peers.h"

#define RELEASE "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

enum { OWNER, SCRIPT };

static void check(const redisContext *connection, const redisReply *reply)
{
	if (reply == NULL)
		errx(1, "Redis: %s", connection->errstr);
	if (reply->type == REDIS_REPLY_ERROR)
		errx(1, "Redis: %s", reply->str);
}

static void redis_begin(void *arg, unsigned int number)
{
	struct peer *peer = arg;
	redisContext *connection = redisConnect("127.0.0.1", (int)peer->port);
	redisReply *reply;

	if (connection == NULL || connection->err != 0)
		errx(1, "Redis: %s", connection == NULL ? "no memory" : connection->errstr);
	peer->connection = connection;
	(void)snprintf(peer->key, sizeof(peer->key), "bench/lock-%u", number);
	(void)snprintf(peer->words[OWNER], sizeof(peer->words[OWNER]), "bench-%d", (int)getpid());
	reply = redisCommand(connection, "SCRIPT LOAD %s", RELEASE);
	check(connection, reply);
	(void)snprintf(peer->words[SCRIPT], sizeof(peer->words[SCRIPT]), "%s", reply->str);
	freeReplyObject(reply);
}

static void redis_step(void *arg)
{
	struct peer *peer = arg;
	redisContext *connection = peer->connection;
	redisReply *reply = redisCommand(connection, "SET %s %s NX", peer->key, peer->words[OWNER]);

	check(connection, reply);
	if (reply->type != REDIS_REPLY_STATUS || strcmp(reply->str, "OK") != 0)
		errx(1, "Redis: another client has %s", peer->key);
	freeReplyObject(reply);
	reply = redisCommand(connection, "EVALSHA %s 1 %s %s", peer->words[SCRIPT], peer->key, peer->words[OWNER]);
	check(connection, reply);
	if (reply->integer != 1)
		errx(1, "Redis: %s was lost", peer->key);
	freeReplyObject(reply);
}

const struct work work_redis = { .begin = redis_begin, .step = redis_step };
