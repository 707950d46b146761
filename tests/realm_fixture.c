#include "realm_fixture.h"

#include "remote_bytes.h"
#include "remote_number.h"
#include "scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void clock_read(void *arg, struct store_time *out)
{
	struct realm_fixture *f = arg;

	f->now += 1000000;
	*out = (struct store_time){ .steady = f->now, .wall = f->now };
}

static void changed(void *arg, struct slice key)
{
	struct realm_host *host = arg;

	(void)key;
	host->changes++;
}

static void cut(void *arg)
{
	struct realm_host *host = arg;

	host->cuts++;
}

int realm_open(struct realm_fixture *f, int host)
{
	struct realm_host *h = &f->hosts[host];
	char name[8];

	(void)snprintf(name, sizeof(name), "host-%d", host);
	const struct remote_options remote = {
		.cache = h->dir,
		.host = name,
		.host_timeout = HOST_TIMEOUT,
		.timeout = 200,
		.changed = changed,
		.cut = cut,
		.changed_arg = h,
	};
	return remote_open(&h->engine, mem_realm_adapter(f->realm, &h->faults), &remote, &f->options, f->why,
			   sizeof(f->why));
}

void realm_close(struct realm_fixture *f, int host)
{
	if (f->hosts[host].engine != NULL)
		remote_close(f->hosts[host].engine);
	f->hosts[host].engine = NULL;
}

int realm_setup(void **state)
{
	struct realm_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->now = 1000000000;
	f->clock = (struct store_clock){ .read = clock_read, .arg = f };
	f->options.clock = &f->clock;
	f->realm = mem_realm_new();
	mem_realm_create(f->realm);
	for (int i = 0; i < HOSTS; i++) {
		f->hosts[i].dir = scratch_new();
		if (realm_open(f, i) != 0)
			fail_msg("%s", f->why);
	}
	*state = f;
	return 0;
}

int realm_teardown(void **state)
{
	struct realm_fixture *f = *state;

	for (int i = 0; i < HOSTS; i++) {
		realm_close(f, i);
		scratch_remove(f->hosts[i].dir);
	}
	mem_realm_free(f->realm);
	free(f);
	return 0;
}

void realm_run(struct realm_fixture *f, int ms, unsigned int mask)
{
	int64_t until = f->now + ms * INT64_C(1000000);

	while (f->now < until) {
		int64_t next = f->now + 1000000000;

		for (int i = 0; i < HOSTS; i++)
			if (mask & 1u << i)
				(void)remote_tick(f->hosts[i].engine);
		if (f->now < next)
			f->now = next;
	}
}

static int take_fn(struct store_txn *txn, void *arg)
{
	struct lock_call *call = arg;
	unsigned char bytes[8];
	struct slice value;
	int rc = store_get(txn, slice_of(call->lock), &value);

	call->runs++;
	if (rc != 1)
		return rc < 0 ? rc : -EBUSY;
	rc = number_next(txn, slice_of(call->lock), &call->token);
	if (rc < 0)
		return rc;
	(void)bytes_put(bytes, call->token, sizeof(bytes));
	return store_put(txn, slice_of(call->lock), (struct slice){ .data = bytes, .len = sizeof(bytes) });
}

int lock_take(struct realm_fixture *f, int host, struct lock_call *call)
{
	call->runs = 0;
	return remote_update(f->hosts[host].engine, take_fn, call);
}

static int token_get(struct store_txn *txn, const char *lock, uint64_t *out)
{
	struct slice value;
	int rc = store_get(txn, slice_of(lock), &value);

	*out = 0;
	return rc == 0 && !bytes_take(&value, 8, out) ? -EUCLEAN : rc;
}

static int drop_fn(struct store_txn *txn, void *arg)
{
	struct lock_call *call = arg;
	uint64_t token;
	int rc = token_get(txn, call->lock, &token);

	call->runs++;
	if (rc < 0)
		return rc;
	return token == call->token ? store_del(txn, slice_of(call->lock)) : -ENOENT;
}

int lock_drop(struct realm_fixture *f, int host, struct lock_call *call)
{
	call->runs = 0;
	return remote_update(f->hosts[host].engine, drop_fn, call);
}

static int look_fn(struct store_txn *txn, void *arg)
{
	struct lock_call *call = arg;
	int rc = token_get(txn, call->lock, &call->token);

	return rc < 0 ? rc : 0;
}

uint64_t lock_token(struct realm_fixture *f, int host, const char *lock)
{
	struct lock_call call = { .lock = lock };

	assert_int_equal(remote_view(f->hosts[host].engine, look_fn, &call), 0);
	return call.token;
}
