/*
 * Bad input to everything that takes no request: an error, nothing changed, and no crash. The tests of names, options,
 * text and holders say which error; here it is that there is one.
 */
#include "atlock/import.h"
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define FAILS(call) assert_true((call) < 0)

static char long_path[3 * ATLOCK_PATH_MAX];
static char long_component[400];

/* What no name, owner, who or option may be. */
static const char *const bad_texts[] = { NULL, "", "a\nb", "a\001", "a\033[2J", "a\177b", long_path };

static const struct atlock_name bad_names[] = {
	{ .len = 0 },
	{ .len = 1, .key = "g" },
	{ .len = 3, .key = "Xab" },
	{ .len = UINT16_MAX, .key = "ga" },
	{ .len = ATLOCK_KEY_MAX + 1, .key = "ga" },
	{ .len = 5, .key = "c" },
};

static int setup(void **state)
{
	struct stage *s;

	memset(long_path, 'x', sizeof(long_path) - 1);
	memset(long_component, 'x', sizeof(long_component) - 1);
	(void)stage_setup(state);
	s = *state;
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	return 0;
}

/* Also shows that no test here has changed anything. */
static int teardown(void **state)
{
	struct stage *s = *state;

	assert_string_equal(stage_events(s), "acquired");
	assert_string_equal(stage_holder(s, "global/a"), "alice@1");
	return stage_teardown(state);
}

static int any_view(void *arg, const struct atlock_view *view)
{
	(void)arg;
	(void)view;
	return 0;
}

static int any_ticket(void *arg, const struct atlock_ticket *ticket)
{
	(void)arg;
	(void)ticket;
	return 0;
}

static int any_name(void *arg, const struct atlock_name *name, uint64_t waiters)
{
	(void)arg;
	(void)name;
	(void)waiters;
	return 0;
}

static int any_child(void *arg, const char *component, const struct atlock_view *view)
{
	(void)arg;
	(void)component;
	(void)view;
	return 0;
}

static int any_entry(void *arg, const struct atlock_dir *dir, const struct atlock_view *lock)
{
	(void)arg;
	(void)dir;
	(void)lock;
	return 0;
}

static int any_event(void *arg, const struct atlock_event *event)
{
	(void)arg;
	(void)event;
	return 0;
}

static void names_that_are_none_are_refused(void **state)
{
	struct stage *s = *state;
	struct atlock_name name;
	char out[16];

	for (size_t i = 0; i < LENGTH(bad_texts); i++) {
		char path[4 * ATLOCK_PATH_MAX];

		FAILS(atlock_path_kind(bad_texts[i], NULL, &s->why));
		FAILS(atlock_name_parse(bad_texts[i], &name, &s->why));
		FAILS(atlock_name_custom(0, bad_texts[i], &name, &s->why));
		FAILS(atlock_resolve(s->al, bad_texts[i], &name, &s->why));
		FAILS(atlock_component_check(bad_texts[i], &s->why));
		(void)snprintf(path, sizeof(path), "global/%s", bad_texts[i] == NULL ? "" : bad_texts[i]);
		FAILS(atlock_name_parse(path, &name, &s->why));
		FAILS(atlock_resolve(s->al, path, &name, &s->why));
	}
	FAILS(atlock_name_parse("global/a", NULL, NULL));
	FAILS(atlock_name_custom(0, "a", NULL, NULL));
	FAILS(atlock_resolve(NULL, "custom/a", &name, NULL));
	FAILS(atlock_resolve(s->al, "custom/a", NULL, NULL));
	for (size_t i = 0; i < LENGTH(bad_names); i++) {
		struct atlock_parts parts;

		FAILS(atlock_name_print(s->al, &bad_names[i], out, sizeof(out)));
		FAILS(atlock_name_show(s->al, &bad_names[i], out, sizeof(out)));
		FAILS(atlock_name_split(&bad_names[i], &parts));
	}
	name = stage_name("global/abcdefghijklmnop");
	FAILS(atlock_name_print(NULL, NULL, out, sizeof(out)));
	FAILS(atlock_name_show(NULL, NULL, out, sizeof(out)));
	FAILS(atlock_name_show(NULL, &name, NULL, sizeof(out)));
	FAILS(atlock_name_print(NULL, &name, NULL, sizeof(out)));
	FAILS(atlock_name_print(NULL, &name, out, sizeof(out)));
	FAILS(atlock_name_print(NULL, &name, out, 0));
	FAILS(atlock_name_split(NULL, NULL));
	FAILS(atlock_name_join(NULL, &name, NULL));
	assert_false(atlock_name_equal(NULL, &name));
	assert_false(atlock_name_equal(&name, NULL));
	(void)atlock_name_tree(&bad_names[0]);
	(void)atlock_name_tree(NULL);
}

