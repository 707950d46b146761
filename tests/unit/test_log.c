/*
 * The log: what is told, how much of it, and that no line can hurt whoever reads it.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "log.h"
#include "record.h"

static char heard[4096]; /* "level line\n" each */

static void listen(void *arg, enum atlock_log_level level, const char *line)
{
	size_t at = strlen(heard);

	(void)arg;
	(void)snprintf(heard + at, sizeof(heard) - at, "%d %s\n", (int)level, line);
}

/* The stage's manager, with a log. */
static void hear(struct stage *s)
{
	s->al->log = listen;
	heard[0] = '\0';
}

static void assert_line(const char *text, const char *line)
{
	char out[256];

	assert_int_equal(log_line(text, out, sizeof(out)), strlen(line));
	assert_string_equal(out, line);
}

static void control_bytes_are_spelled(void **state)
{
	(void)state;
	assert_line("plain \xc3\xbc text", "plain \xc3\xbc text");
	assert_line("a\nb\tc\x1b[31m\x7f", "a\\x0ab\\x09c\\x1b[31m\\x7f");
	assert_line("C1 \xc2\x9b is one", "C1 \\xc2\\x9b is one");
	assert_line("no-break \xc2\xa0 is none", "no-break \xc2\xa0 is none");
	assert_line("", "");
}

static void users_and_passwords_of_urls_are_left_out(void **state)
{
	(void)state;
	assert_line("store redis://me:secret@db:6379/0 failed", "store redis://db:6379/0 failed");
}

static void line_that_is_too_long_is_cut(void **state)
{
	char out[32];

	(void)state;
	assert_true(log_line("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", out, sizeof(out)) < sizeof(out));
	assert_true(log_line("0123456789012345678901234567890123456789", out, sizeof(out)) < sizeof(out));
	assert_int_equal(strncmp(out, "0123456789", 10), 0);
}

static void level_says_how_much(void **state)
{
	struct stage *s = *state;

	hear(s);
	log_write(s->al, ATLOCK_LOG_DEBUG, "unheard");
	log_write(s->al, ATLOCK_LOG_INFO, "heard %d", 1);
	assert_string_equal(heard, "2 heard 1\n");
	stage_configure(s, "log_level", "error");
	heard[0] = '\0';
	log_write(s->al, ATLOCK_LOG_WARNING, "unheard");
	log_write(s->al, ATLOCK_LOG_ERROR, "heard");
	assert_string_equal(heard, "0 heard\n");
}

static void change_of_an_option_is_told(void **state)
{
	struct stage *s = *state;

	hear(s);
	stage_configure(s, "max_queue", "5");
	assert_string_equal(heard, "2 config/max_queue is 5 now, it was 1000; by the daemon\n");
}

static void store_that_fails_is_told_once_a_second(void **state)
{
	struct stage *s = *state;

	hear(s);
	for (int i = 0; i < 3; i++) {
		mem_world_faults(s->world)->fail_error = ENOSPC;
		mem_world_faults(s->world)->fail_in = 1;
		assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), -ENOSPC);
	}
	assert_string_equal(heard, "0 the store failed: No space left on device\n");
	s->al->log_store.last -= 2 * ATLOCK_SECOND;
	heard[0] = '\0';
	mem_world_faults(s->world)->fail_in = 1;
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), -ENOSPC);
	assert_string_equal(heard, "0 the store failed: No space left on device\n0 2 more like that were left out\n");
}

/* A refusal is the caller's business, also if he does not ask why. */
static void refusal_is_not_told(void **state)
{
	struct stage *s = *state;

	hear(s);
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
	assert_int_equal(stage_acquire(s, "global/a", "bob@1", 60), -EACCES);
	assert_int_equal(atlock_acquire(s->al, stage_ask(s, "global/a", "bob@1"), NULL, NULL), -EACCES);
	assert_string_equal(heard, "");
}

static void damaged_record_is_told(void **state)
{
	struct stage *s = *state;
	struct atlock_name name = stage_name("global/a");
	struct record_key key = record_key_of(TABLE_LOCK, (struct slice){ name.key, name.len });

	hear(s);
	stage_put(s, record_key_slice(&key), (struct slice){ "junk", 4 });
	s->damaged = true;
	assert_int_equal(atlock_acquire(s->al, stage_ask(s, "global/a", "bob@1"), NULL, NULL), -EIO);
	assert_non_null(strstr(heard, "is damaged: restore a backup"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_bytes_are_spelled),
		cmocka_unit_test(users_and_passwords_of_urls_are_left_out),
		cmocka_unit_test(line_that_is_too_long_is_cut),
		STAGED(level_says_how_much),
		STAGED(change_of_an_option_is_told),
		STAGED(store_that_fails_is_told_once_a_second),
		STAGED(refusal_is_not_told),
		STAGED(damaged_record_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
