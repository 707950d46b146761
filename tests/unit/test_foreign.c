/* Atlantis' records and what they are in the tree, both ways: nothing that it reads is lost, and nothing secret is kept. */
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "atlock.h"
#include "atlock/import.h"

#define SAMPLE "tests/data/atlantis-sample.db"
#define LOCK(path, user, more)                                                                                  \
	"{\"bucket\":\"runLocks\",\"key\":\"k\",\"value\":{\"Project\":{\"ProjectName\":\"\",\"RepoFullName\":" \
	"\"acme/infra\",\"Path\":\"" path "\"},\"Pull\":{\"Num\":7" more "},\"User\":{" user                    \
	"},\"Workspace\":\"prod\",\"Time\":\"2026-08-20T10:45:59-07:00\"}}\n"
#define ALICE "\"Username\":\"alice\""

static const char *some(const char *text)
{
	return text == NULL ? "" : text;
}

/* Text as a file that can be named. */
struct lines {
	int fd;
	char path[64];
};

static struct lines lines_make(const char *text)
{
	struct lines lines = { .fd = memfd_create("lines", MFD_CLOEXEC) };

	assert_true(lines.fd >= 0);
	assert_int_equal(write(lines.fd, text, strlen(text)), strlen(text));
	snprintf(lines.path, sizeof(lines.path), "/proc/self/fd/%d", lines.fd);
	return lines;
}

/* The first record of a text: what atlock_foreign_next() returns. */
static int read_one(const char *text, unsigned int flags, struct atlock_foreign_record *record, struct atlock_why *why)
{
	struct lines lines = lines_make(text);
	struct atlock_foreign *foreign = NULL;
	int rc = atlock_foreign_open(&foreign, lines.path, flags, why);

	if (rc == 0)
		rc = atlock_foreign_next(foreign, record, why);
	atlock_foreign_close(foreign);
	close(lines.fd);
	return rc;
}

static void lock_is_taken_from_its_value(void **state)
{
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why;

	(void)state;
	assert_int_equal(read_one(LOCK("./modules//vpc", ALICE, ""), 0, &record, &why), 0);
	assert_string_equal(record.path, "repos/acme/infra/-/modules/vpc/-/prod");
	assert_string_equal(record.owner, "alice");
	assert_string_equal(record.who, "pr:7");
	assert_string_equal(record.key, "acme/infra/./modules//vpc/prod/");
	assert_true(record.elsewhere);
	assert_non_null(strstr(some(record.text), "ttl=never\ntime=2026-08-20T10:45:59-07:00\n"));
	atlock_foreign_clear(&record);
}

static void fields_may_be_missing_or_unknown(void **state)
{
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why;

	(void)state;
	assert_int_equal(read_one(LOCK("", "", ",\"New\":{\"A\":[1,null]}"), 0, &record, &why), 0);
	assert_string_equal(record.path, "repos/acme/infra/-/-/prod");
	assert_string_equal(record.owner, "atlantis");
	assert_non_null(strstr(some(record.value), "\"New\":{\"A\":[1,null]}"));
	atlock_foreign_clear(&record);
	assert_int_equal(read_one(LOCK("../x", ALICE, ""), 0, &record, &why), 2);
	assert_int_equal(read_one(LOCK("x", "\"Username\":\"a\\nb\"", ""), 0, &record, &why), 2);
	assert_non_null(strstr(why.text, "line 1: "));
	assert_int_equal(read_one("{\"bucket\":\"runLocks\",\"value\":[]}\n", 0, &record, &why), 2);
	assert_int_equal(read_one("{\n", 0, &record, &why), 2);
	atlock_foreign_clear(&record);
}

static void secrets_are_left_out(void **state)
{
	static const char text[] = LOCK(
		"x", ALICE,
		",\"BaseRepo\":{\"CloneURL\":\"https://bot:S3CRET@h/a\"},\"URL\":\"https://u:S3CRET@h/p\",\"L\":["
		"\"see ssh://git:S3CRET@h:22/x\",{\"CloneURL\":\"S3CRET\"}],\"SanitizedCloneURL\":"
		"\"https://bot:<redacted>@h/a\"");
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why;
	char *line;

	(void)state;
	assert_int_equal(read_one(text, 0, &record, &why), 0);
	line = atlock_foreign_line(&record);
	assert_non_null(line);
	assert_null(strstr(some(record.value), "S3CRET"));
	assert_null(strstr(some(record.text), "S3CRET"));
	assert_null(strstr(some(line), "S3CRET"));
	assert_non_null(strstr(some(record.value), "https://bot:<redacted>@h/a"));
	free(line);
	atlock_foreign_clear(&record);
}