static void parts_that_are_none_are_refused(void **state)
{
	struct stage *s = *state;
	struct atlock_parts parts;
	struct atlock_name name;
	char out[8];

	memset(&parts, 0, sizeof(parts));
	FAILS(atlock_name_join(&parts, &name, &s->why));
	memset(&parts, 'x', sizeof(parts));
	FAILS(atlock_name_join(&parts, &name, &s->why));
	FAILS(atlock_legacy_pull_key(NULL, out, sizeof(out)));
	FAILS(atlock_legacy_pull_key(&(struct atlock_pull){ .num = 0 }, out, sizeof(out)));
	for (size_t i = 0; i < LENGTH(bad_texts); i++) {
		struct atlock_pull pull;

		FAILS(atlock_legacy_pull_parse(bad_texts[i], &pull, &s->why));
	}
	FAILS(atlock_legacy_pull_parse("h::r::1", NULL, &s->why));
}

static void callers_that_are_none_are_refused(void **state)
{
	struct stage *s = *state;
	struct atlock_caller caller;

	for (size_t i = 0; i < LENGTH(bad_texts); i++) {
		FAILS(atlock_caller_init(&caller, bad_texts[i], "1", 0));
		FAILS(atlock_caller_init(&caller, "alice", bad_texts[i], 0));
	}
	FAILS(atlock_caller_init(NULL, "alice", "1", 0));
	FAILS(atlock_identify(NULL, 1, 0, 0, "a", &caller, NULL));
	FAILS(atlock_identify(s->al, 1, 0, 0, "a", NULL, NULL));
	FAILS(atlock_identify(s->al, 0, 0, 0, "pid:1", &caller, NULL));
	FAILS(atlock_identify(s->al, -1, 0, 0, "pid:1", &caller, NULL));
	FAILS(atlock_identify(s->al, INT32_MAX, 0, 0, "", &caller, NULL));
	FAILS(atlock_identify(s->al, 1, 0, 0, "a\nb", &caller, NULL));
	FAILS(atlock_identify(s->al, 1, 0, 0, long_path, &caller, NULL));
}

