/*
 * A transaction that puts a key if it was never created, and a delete, by etcd's JSON gateway over a connection that is kept.
 */
#include <curl/curl.h>
#include <err.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>

#include "peers.h"

#define ANSWER_MAX 1024

enum { PUT_URL, PUT, ERASE_URL, ERASE };

static struct answer {
	size_t len;
	char text[ANSWER_MAX];
} answer;

static size_t answer_add(const char *data, size_t size, size_t count, void *arg)
{
	size_t len = size * count;

	(void)arg;
	if (len < sizeof(answer.text) - answer.len) {
		memcpy(answer.text + answer.len, data, len);
		answer.len += len;
		answer.text[answer.len] = '\0';
	}
	return len;
}

static void etcd_begin(void *arg, unsigned int number)
{
	struct peer *peer = arg;
	char key[64];
	CURL *curl = curl_easy_init();

	if (curl == NULL)
		errx(1, "etcd: no memory");
	peer->connection = curl;
	(void)snprintf(peer->key, sizeof(peer->key), "bench/lock-%u", number);
	if (b64_ntop((const unsigned char *)peer->key, strlen(peer->key), key, sizeof(key)) < 0)
		errx(1, "etcd: %s is too long", peer->key);
	(void)snprintf(peer->words[PUT_URL], sizeof(peer->words[0]), "http://127.0.0.1:%u/v3/kv/txn", peer->port);
	(void)snprintf(peer->words[ERASE_URL], sizeof(peer->words[0]), "http://127.0.0.1:%u/v3/kv/deleterange",
		       peer->port);
	(void)snprintf(peer->words[PUT], sizeof(peer->words[0]),
		       "{\"compare\":[{\"key\":\"%s\",\"target\":\"CREATE\",\"create_revision\":\"0\"}],"
		       "\"success\":[{\"request_put\":{\"key\":\"%s\",\"value\":\"YmVuY2g=\"}}]}",
		       key, key);
	(void)snprintf(peer->words[ERASE], sizeof(peer->words[0]), "{\"key\":\"%s\"}", key);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, answer_add);
	(void)curl_easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
}

/* Says it and expects `want` in the answer. */
static void etcd_say(CURL *curl, const char *url, const char *body, const char *want)
{
	CURLcode rc;

	answer.len = 0;
	(void)curl_easy_setopt(curl, CURLOPT_URL, url);
	(void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	rc = curl_easy_perform(curl);
	if (rc != CURLE_OK)
		errx(1, "etcd: %s", curl_easy_strerror(rc));
	if (strstr(answer.text, want) == NULL)
		errx(1, "etcd: not %s but: %s", want, answer.text);
}

static void etcd_step(void *arg)
{
	struct peer *peer = arg;

	etcd_say(peer->connection, peer->words[PUT_URL], peer->words[PUT], "\"succeeded\":true");
	etcd_say(peer->connection, peer->words[ERASE_URL], peer->words[ERASE], "\"deleted\":\"1\"");
}

const struct work work_etcd = { .begin = etcd_begin, .step = etcd_step };
