/*
 * Three hosts take and drop locks in an order chosen by a seed, while requests and answers are lost, come late or twice, another host
 * comes between, hosts start again and the server restarts without its newest entries. A model of the locks says what each call must answer.
 */
#include "realm_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOCKS 3
#define STEPS 1500
#define LOST_MAX 5 /* entries, by a restart: the host that committed last still has them */
#define ALL ((1u << HOSTS) - 1)

static const char *const names[LOCKS] = { "l1", "l2", "l3" };

struct model {
	struct realm_fixture *f;
	uint64_t random;
	uint64_t held[LOCKS];   /* token; 0: free */
	uint64_t newest[LOCKS]; /* token given out so far */
	unsigned int granted;
	unsigned int lost; /* entries */
	int between;       /* 1 + the host that comes before the next commit; 0: none */
};

static uint64_t next(struct model *model, uint64_t below)
{
	uint64_t z = (model->random += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return (z ^ (z >> 31)) % below;
}

/* One call, and what it must answer. */
static void act(struct model *model, int host)
{
	size_t lock = next(model, LOCKS);
	struct lock_call call = { .lock = names[lock], .token = model->held[lock] };

	if (next(model, 2) == 0) {
		int rc = lock_take(model->f, host, &call);

		/* Another host's call came between: the model has it, and this answer is about the time after it. */
		assert_int_equal(rc, model->held[lock] == 0 ? 0 : -EBUSY);
		if (rc == 0) {
			assert_true(call.token > model->newest[lock]);
			model->newest[lock] = model->held[lock] = call.token;
			model->granted++;
		}
	} else if (call.token != 0) {
		int rc = lock_drop(model->f, host, &call);

		assert_int_equal(rc, model->held[lock] == call.token ? 0 : -ENOENT);
		model->held[lock] = rc == 0 ? 0 : model->held[lock];
	}
	assert_int_equal(lock_token(model->f, (int)next(model, HOSTS), names[lock]), model->held[lock]);
}

static void come_between(void *arg)
{
	struct model *model = arg;
	int host = model->between - 1;

	model->between = 0;
	if (host >= 0)
		act(model, host);
}

static void fault(struct model *model, int host)
{
	struct mem_line_faults *faults = &model->f->hosts[host].faults;

	switch (next(model, 12)) {
	case 0: faults->lose_request_in = 1; break;
	case 1: faults->lose_reply_in = 1; break;
	case 2: faults->delay_in = 1; break;
	case 3: faults->duplicate_in = 1; break;
	case 4:
	case 5: model->between = 1 + (host + 1) % HOSTS; break;
	case 6: assert_int_equal(mem_realm_deliver(model->f->realm), 0); break;
	default: break;
	}
}

static void faults_clear(struct model *model)
{
	for (int i = 0; i < HOSTS; i++) {
		struct mem_line_faults *faults = &model->f->hosts[i].faults;

		faults->lose_request_in = faults->lose_reply_in = faults->delay_in = faults->duplicate_in = 0;
		faults->before_commit = come_between;
		faults->before_arg = model;
	}
	model->between = 0;
}

static void step(struct model *model)
{
	int host = (int)next(model, HOSTS);

	faults_clear(model);
	if (next(model, 60) == 0) {
		size_t lost = next(model, LOST_MAX + 1);

		mem_realm_restart(model->f->realm, lost);
		model->lost += (unsigned int)lost;
		realm_run(model->f, 4000, ALL);
	} else if (next(model, 60) == 0) {
		realm_close(model->f, host);
		assert_int_equal(realm_open(model->f, host), 0);
	} else {
		fault(model, host);
		act(model, host);
	}
}

static void the_model_is_right_whatever_gets_lost(void **state)
{
	const char *given = getenv("SEED");
	uint64_t seed = given == NULL ? 1 : strtoull(given, NULL, 10);
	struct model model = { .f = *state, .random = seed };

	print_message("SEED=%llu\n", (unsigned long long)seed);
	for (int i = 0; i < STEPS; i++)
		step(&model);
	assert_true(model.granted > STEPS / 10);
	assert_true(model.lost > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_model_is_right_whatever_gets_lost, realm_setup, realm_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
