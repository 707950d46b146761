#include "redis_place.h"

#include "engine_time.h"
#include "redis_uri.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#define ASKING_MS 1000 /* how long a slot is taken to be on its way: then the node that sends it is asked again */

int64_t redis_clock(void)
{
	return engine_time(CLOCK_MONOTONIC) / 1000000;
}

void redis_place_init(struct redis_place *place, const struct redis_address *address)
{
	*place = (struct redis_place){ .address = address, .version = 1 };
	pthread_mutex_init(&place->lock, NULL);
}

void redis_place_destroy(struct redis_place *place)
{
	pthread_mutex_destroy(&place->lock);
}

static void node_set(struct redis_place *place, const struct redis_node *node, bool asking)
{
	place->node = *node;
	place->known = true;
	place->asking = asking;
	place->until = redis_clock() + ASKING_MS;
	place->version++;
}

/* Whether the Sentinel's answer is a host and a port. */
static int sentinel_answer(const redisReply *reply, struct redis_node *out)
{
	char text[300];

	if (reply == NULL)
		return -EHOSTDOWN;
	if (reply->type == REDIS_REPLY_ERROR)
		return strncmp(reply->str, "NOAUTH", 6) == 0 || strncmp(reply->str, "WRONGPASS", 9) == 0 ? -EACCES
													 : -EHOSTDOWN;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING ||
	    reply->element[1]->type != REDIS_REPLY_STRING)
		return -EHOSTDOWN;
	(void)snprintf(text, sizeof(text), "[%s]:%s", reply->element[0]->str, reply->element[1]->str);
	return redis_uri_host(text, strlen(text), out->host, &out->port) < 0 ? -EHOSTDOWN : 0;
}

static int sentinel_ask(const struct redis_address *address, const struct redis_node *sentinel, int timeout,
			struct redis_node *out)
{
	const struct timeval wait = { .tv_sec = timeout / 1000, .tv_usec = (suseconds_t)(timeout % 1000) * 1000 };
	redisContext *context = redisConnectWithTimeout(sentinel->host, sentinel->port, wait);
	redisReply *reply;
	int rc = context == NULL ? -ENOMEM : context->err != 0 ? -EHOSTDOWN : 0;

	if (rc == 0) {
		(void)redisSetTimeout(context, wait);
		if (address->sentinel_password[0] != '\0')
			freeReplyObject(redisCommand(context, "AUTH %s", address->sentinel_password));
		reply = redisCommand(context, "SENTINEL get-master-addr-by-name %s", address->master);
		rc = sentinel_answer(reply, out);
		freeReplyObject(reply);
	}
	if (context != NULL)
		redisFree(context);
	return rc;
}

/* The Sentinels in turn, beginning with one that answered last. */
static int sentinels_ask(const struct redis_address *address, size_t *first, int timeout, struct redis_node *out)
{
	int share = timeout / (int)address->node_count;
	int rc = -EHOSTDOWN;

	for (size_t i = 0; i < address->node_count && rc < 0; i++) {
		size_t at = (*first + i) % address->node_count;

		rc = sentinel_ask(address, &address->nodes[at], share > 0 ? share : 1, out);
		if (rc == 0)
			*first = at;
	}
	return rc;
}

int redis_place_find(struct redis_place *place, int timeout, struct redis_target *out)
{
	const struct redis_address *address = place->address;
	struct redis_node node;
	int rc = 0;

	pthread_mutex_lock(&place->lock);
	if (place->known && place->asking && redis_clock() > place->until)
		place->known = false;
	if (!place->known && address->master[0] == '\0') {
		node = address->nodes[place->next];
		node_set(place, &node, false);
	} else if (!place->known) {
		size_t next = place->next;

		pthread_mutex_unlock(&place->lock);
		rc = sentinels_ask(address, &next, timeout, &node);
		pthread_mutex_lock(&place->lock);
		if (rc == 0)
			place->next = next;
		if (rc == 0 && !place->known)
			node_set(place, &node, false);
		else if (place->known)
			rc = 0;
	}
	*out = (struct redis_target){ .node = place->node, .asking = place->asking, .version = place->version };
	pthread_mutex_unlock(&place->lock);
	return rc;
}

bool redis_place_is(struct redis_place *place, const struct redis_target *target)
{
	pthread_mutex_lock(&place->lock);
	bool is = place->known && place->version == target->version && !(place->asking && redis_clock() > place->until);
	pthread_mutex_unlock(&place->lock);
	return is;
}

void redis_place_forget(struct redis_place *place, const struct redis_target *target)
{
	const struct redis_address *address = place->address;
	bool only = address->master[0] == '\0' && address->node_count == 1 &&
		    address->nodes[0].port == target->node.port &&
		    strcmp(address->nodes[0].host, target->node.host) == 0;

	pthread_mutex_lock(&place->lock);
	if (!only && place->version == target->version && place->known) {
		place->known = false;
		place->next = (place->next + 1) % address->node_count;
	}
	pthread_mutex_unlock(&place->lock);
}

bool redis_place_redirect(struct redis_place *place, const struct redis_target *target, const char *error)
{
	bool asking = strncmp(error, "ASK ", 4) == 0;
	const char *where = asking || strncmp(error, "MOVED ", 6) == 0 ? strrchr(error, ' ') : NULL;
	const char *colon = where == NULL ? NULL : strrchr(where, ':');
	struct redis_node node = { .port = 0 };
	char text[300];

	if (colon == NULL)
		return false;
	/* A host that is left out is the one that answers; IPv6 comes without brackets. */
	bool same = colon == where + 1 || strncmp(where + 1, "?:", 2) == 0;
	(void)snprintf(text, sizeof(text), "[%.*s]%s", same ? 255 : (int)(colon - where - 1),
		       same ? target->node.host : where + 1, colon);
	if (redis_uri_host(text, strlen(text), node.host, &node.port) < 0 || node.port == 0)
		return false;
	pthread_mutex_lock(&place->lock);
	if (place->version == target->version)
		node_set(place, &node, asking);
	pthread_mutex_unlock(&place->lock);
	return true;
}