/* Every line of what is written to a lock is one line, whatever is in the record. */
static void text_is_fit_for_a_lock(void **state)
{
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why;
	char *text;

	(void)state;
	assert_int_equal(read_one(LOCK("x", ALICE, ",\"URL\":\"a\\nb\",\"Body\":\"\\u007f\\u0000 \\r\\n\\u00fc\""), 0,
				  &record, &why),
			 2);
	assert_int_equal(
		read_one(LOCK("x", ALICE, ",\"URL\":\"a\\nb\",\"Body\":\"\\u007f \\r\\n\\u00fc\""), 0, &record, &why),
		0);
	for (const char *p = some(record.text); *p != '\0'; p++)
		assert_true((unsigned char)*p >= 0x20 ? *p != 0x7f : *p == '\n');
	assert_null(strstr(some(record.text), "url="));
	/* A description that does not fit goes; without one, the record is too long. */
	assert_true(asprintf(&text, LOCK("x", ALICE, ",\"Body\":\"%020000d\""), 0) > 0);
	assert_int_equal(read_one(text, 0, &record, &why), 0);
	assert_true(record.shortened);
	free(text);
	assert_true(asprintf(&text, LOCK("x", ALICE, ",\"Other\":\"%020000d\""), 0) > 0);
	assert_int_equal(read_one(text, 0, &record, &why), 2);
	free(text);
	atlock_foreign_clear(&record);
}

static void statuses_of_before_0_25_are_shifted(void **state)
{
	static const char text[] =
		"{\"bucket\":\"pulls\",\"key\":\"h::a/b::1\",\"value\":{\"Projects\":["
		"{\"Workspace\":\"w\",\"RepoRelDir\":\"d\",\"ProjectName\":\"\",\"Status\":1},"
		"{\"Workspace\":\"w\",\"RepoRelDir\":\"e\",\"ProjectName\":\"\",\"Status\":2}],\"Pull\":{\"Num\":1}}}\n";
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why;

	(void)state;
	assert_int_equal(read_one(text, 0, &record, &why), 0);
	assert_string_equal(record.path, "pulls/h/a/b/-/1");
	assert_string_equal(record.text, "d\tw\t\tplanned\ne\tw\t\tplanned_no_changes\n");
	assert_int_equal(read_one(text, ATLOCK_FOREIGN_BEFORE_0_25, &record, &why), 0);
	assert_string_equal(record.text, "d\tw\t\tplanned\ne\tw\t\tapply_errored\n");
	atlock_foreign_clear(&record);
}

static void pull_request_goes_both_ways(void **state)
{
	static const char projects[] = "head=abc\nd\tw%25\tp\tapplied\nq\tw\t\tplanned\t{\"RepoRelDir\":\"./q\"}\n";
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why;

	(void)state;
	assert_int_equal(atlock_foreign_from_pull("pulls/h/a/b/-/1", "abc\n", "url=u\n", projects, &record, &why), 0);
	assert_string_equal(record.key, "h::a/b::1");
	assert_string_equal(record.text, projects);
	assert_non_null(strstr(some(record.value), "\"HeadCommit\":\"abc\""));
	assert_non_null(strstr(some(record.value), "\"RepoRelDir\":\"./q\""));
	assert_int_equal(atlock_foreign_from_pull("pulls/h/a/b/-/1", "", "", "", &record, &why), 1);
	assert_int_equal(atlock_foreign_from_pull("pulls/h/a", "x", "", "", &record, &why), -EINVAL);
	atlock_foreign_clear(&record);
}

static void values_compare_as_atlantis_reads_them(void **state)
{
	char text[400];

	(void)state;
	assert_int_equal(
		atlock_foreign_compare("{\"A\":1,\"B\":null,\"C\":\"\"}", "{\"A\":1,\"D\":{\"E\":0}}", text, 400), 0);
	assert_int_equal(atlock_foreign_compare("{\"CloneURL\":\"a\"}", "{\"CloneURL\":\"b\"}", text, 400), 0);
	assert_int_equal(atlock_foreign_compare("{\"A\":{\"B\":1}}", "{\"A\":{\"B\":2}}", text, 400), 1);
	assert_string_equal(text, "A.B is 1 here and 2 there");
	assert_int_equal(atlock_foreign_compare("{}", "{\"A\":\"x\"}", text, 400), 1);
	assert_string_equal(text, "A is missing here and \"x\" there");
	assert_int_equal(atlock_foreign_compare("{\"P\":[{\"RepoRelDir\":\"a\"},{\"RepoRelDir\":\"b\"}]}",
						"{\"P\":[{\"RepoRelDir\":\"b\"},{\"RepoRelDir\":\"a\"}]}", text, 400),
			 0);
	assert_int_equal(atlock_foreign_compare("[]", "{}", text, 400), 1);
}

