/* Options that change while the manager runs, and what is left of that at the next open. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record.h"
#include "stage.h"

static const char *value_of(struct stage *s, const char *name)
{
	struct atlock_options options;

	atlock_options_read(s->al, &options);
	assert_int_equal(atlock_option_get(&options, name, s->text, sizeof(s->text)), 0);
	return s->text;
}

static int configure_as(struct stage *s, const char *as, const char *name, const char *value)
{
	struct atlock_caller caller = stage_caller(as);

	return atlock_configure(s->al, &caller, name, value, &s->why);
}

static void only_administrators_change_options(void **state)
{
	struct stage *s = *state;

	assert_int_equal(configure_as(s, "alice@1", "max_ttl", "4h"), -EPERM);
	assert_int_equal(s->why.code, ATLOCK_PERMISSION_DENIED);
	assert_string_equal(value_of(s, "max_ttl"), "2h");
	assert_int_equal(configure_as(s, "root@1", "max_ttl", "4h"), 0);
	assert_string_equal(value_of(s, "max_ttl"), "4h");
}

static void what_only_an_open_can_set_is_refused(void **state)
{
	struct stage *s = *state;

	assert_int_equal(configure_as(s, "root@1", "sync", "off"), -EPERM);
	assert_non_null(strstr(s->why.text, "-o sync="));
	assert_int_equal(configure_as(s, "root@1", "store", "/x"), -EPERM);
	assert_string_equal(value_of(s, "sync"), "commit");
}

static void bad_value_changes_and_writes_nothing(void **state)
{
	struct stage *s = *state;
	uint64_t commits = stage_commits(s);

	assert_int_equal(configure_as(s, "root@1", "max_ttl", "soon"), -EINVAL);
	assert_int_equal(configure_as(s, "root@1", "default_ttl", "3h"), -EINVAL);
	assert_int_equal(configure_as(s, "root@1", "max_ttk", "3h"), -ENOENT);
	assert_string_equal(value_of(s, "max_ttl"), "2h");
	assert_int_equal(stage_commits(s), commits);
}

static int last_event(void *arg, const struct atlock_event *event)
{
	char *out = arg;

	snprintf(out, 256, "%s %s %s %s by %s", atlock_event_name(event->type), event->lock, event->old, event->new,
		 event->actor);
	return 0;
}

static void event_has_old_and_new_value_and_the_actor(void **state)
{
	struct stage *s = *state;
	char text[256] = "";

	assert_int_equal(configure_as(s, "root@1", "max_ttl", "4h"), 0);
	assert_int_equal(atlock_events(s->al, 0, last_event, text), 0);
	assert_string_equal(text, "configured config/max_ttl 2h 4h by root");
}

static void change_is_kept_unless_the_option_is_given(void **state)
{
	struct stage *s = *state;

	stage_configure(s, "max_ttl", "4h");
	stage_configure(s, "max_queue", "9");
	stage_reopen(s);
	assert_string_equal(value_of(s, "max_ttl"), "4h");
	assert_string_equal(value_of(s, "max_queue"), "9");
	assert_int_equal(atlock_option_set(&s->options, "max_ttl", "3h", &s->why), 0);
	stage_reopen(s);
	assert_string_equal(value_of(s, "max_ttl"), "3h");
	assert_string_equal(value_of(s, "max_queue"), "9");
	stage_configure(s, "max_ttl", "5h");
	assert_string_equal(value_of(s, "max_ttl"), "5h");
	stage_reopen(s);
	assert_string_equal(value_of(s, "max_ttl"), "3h");
}

static void option_of_another_version_is_left_alone(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_of(TABLE_SETTING, slice_of("max_unicorns"));
	struct record_setting setting = { slice_of("7") };
	unsigned char buf[RECORD_MAX];
	int len = record_encode(RECORD_SETTING, &setting, buf);

	stage_put(s, record_key_slice(&key), (struct slice){ buf, (size_t)len });
	stage_reopen(s);
	assert_string_equal(value_of(s, "max_ttl"), "2h");
}

static void damaged_setting_is_reported(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_of(TABLE_SETTING, slice_of("max_ttl"));

	assert_int_equal(atlock_check(s->al, NULL), 0);
	stage_put(s, record_key_slice(&key), slice_of("rubbish"));
	assert_int_equal(atlock_check(s->al, NULL), 1);
	s->damaged = true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(only_administrators_change_options),
		STAGED(what_only_an_open_can_set_is_refused),
		STAGED(bad_value_changes_and_writes_nothing),
		STAGED(event_has_old_and_new_value_and_the_actor),
		STAGED(change_is_kept_unless_the_option_is_given),
		STAGED(option_of_another_version_is_left_alone),
		STAGED(damaged_setting_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
