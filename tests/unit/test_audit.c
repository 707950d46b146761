/*
 * Auditing copies of the event log: whatever is done to the lines of a file, or to whole files, the first event that suffered
 * is named.
 */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>
#include <cmocka.h>

#define LOCK "global/a"
#define DAY INT64_C(86400)
#define FILE_MAX 32768
#define FIRST 0
#define SECOND 1
#define THIRD 2
#define NONE (-1)

/* Three days: events 1 to 5, 6 to 9, 10 to 13. */
static struct {
	char name[ATLOCK_DAY_NAME];
	char text[FILE_MAX];
} files[3];

static int file_copy(void *arg, const struct atlock_day *day)
{
	struct stage *s = arg;
	size_t i = 0;

	while (files[i].name[0] != '\0')
		i++;
	ssize_t n = atlock_day_read(s->al, NULL, day->name, 0, files[i].text, FILE_MAX - 1);
	assert_int_equal(n, day->size);
	files[i].text[n] = '\0';
	memcpy(files[i].name, day->name, sizeof(day->name));
	return 0;
}

static int setup(void **state)
{
	struct stage *s;

	(void)stage_setup(state);
	s = *state;
	memset(files, 0, sizeof(files));
	for (int day = 0; day < 3; day++) {
		for (int i = 0; i < 2; i++) {
			assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
			assert_int_equal(stage_release(s, LOCK, "alice@1"), 0);
		}
		if (day < 2)
			stage_advance(s, DAY);
	}
	assert_int_equal(atlock_days(s->al, NULL, file_copy, s), 0);
	return 0;
}

static struct atlock_audit_result result;

/* Checks the files in this order, NONE at its end. */
static int audit_files(const char *anchor, const int *order)
{
	struct atlock_audit *audit = atlock_audit_new();
	struct atlock_why why;

	assert_non_null(audit);
	if (anchor != NULL)
		assert_int_equal(atlock_audit_anchor(audit, anchor, &why), 0);
	for (; *order != NONE; order++) {
		char copy[FILE_MAX];
		char *rest = copy;

		(void)strlcpy(copy, files[*order].text, sizeof(copy));
		atlock_audit_file(audit, files[*order].name);
		while (*rest != '\0') {
			char *line = rest;
			size_t len = strcspn(line, "\n");
			bool whole = line[len] == '\n';

			rest += len + whole;
			line[len] = '\0';
			assert_int_equal(atlock_audit_line(audit, line, len, whole), 0);
		}
	}
	int rc = atlock_audit_end(audit, &result);
	atlock_audit_free(audit);
	return rc;
}

#define AUDIT(...) audit_files(NULL, (const int[]){ __VA_ARGS__, NONE })