static void options_that_are_none_are_refused(void **state)
{
	struct stage *s = *state;
	struct atlock_options options;
	int64_t duration;
	char out[16];

	atlock_options_init(&options);
	for (size_t i = 0; i < LENGTH(bad_texts); i++) {
		FAILS(atlock_option_set(&options, bad_texts[i], "1", &s->why));
		FAILS(atlock_option_set(&options, "max_ttl", bad_texts[i], &s->why));
		FAILS(atlock_option_get(&options, bad_texts[i], out, sizeof(out)));
		FAILS(atlock_configure(s->al, NULL, bad_texts[i], "1", &s->why));
		FAILS(atlock_configure(s->al, NULL, "max_ttl", bad_texts[i], &s->why));
		FAILS(atlock_duration_parse(bad_texts[i], true, &duration));
	}
	FAILS(atlock_option_set(NULL, "max_ttl", "1h", NULL));
	FAILS(atlock_option_get(NULL, "max_ttl", out, sizeof(out)));
	FAILS(atlock_option_get(&options, "max_ttl", NULL, 0));
	FAILS(atlock_option_get(&options, "max_ttl", out, 1));
	FAILS(atlock_options_check(NULL, NULL));
	FAILS(atlock_configure(NULL, NULL, "max_ttl", "1h", NULL));
	FAILS(atlock_configure(s->al, NULL, "max_ttl", "-1h", NULL));
	FAILS(atlock_configure(s->al, NULL, "max_ttl", "99999999999999999999d", NULL));
	FAILS(atlock_configure(s->al, NULL, "default_ttl", "3h", NULL)); /* above max_ttl */
	FAILS(atlock_duration_parse("1h", false, NULL));
	assert_null(atlock_option_name(SIZE_MAX, NULL));
	assert_non_null(atlock_option_name(0, NULL));
	atlock_options_init(NULL);
	atlock_options_read(s->al, NULL);
	atlock_options_read(NULL, &options);
	atlock_duration_print(INT64_MIN, out, sizeof(out));
	atlock_duration_print(1, out, 0);
	atlock_duration_print(1, NULL, 0);
	assert_string_equal(atlock_code_name(ATLOCK_CODES), "UNKNOWN");
	assert_string_equal(atlock_code_name((enum atlock_code) - 1), "UNKNOWN");
	assert_non_null(atlock_event_name((enum atlock_event_type) - 1));
	assert_non_null(atlock_priority_name((enum atlock_priority)77));
	FAILS(atlock_priority_parse(NULL, NULL));
	FAILS(atlock_priority_parse("urgent", &(enum atlock_priority){ ATLOCK_LOW }));
	FAILS(atlock_priority_parse("high", NULL));
}

static void managers_that_cannot_be_are_refused(void **state)
{
	struct atlock_options options;
	struct atlock_setup setup_bad = { .options = &options, .manual = true };
	struct atlock *al = NULL;
	struct atlock_why why;

	(void)state;
	atlock_options_init(&options);
	FAILS(atlock_open(NULL, "mem", NULL, &why));
	FAILS(atlock_open(&al, NULL, NULL, &why));
	FAILS(atlock_open(&al, "", NULL, &why));
	FAILS(atlock_open(&al, "nosuchengine:somewhere", NULL, &why));
	FAILS(atlock_open(&al, "/proc/nowhere/at/all", NULL, &why));
	FAILS(atlock_open(&al, long_path, NULL, &why));
	FAILS(atlock_open(&al, "/dev/null", NULL, NULL));
	options.max_ttl = -1;
	FAILS(atlock_open(&al, "/proc/nowhere", &setup_bad, &why));
	assert_int_equal(why.code, ATLOCK_INVALID_REQUEST);
	assert_null(al);
	atlock_close(NULL);
	assert_int_equal(atlock_now(NULL), 0);
	assert_int_equal(atlock_wall(NULL, 5), 5);
}

static void instants_of_any_size_do_no_harm(void **state)
{
	static const int64_t instants[] = { INT64_MIN, -1, 0, 1, INT64_MAX - 1, INT64_MAX };
	struct stage *s = *state;
	char out[64];

	for (size_t i = 0; i < LENGTH(instants); i++) {
		(void)atlock_wall(s->al, instants[i]);
		atlock_instant_print(s->al, instants[i], out, sizeof(out));
		assert_true(strlen(out) > 0);
		atlock_instant_print(s->al, instants[i], out, 1);
		atlock_instant_print(s->al, instants[i], NULL, 0);
		atlock_instant_print(NULL, instants[i], out, sizeof(out));
	}
}