static void lock_taken_here_has_a_record(void **state)
{
	static const char line[] =
		"{\"kind\":\"lock\",\"lock\":\"repos/acme/infra/-/-/a%3Ab:p\",\"owner\":\"bob\",\"who\":\"pr:9\","
		"\"acquired_at\":\"2026-01-01T00:00:00Z\",\"meta\":{\"url\":\"u\"}}";
	static const char other[] = "{\"kind\":\"lock\",\"lock\":\"custom/x\",\"owner\":\"bob\",\"who\":\"pr:9\"}";
	static const char global[] = "{\"kind\":\"lock\",\"lock\":\"global/plan\",\"owner\":\"bob\",\"who\":\"x\","
				     "\"acquired_at\":\"1970-01-01T00:01:00.5Z\"}";
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why;

	(void)state;
	assert_int_equal(atlock_foreign_from_lock(line, strlen(line), &record, &why), 0);
	assert_string_equal(record.key, "acme/infra/./a:b/p");
	assert_non_null(strstr(some(record.value), "\"Num\":9"));
	assert_non_null(strstr(some(record.value), "\"Time\":\"2026-01-01T00:00:00Z\""));
	assert_int_equal(atlock_foreign_from_lock(other, strlen(other), &record, &why), 1);
	assert_int_equal(atlock_foreign_from_lock(global, strlen(global), &record, &why), 0);
	assert_string_equal(record.key, "plan/lock");
	assert_string_equal(record.value, "{\"LockMetadata\":{\"UnixTime\":60},\"CommandName\":1}");
	assert_int_equal(atlock_foreign_from_lock("[", 1, &record, &why), -EBADMSG);
	atlock_foreign_clear(&record);
}

/* Reads all of a file: how many records it gave, or the error. */
static int count_all(const char *path, struct atlock_why *why)
{
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_foreign *foreign;
	int rc = atlock_foreign_open(&foreign, path, 0, why);
	int count = 0;

	if (rc < 0)
		return rc;
	while ((rc = atlock_foreign_next(foreign, &record, why)) == 0 || rc == 2)
		count++;
	atlock_foreign_clear(&record);
	atlock_foreign_close(foreign);
	return rc < 0 ? rc : count;
}

static void flipped_bytes_are_an_error_or_harmless(void **state)
{
	struct lines copy = lines_make("");
	struct atlock_why why;
	static unsigned char data[512 * 1024];
	int fd = open(SAMPLE, O_RDONLY);
	ssize_t len = read(fd, data, sizeof(data));

	(void)state;
	close(fd);
	assert_true(len > 0 && pwrite(copy.fd, data, (size_t)len, 0) == len);
	assert_int_equal(count_all(copy.path, &why), 140);
	for (ssize_t at = 0; at < 74 * 4096; at += 487) {
		unsigned char byte = data[at] ^ (unsigned char)(1U << (at % 8));
		int rc;

		assert_int_equal(pwrite(copy.fd, &byte, 1, at), 1);
		rc = count_all(copy.path, &why);
		if (rc != 140 && rc != -EBADMSG)
			fail_msg("byte %zd: %d %s", at, rc, why.text);
		assert_int_equal(pwrite(copy.fd, &data[at], 1, at), 1);
	}
	close(copy.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock_is_taken_from_its_value),
		cmocka_unit_test(fields_may_be_missing_or_unknown),
		cmocka_unit_test(secrets_are_left_out),
		cmocka_unit_test(text_is_fit_for_a_lock),
		cmocka_unit_test(statuses_of_before_0_25_are_shifted),
		cmocka_unit_test(pull_request_goes_both_ways),
		cmocka_unit_test(values_compare_as_atlantis_reads_them),
		cmocka_unit_test(lock_taken_here_has_a_record),
		cmocka_unit_test(flipped_bytes_are_an_error_or_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