static void finds(uint64_t bad, const char *text)
{
	assert_int_equal(AUDIT(FIRST, SECOND, THIRD), -EBADMSG);
	assert_int_equal(result.bad, bad);
	if (strstr(result.text, text) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", result.text, text);
}

/* The n-th line of a file, from 0, and where the next begins. */
static char *line_at(int file, int n, char **next)
{
	char *line = files[file].text;

	for (; n > 0; n--)
		line = strchr(line, '\n') + 1;
	*next = strchr(line, '\n') + 1;
	return line;
}

static void line_remove(int file, int n)
{
	char *next;
	char *line = line_at(file, n, &next);

	memmove(line, next, strlen(next) + 1);
}

static void untouched_files_are_good_in_any_order(void **state)
{
	(void)state;
	assert_int_equal(AUDIT(FIRST, SECOND, THIRD), 0);
	assert_int_equal(result.events, 13);
	assert_int_equal(result.first, 1);
	assert_int_equal(result.last, 13);
	assert_int_equal(strlen(result.hash), 64);
	assert_int_equal(AUDIT(THIRD, FIRST, SECOND), 0);
	assert_int_equal(result.last, 13);
	/* What came before may have been pruned, what follows may not have been copied. */
	assert_int_equal(AUDIT(SECOND, THIRD), 0);
	assert_int_equal(result.first, 6);
	assert_int_equal(AUDIT(SECOND), 0);
	assert_int_equal(result.last, 9);
}

/* Each byte of a line matters. */
static void any_changed_byte_is_found(void **state)
{
	char *next;
	char *line = line_at(SECOND, 1, &next);

	(void)state;
	for (char *byte = line; byte < next - 1; byte++) {
		char was = *byte;

		*byte = was == 'x' ? 'y' : 'x';
		finds(7, "changed");
		*byte = was;
	}
	assert_int_equal(AUDIT(FIRST, SECOND, THIRD), 0);
}

static void changed_first_and_last_line_are_found(void **state)
{
	char *next;
	char *line = strstr(line_at(FIRST, 0, &next), "host");

	(void)state;
	*line = 'H';
	finds(1, "event 1 was changed (2027-01-15.jsonl:1)");
	*line = 'h';
	line = strstr(line_at(THIRD, 3, &next), "alice");
	*line = 'A';
	finds(13, "event 13 was changed (2027-01-17.jsonl:4)");
}

static void removed_line_is_found(void **state)
{
	(void)state;
	line_remove(SECOND, 1);
	finds(7, "event 7 is missing");
}

static void removed_last_line_of_a_file_is_found(void **state)
{
	(void)state;
	line_remove(SECOND, 3);
	finds(9, "event 9 is missing");
}

static void first_of_several_is_named(void **state)
{
	(void)state;
	line_remove(THIRD, 1);
	line_remove(FIRST, 2);
	line_remove(SECOND, 0);
	finds(3, "event 3 is missing");
}

static void swapped_lines_are_found(void **state)
{
	char copy[FILE_MAX];
	char *third;
	char *second;
	char *first = line_at(SECOND, 1, &second);

	(void)state;
	third = strchr(second, '\n') + 1;
	(void)strlcpy(copy, second, (size_t)(third - second) + 1);
	memmove(first + (third - second), first, (size_t)(second - first));
	memcpy(first, copy, (size_t)(third - second));
	finds(7, "event 7 is out of order: it stands after event 8");
}

static void doubled_line_is_found(void **state)
{
	char *next;
	char *line = line_at(SECOND, 1, &next);
	size_t len = (size_t)(next - line);

	(void)state;
	memmove(next + len, next, strlen(next) + 1);
	memcpy(next, line, len);
	finds(7, "out of order");
}

static void doubled_file_is_found(void **state)
{
	(void)state;
	assert_int_equal(AUDIT(FIRST, SECOND, SECOND, THIRD), -EBADMSG);
	assert_int_equal(result.bad, 6);
	assert_non_null(strstr(result.text, "twice"));
}

static void missing_file_is_found(void **state)
{
	(void)state;
	assert_int_equal(AUDIT(FIRST, THIRD), -EBADMSG);
	assert_int_equal(result.bad, 6);
}

static void cut_line_is_found(void **state)
{
	(void)state;
	files[THIRD].text[strlen(files[THIRD].text) - 1] = '\0';
	finds(13, "event 13 was cut off");
	files[THIRD].text[strlen(files[THIRD].text) - 100] = '\0';
	finds(13, "event 13 was cut off");
}

static void added_line_is_found(void **state)
{
	(void)state;
	(void)strlcat(files[THIRD].text, "{\"seq\":14,\"type\":\"acquired\"}\n", FILE_MAX);
	finds(14, "changed");
}

/* Whoever computes all hashes anew is found out by one hash that was kept elsewhere; so is a log without its end. */
static void kept_hash_shows_a_log_that_was_cut_or_made_anew(void **state)
{
	const int all[] = { FIRST, SECOND, THIRD, NONE };
	char anchor[128];

	(void)state;
	assert_int_equal(AUDIT(FIRST, SECOND, THIRD), 0);
	(void)snprintf(anchor, sizeof(anchor), "13:%s", result.hash);
	assert_int_equal(audit_files(anchor, all), 0);
	anchor[10] = anchor[10] == '0' ? '1' : '0';
	assert_int_equal(audit_files(anchor, all), -EBADMSG);
	assert_int_equal(result.bad, 13);
	(void)snprintf(anchor, sizeof(anchor), "13:%s", result.hash);
	line_remove(THIRD, 3);
	assert_int_equal(AUDIT(FIRST, SECOND, THIRD), 0);
	assert_int_equal(audit_files(anchor, all), -EBADMSG);
	assert_int_equal(result.bad, 13);
}

static void bad_anchors_are_refused(void **state)
{
	static const char *const bad[] = { "", "13", "13:", "13:abc", "0:", "x:y", ":", "-1:00" };
	struct atlock_audit *audit = atlock_audit_new();
	struct atlock_why why;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(atlock_audit_anchor(audit, bad[i], &why), -EINVAL);
	atlock_audit_free(audit);
	atlock_audit_free(NULL);
}

/* The clock went back over midnight: the first day's file has events from before and after those of the second. */
static void clock_set_back_is_no_tampering(void **state)
{
	struct stage *s = *state;

	memset(files, 0, sizeof(files));
	stage_set_wall(s, -2 * DAY);
	assert_int_equal(stage_acquire(s, LOCK, "alice@1", 60), 0);
	assert_int_equal(atlock_days(s->al, NULL, file_copy, s), 0);
	assert_int_equal(AUDIT(FIRST, SECOND, THIRD), 0);
	assert_int_equal(result.last, 14);
	line_remove(FIRST, 5);
	line_remove(FIRST, 4);
	finds(5, "missing");
}

static void blank_lines_in_front_are_no_tampering(void **state)
{
	char *next;
	char *line = line_at(FIRST, 0, &next);

	(void)state;
	memset(line, '\n', (size_t)(next - line));
	assert_int_equal(AUDIT(FIRST, SECOND, THIRD), 0);
	assert_int_equal(result.first, 2);
	line = line_at(SECOND, 0, &next);
	memset(line, '\n', (size_t)(next - line));
	finds(6, "missing");
}

#define AUDITED(test) cmocka_unit_test_setup_teardown(test, setup, stage_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AUDITED(untouched_files_are_good_in_any_order),
		AUDITED(any_changed_byte_is_found),
		AUDITED(changed_first_and_last_line_are_found),
		AUDITED(removed_line_is_found),
		AUDITED(removed_last_line_of_a_file_is_found),
		AUDITED(first_of_several_is_named),
		AUDITED(swapped_lines_are_found),
		AUDITED(doubled_line_is_found),
		AUDITED(doubled_file_is_found),
		AUDITED(missing_file_is_found),
		AUDITED(cut_line_is_found),
		AUDITED(added_line_is_found),
		AUDITED(kept_hash_shows_a_log_that_was_cut_or_made_anew),
		AUDITED(bad_anchors_are_refused),
		AUDITED(clock_set_back_is_no_tampering),
		AUDITED(blank_lines_in_front_are_no_tampering),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