static void looking_with_nothing_is_refused(void **state)
{
	struct stage *s = *state;
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_name name = stage_name("global/a");
	struct atlock_query query = { .prefix = NULL };
	struct atlock_ticket ticket;
	struct atlock_view view;

	for (size_t i = 0; i < LENGTH(bad_names); i++) {
		FAILS(atlock_get(s->al, &bad_names[i], &view));
		FAILS(atlock_holds(s->al, &bad_names[i], &alice, &view, &s->why));
		FAILS(atlock_ticket_get(s->al, &bad_names[i], 1, NULL, NULL, &ticket));
		FAILS(atlock_queue_list(s->al, &bad_names[i], NULL, any_ticket, NULL));
	}
	FAILS(atlock_get(NULL, &name, &view));
	FAILS(atlock_get(s->al, NULL, &view));
	assert_int_equal(atlock_get(s->al, &name, NULL), 0);
	FAILS(atlock_holds(NULL, &name, &alice, NULL, NULL));
	FAILS(atlock_holds(s->al, NULL, &alice, NULL, NULL));
	FAILS(atlock_holds(s->al, &name, NULL, NULL, NULL));
	FAILS(atlock_list(NULL, &query, any_view, NULL));
	FAILS(atlock_list(s->al, NULL, any_view, NULL));
	FAILS(atlock_list(s->al, &query, NULL, NULL));
	query.prefix = "elsewhere/";
	FAILS(atlock_list(s->al, &query, any_view, NULL));
	query.prefix = long_path;
	FAILS(atlock_list(s->al, &query, any_view, NULL));
	query = (struct atlock_query){ .after = { .len = UINT16_MAX } };
	FAILS(atlock_list(s->al, &query, any_view, NULL));
	FAILS(atlock_children(NULL, "repos", NULL, any_child, NULL));
	FAILS(atlock_children(s->al, "repos", NULL, NULL, NULL));
	FAILS(atlock_ticket_get(NULL, &name, 1, NULL, NULL, &ticket));
	FAILS(atlock_ticket_get(s->al, NULL, 1, NULL, NULL, &ticket));
	FAILS(atlock_ticket_get(s->al, &name, 0, NULL, NULL, &ticket));
	FAILS(atlock_ticket_get(s->al, &name, 1, NULL, NULL, NULL));
	FAILS(atlock_queue_list(NULL, &name, NULL, any_ticket, NULL));
	FAILS(atlock_queue_list(s->al, &name, NULL, NULL, NULL));
	FAILS(atlock_queues(NULL, NULL, any_name, NULL));
	FAILS(atlock_queues(s->al, NULL, NULL, NULL));
	FAILS(atlock_events(NULL, 0, any_event, NULL));
	FAILS(atlock_events(s->al, 0, NULL, NULL));
	assert_int_equal(atlock_events(s->al, UINT64_MAX, any_event, NULL), 0);
	FAILS(atlock_events_verify(NULL, NULL, NULL));
	FAILS(atlock_status(NULL, NULL));
	FAILS(atlock_status(s->al, NULL));
	assert_true(atlock_check(NULL, NULL) < 0);
	for (size_t i = 0; i < LENGTH(bad_texts); i++)
		if (bad_texts[i] == NULL || bad_texts[i][0] != '\0')
			FAILS(atlock_children(s->al, bad_texts[i], NULL, any_child, NULL));
}

static void changing_with_nothing_is_refused(void **state)
{
	struct stage *s = *state;
	struct atlock_request *req = stage_ask(s, "global/a", "bob@1");
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_caller bad = alice;

	bad.who[0] = '\n';
	FAILS(atlock_acquire_all(s->al, req, 0, NULL, NULL, NULL));
	FAILS(atlock_acquire_all(s->al, req, SIZE_MAX / 2, NULL, NULL, NULL));
	FAILS(atlock_wait(s->al, req, NULL, NULL, NULL, NULL, NULL));
	FAILS(atlock_wait_cancel(NULL, 1));
	FAILS(atlock_release_holder(NULL, &alice, NULL, NULL));
	FAILS(atlock_release_holder(s->al, NULL, NULL, NULL));
	FAILS(atlock_release_holder(s->al, &bad, NULL, NULL));
	FAILS(atlock_run_due(NULL));
	FAILS(atlock_run_deadlock(NULL));
	assert_true(atlock_next_due(NULL) == ATLOCK_NEVER);
}

