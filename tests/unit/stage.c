#include "stage.h"
#include "scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bsd/string.h>
#include <cmocka.h>

#define START (INT64_C(1800000000) * ATLOCK_SECOND)

static void stage_clock(void *arg, struct atlock_time *out)
{
	struct stage *s = arg;

	s->time.steady += s->tick;
	s->time.wall += s->tick;
	*out = s->time;
	out->wall += s->preempted;
	s->preempted = 0;
}

void stage_open(struct stage *s)
{
	struct atlock_setup setup = {
		.options = &s->options,
		.host = "host",
		.on_change = s->on_change,
		.change_arg = s->change_arg,
		.clock = stage_clock,
		.clock_arg = s,
		.manual = true,
		.seed = 1,
		.store_engine = &mem_engine,
		.store_engine_arg = s->world,
	};

	if (s->engine != NULL) {
		setup.store_engine = s->engine;
		setup.store_engine_arg = s->engine_arg;
		setup.host = s->host;
		setup.seed = s->seed;
	}
	if (s->dir != NULL)
		setup = (struct atlock_setup){
			.options = &s->options, .host = "host", .seed = 1, .store_max_bytes = s->store_max_bytes
		};
	if (atlock_open(&s->al, s->dir != NULL ? s->dir : "mem", &setup, &s->why) != 0)
		fail_msg("%s", s->why.text);
}

void stage_close(struct stage *s)
{
	atlock_close(s->al);
	s->al = NULL;
}

void stage_reopen(struct stage *s)
{
	stage_close(s);
	stage_open(s);
}

static struct stage *stage_alloc(void)
{
	struct stage *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	atlock_options_init(&s->options);
	s->options.rate_limit = 0; /* its clock stands still, and no second ends */
	return s;
}

struct stage *stage_new(void)
{
	struct stage *s = stage_alloc();

	s->world = mem_world_new(1);
	mem_world_faults(s->world)->rerun_percent = 100;
	s->time = (struct atlock_time){ .steady = 77 * ATLOCK_SECOND, .wall = START };
	return s;
}

int stage_setup(void **state)
{
	struct stage *s = stage_new();

	stage_open(s);
	(void)stage_events(s);
	*state = s;
	return 0;
}

int stage_setup_live(void **state)
{
	struct stage *s = stage_alloc();

	s->dir = scratch_new();
	s->options.sync = ATLOCK_SYNC_OFF; /* tests of the store pull plugs, these do not */
	stage_open(s);
	(void)stage_events(s);
	*state = s;
	return 0;
}

static void stage_free(struct stage *s)
{
	stage_close(s);
	mem_world_free(s->world);
	scratch_remove(s->dir);
	while (s->told != NULL) {
		struct told *told = s->told;

		s->told = told->next;
		free(told);
	}
	free(s);
}

int stage_teardown(void **state)
{
	struct stage *s = *state;
	uint64_t bad;

	if (s->al != NULL && !s->damaged) {
		assert_int_equal(atlock_check(s->al, stderr), 0);
		assert_int_equal(atlock_events_verify(s->al, &bad, NULL), 0);
	}
	stage_free(s);
	return 0;
}

void stage_advance_ns(struct stage *s, int64_t ns)
{
	s->time.steady += ns;
	s->time.wall += ns;
}

void stage_advance(struct stage *s, int64_t seconds)
{
	stage_advance_ns(s, seconds * ATLOCK_SECOND);
}

void stage_set_wall(struct stage *s, int64_t seconds)
{
	s->time.wall += seconds * ATLOCK_SECOND;
}

void stage_configure(struct stage *s, const char *option, const char *value)
{
	if (atlock_configure(s->al, NULL, option, value, &s->why) != 0)
		fail_msg("%s", s->why.text);
}

struct atlock_name stage_name(const char *path)
{
	struct atlock_name name;
	struct atlock_why why;

	if (atlock_name_parse(path, &name, &why) != 0)
		fail_msg("%s", why.text);
	return name;
}

struct atlock_caller stage_caller(const char *as)
{
	const char *at = strchr(as, '@');
	struct atlock_caller caller;
	char owner[ATLOCK_OWNER_MAX + 1];

	assert_non_null(at);
	(void)strlcpy(owner, as, sizeof(owner));
	owner[at - as] = '\0';
	uid_t uid = strcmp(owner, "root") == 0 ? 0 : 1000 + (uid_t)(owner[0] - 'a');
	assert_int_equal(atlock_caller_init(&caller, owner, at + 1, uid), 0);
	caller.gid = uid;
	caller.pid = 4711;
	/* Nothing watches processes here; one start time is as good as another. */
	caller.bound_start = strncmp(caller.who, "pid:", 4) == 0;
	return caller;
}

struct atlock_request *stage_ask(struct stage *s, const char *lock, const char *as)
{
	struct ask *ask = &s->asks[s->asked++ % (sizeof(s->asks) / sizeof(s->asks[0]))];

	ask->name = stage_name(lock);
	ask->caller = stage_caller(as);
	ask->req = (struct atlock_request){ .name = &ask->name, .caller = &ask->caller, .priority = ATLOCK_NORMAL };
	return &ask->req;
}

int stage_acquire(struct stage *s, const char *lock, const char *as, int64_t seconds)
{
	struct atlock_request *req = stage_ask(s, lock, as);

	req->ttl = seconds * ATLOCK_SECOND;
	return atlock_acquire(s->al, req, &s->grant, &s->why);
}

int stage_release(struct stage *s, const char *lock, const char *as)
{
	return atlock_release(s->al, stage_ask(s, lock, as), NULL, &s->why);
}

