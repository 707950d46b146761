/*
 * A host of a realm without a mount: threads that take and drop locks until they are told to end, and write down when each was theirs.
 *
 *	host ADDRESS CACHE NAME LOG CLIENTS
 *
 * The lines of the log are for tests/hosts/check: what happened, when (ns of the monotonic clock), host, client, lock, token.
 *
 *	G   a lock was granted: the call has returned
 *	E   its use is over: the release is asked for next
 *
 * A lock's value is the number that was given out for it and the host's chain: a host that starts again lets go of what its last life held.
 */
#include "redis_realm.h"
#include "remote_bytes.h"
#include "remote_engine.h"
#include "remote_number.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOCKS 3
#define CLIENTS_MAX 64
#define HOST_TIMEOUT 3000 /* ms */
#define TIMEOUT 1000      /* ms, of a request; a call tries for as long */

static struct engine *engine;
static const char *name;
static int log_fd;
static atomic_bool stop;

struct client {
	pthread_t thread;
	int number;
	unsigned int random;
};

struct call {
	char lock[8];
	uint64_t token;
};

static void told_to_stop(int sig)
{
	(void)sig;
	atomic_store(&stop, true);
}

static void note(char what, const struct client *client, const struct call *call)
{
	struct timespec ts;
	char line[128];

	clock_gettime(CLOCK_MONOTONIC, &ts);
	int len = snprintf(line, sizeof(line), "%c %" PRId64 " %s %d %s %" PRIu64 "\n", what,
			   (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec, name, client->number, call->lock, call->token);
	if (write(log_fd, line, (size_t)len) != len)
		err(1, "log");
}

/* A pause of up to so many microseconds. */
static void idle(struct client *client, unsigned int most)
{
	(void)usleep((useconds_t)rand_r(&client->random) % most);
}

static int take_fn(struct store_txn *txn, void *arg)
{
	struct call *call = arg;
	unsigned char bytes[10];
	struct slice value;
	int rc = store_get(txn, slice_of(call->lock), &value);

	call->token = 0;
	if (rc != 1)
		return rc < 0 ? rc : -EBUSY;
	rc = number_next(txn, slice_of(call->lock), &call->token);
	if (rc < 0)
		return rc;
	(void)bytes_put(bytes_put(bytes, call->token, 8), remote_chain(engine), 2);
	return store_put(txn, slice_of(call->lock), (struct slice){ .data = bytes, .len = sizeof(bytes) });
}

/* With a token: the grant of that token. Without: whatever this host holds. */
static int drop_fn(struct store_txn *txn, void *arg)
{
	const struct call *call = arg;
	struct slice value;
	uint64_t token;
	uint64_t chain;
	int rc = store_get(txn, slice_of(call->lock), &value);

	if (rc != 0)
		return rc < 0 ? rc : -ENOENT;
	if (!bytes_take(&value, 8, &token) || !bytes_take(&value, 2, &chain))
		return -EUCLEAN;
	bool own = call->token != 0 ? token == call->token : chain == remote_chain(engine);
	return own ? store_del(txn, slice_of(call->lock)) : -ENOENT;
}

/* Releases are never given up. */
static void drop(struct call *call)
{
	int rc;

	while ((rc = remote_update(engine, drop_fn, call)) != 0 && rc != -ENOENT) {
		if (rc == -EUCLEAN)
			errx(1, "%s: not a lock", call->lock);
		(void)usleep(10000);
	}
}

static void round_play(struct client *client)
{
	struct call call;

	(void)snprintf(call.lock, sizeof(call.lock), "l%d", rand_r(&client->random) % LOCKS);
	int rc = remote_update(engine, take_fn, &call);
	if (rc == 0) {
		note('G', client, &call);
		idle(client, 3000);
		note('E', client, &call);
	}
	/* An answer that was lost may have been a grant. */
	if (rc == 0 || (rc == -EIO && call.token != 0))
		drop(&call);
	idle(client, 2000);
}

static void *client_run(void *arg)
{
	while (!atomic_load(&stop))
		round_play(arg);
	return NULL;
}

static void host_open(const char *uri, const char *cache)
{
	const struct remote_options remote = {
		.cache = cache, .host = name, .host_timeout = HOST_TIMEOUT, .timeout = TIMEOUT, .threads = true
	};
	const struct store_options options = { .sync = STORE_SYNC_OFF };
	struct redis_address address;
	struct remote_adapter *adapter;
	char why[256] = "";
	int rc = redis_address_parse(uri, &address, why, sizeof(why));

	/* The server may be away just now. */
	do {
		if (rc == 0 && redis_realm_open(&adapter, &address, TIMEOUT) == 0)
			rc = remote_open(&engine, adapter, &remote, &options, why, sizeof(why));
	} while (rc == -EHOSTDOWN && !atomic_load(&stop) && (rc = 0, true));
	if (rc < 0)
		errx(1, "%s", why);
}

/* What the last life of this host held, or was granted without knowing it. */
static void rest_drop(void)
{
	for (int i = 0; i < LOCKS; i++) {
		struct call call = { .token = 0 };

		(void)snprintf(call.lock, sizeof(call.lock), "l%d", i);
		drop(&call);
	}
}

int main(int argc, char **argv)
{
	static struct client clients[CLIENTS_MAX];

	if (argc != 6)
		errx(2, "usage: host ADDRESS CACHE NAME LOG CLIENTS");
	name = argv[3];
	int count = (int)strtol(argv[5], NULL, 10);
	log_fd = open(argv[4], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (log_fd < 0 || count < 1 || count > CLIENTS_MAX)
		err(1, "%s", argv[4]);
	(void)signal(SIGTERM, told_to_stop);
	host_open(argv[1], argv[2]);
	rest_drop();
	for (int i = 0; i < count; i++) {
		clients[i] = (struct client){ .number = i, .random = (unsigned int)(getpid() * CLIENTS_MAX + i) };
		if (pthread_create(&clients[i].thread, NULL, client_run, &clients[i]) != 0)
			errx(1, "no thread");
	}
	for (int i = 0; i < count; i++)
		(void)pthread_join(clients[i].thread, NULL);
	remote_close(engine);
	return 0;
}