static void directories_that_cannot_be_are_refused(void **state)
{
	struct stage *s = *state;
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_dir_change change = { .mode = 0700 };
	struct atlock_dir dir;

	for (size_t i = 0; i < LENGTH(bad_texts); i++) {
		FAILS(atlock_dir_find(s->al, 0, bad_texts[i], &dir));
		FAILS(atlock_dir_make(s->al, 0, bad_texts[i], &alice, 0755, 0, &dir, &s->why));
		FAILS(atlock_dir_remove(s->al, 0, bad_texts[i], NULL, &s->why));
	}
	FAILS(atlock_dir_make(s->al, 0, long_component, &alice, 0755, 0, &dir, &s->why));
	FAILS(atlock_dir_make(NULL, 0, "d", &alice, 0755, 0, &dir, NULL));
	FAILS(atlock_dir_make(s->al, UINT64_MAX, "d", &alice, 0755, 0, &dir, NULL));
	FAILS(atlock_dir_make(s->al, 0, "d", NULL, 0755, 0, &dir, NULL));
	FAILS(atlock_dir_remove(NULL, 0, "d", NULL, NULL));
	FAILS(atlock_dir_remove(s->al, UINT64_MAX, "d", NULL, NULL));
	FAILS(atlock_dir_get(NULL, 0, &dir));
	FAILS(atlock_dir_get(s->al, UINT64_MAX, &dir));
	FAILS(atlock_dir_get(s->al, 0, NULL));
	FAILS(atlock_dir_find(NULL, 0, "d", &dir));
	FAILS(atlock_dir_find(s->al, 0, "d", NULL));
	FAILS(atlock_dir_set(NULL, 0, &change, NULL, NULL));
	FAILS(atlock_dir_set(s->al, 0, NULL, NULL, NULL));
	FAILS(atlock_dir_set(s->al, UINT64_MAX, &change, NULL, NULL));
	FAILS(atlock_dir_list(NULL, 0, NULL, any_entry, NULL));
	FAILS(atlock_dir_list(s->al, 0, NULL, NULL, NULL));
	FAILS(atlock_dir_list(s->al, UINT64_MAX, NULL, any_entry, NULL));
}

static void printing_nothing_prints_nothing(void **state)
{
	struct stage *s = *state;
	struct atlock_view view = stage_view(s, "global/a");
	struct atlock_ticket ticket = { .owner = NULL };
	char id[ATLOCK_ID_MAX] = "";
	char out[8];

	assert_null(atlock_view_text(s->al, NULL, NULL));
	assert_null(atlock_view_json(s->al, NULL, NULL));
	assert_null(atlock_ticket_text(s->al, NULL, &ticket, NULL));
	assert_null(atlock_ticket_text(s->al, &view.name, NULL, NULL));
	assert_null(atlock_ticket_json(s->al, &view.name, NULL, NULL));
	FAILS(atlock_view_field(s->al, NULL, "token", out, sizeof(out)));
	FAILS(atlock_view_field(s->al, &view, NULL, out, sizeof(out)));
	FAILS(atlock_view_field(s->al, &view, "id", out, sizeof(out)));
	FAILS(atlock_view_field(s->al, &view, "id", NULL, 0));
	assert_int_equal(atlock_view_field(s->al, &view, "nothing", out, sizeof(out)), 1);
	assert_int_equal(atlock_view_field(s->al, &view, "", out, sizeof(out)), 1);
	assert_int_equal(atlock_view_field(s->al, &view, long_path, out, sizeof(out)), 1);
	atlock_view_id(NULL, id);
	atlock_view_clear(NULL);
	atlock_ticket_clear(NULL);
	atlock_view_clear(&view);
	/* Once cleared, there is nothing left to free twice. */
	atlock_view_clear(&view);
	atlock_ticket_clear(&ticket);
}

#define SET(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SET(names_that_are_none_are_refused),        SET(parts_that_are_none_are_refused),
		SET(callers_that_are_none_are_refused),      SET(options_that_are_none_are_refused),
		SET(managers_that_cannot_be_are_refused),    SET(instants_of_any_size_do_no_harm),
		SET(looking_with_nothing_is_refused),        SET(changing_with_nothing_is_refused),
		SET(directories_that_cannot_be_are_refused), SET(printing_nothing_prints_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