int stage_renew(struct stage *s, const char *lock, const char *as, int64_t seconds)
{
	struct atlock_request *req = stage_ask(s, lock, as);

	req->ttl = seconds * ATLOCK_SECOND;
	return atlock_renew(s->al, req, &s->grant, &s->why);
}

int stage_write(struct stage *s, const char *lock, const char *as, const char *text)
{
	struct atlock_request *req = stage_ask(s, lock, as);

	req->text = text;
	req->text_len = strlen(text);
	return atlock_write(s->al, req, &s->why);
}

int stage_transfer(struct stage *s, const char *lock, const char *as, const char *to)
{
	struct atlock_caller caller = stage_caller(to);

	return atlock_transfer(s->al, stage_ask(s, lock, as), &caller, &s->why);
}

int stage_enqueue(struct stage *s, const char *lock, const char *as, enum atlock_priority priority, uint64_t *ticket)
{
	struct atlock_request *req = stage_ask(s, lock, as);

	req->priority = priority;
	return atlock_enqueue(s->al, req, ticket, &s->grant, &s->why);
}

static void text_add(struct stage *s, const char *text)
{
	assert_true(strlcat(s->text, text, sizeof(s->text)) < sizeof(s->text));
}

const char *stage_holder(struct stage *s, const char *lock)
{
	struct atlock_name name = stage_name(lock);
	struct atlock_view view;
	int rc = atlock_get(s->al, &name, &view);

	if (rc == 1)
		return "free";
	assert_int_equal(rc, 0);
	s->text[0] = '\0';
	text_add(s, view.owner);
	text_add(s, "@");
	text_add(s, view.who);
	text_add(s, view.state == ATLOCK_PENDING ? " pending" : "");
	atlock_view_clear(&view);
	return s->text;
}

struct atlock_view stage_view(struct stage *s, const char *lock)
{
	struct atlock_name name = stage_name(lock);
	struct atlock_view view;

	assert_int_equal(atlock_get(s->al, &name, &view), 0);
	return view;
}

static int queue_add(void *arg, const struct atlock_ticket *ticket)
{
	struct stage *s = arg;

	text_add(s, s->text[0] != '\0' ? " " : "");
	text_add(s, ticket->owner);
	text_add(s, "@");
	text_add(s, ticket->who);
	return 0;
}

const char *stage_queue(struct stage *s, const char *lock)
{
	struct atlock_name name = stage_name(lock);

	s->text[0] = '\0';
	assert_int_equal(atlock_queue_list(s->al, &name, NULL, queue_add, s), 0);
	return s->text;
}

static int event_add(void *arg, const struct atlock_event *event)
{
	struct stage *s = arg;

	text_add(s, s->text[0] != '\0' ? " " : "");
	text_add(s, atlock_event_name(event->type));
	s->seen = event->seq;
	return 0;
}

const char *stage_events(struct stage *s)
{
	s->text[0] = '\0';
	assert_int_equal(atlock_events(s->al, s->seen + 1, event_add, s), 0);
	return s->text;
}

uint64_t stage_commits(struct stage *s)
{
	struct mem_counts counts;

	mem_world_counts(s->world, &counts);
	return counts.commits;
}

int stage_tamper(struct stage *s, store_fn *fn, void *arg)
{
	struct store_options options = { .engine = s->dir == NULL ? &mem_engine : NULL, .engine_arg = s->world };
	struct store *store;
	char why[256];

	if (store_open(&store, s->dir == NULL ? "mem" : s->dir, &options, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	int rc = store_update(store, fn, arg);
	store_close(store);
	return rc;
}

struct entry {
	struct slice key;
	struct slice value;
};

static int put_in_txn(struct store_txn *txn, void *arg)
{
	const struct entry *entry = arg;

	return store_put(txn, entry->key, entry->value);
}

void stage_put(struct stage *s, struct slice key, struct slice value)
{
	struct entry entry = { key, value };

	assert_int_equal(stage_tamper(s, put_in_txn, &entry), 0);
}

struct told *stage_told(struct stage *s)
{
	struct told *told = calloc(1, sizeof(*told));

	assert_non_null(told);
	pthread_mutex_init(&told->mutex, NULL);
	pthread_cond_init(&told->cond, NULL);
	told->next = s->told;
	s->told = told;
	return told;
}

bool told_done(void *arg, int err, const struct atlock_grant *grant, const struct atlock_why *why)
{
	struct told *told = arg;

	pthread_mutex_lock(&told->mutex);
	told->times++;
	told->err = err;
	told->code = why->code;
	(void)snprintf(told->text, sizeof(told->text), "%s", why->text);
	if (grant != NULL)
		told->grant = *grant;
	pthread_cond_broadcast(&told->cond);
	pthread_mutex_unlock(&told->mutex);
	return !told->absent;
}

int told_await(struct told *told)
{
	struct timespec limit;
	int rc = 0;
	int err;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 60;
	pthread_mutex_lock(&told->mutex);
	while (told->times == 0 && rc == 0)
		rc = pthread_cond_timedwait(&told->cond, &told->mutex, &limit);
	err = told->err;
	pthread_mutex_unlock(&told->mutex);
	assert_int_equal(rc, 0);
	return err;
}

int stage_wait(struct stage *s, const char *lock, const char *as, enum atlock_priority priority, struct told *told,
	       uint64_t *wait)
{
	struct atlock_request *req = stage_ask(s, lock, as);

	req->priority = priority;
	return atlock_wait(s->al, req, told_done, told, wait, &s->grant, &s->why);
}
