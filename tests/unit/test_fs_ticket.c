/* Names of tickets: as they are made, as they are listed, and what is neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <errno.h>

#include "ticket_name.h"

static const struct {
	const char *text;
	int err;
	enum atlock_priority priority;
	uint64_t sequence;
	bool named;
	const char *who;
} vectors[] = {
	{ "low", 0, ATLOCK_LOW, 0, false, "" },
	{ "critical", 0, ATLOCK_CRITICAL, 0, false, "" },
	{ "normal@build-17", 0, ATLOCK_NORMAL, 0, true, "build-17" },
	{ "high@a%2Fb", 0, ATLOCK_HIGH, 0, true, "a%2Fb" },
	{ "000001-high-42-alice@ci", 0, ATLOCK_HIGH, 42, true, "" },
	/* The rank may be any, since it changes. */
	{ "9-low-1-x@y", 0, ATLOCK_LOW, 1, true, "" },
	{ "18-low-18446744073709551615-x@y", 0, ATLOCK_LOW, UINT64_MAX, true, "" },
	{ "", -EINVAL, ATLOCK_LOW, 0, false, "" },
	{ "urgent", -EINVAL, ATLOCK_LOW, 0, false, "" },
	{ "normal@", -EINVAL, ATLOCK_LOW, 0, false, "" },
	{ "@ci", -EINVAL, ATLOCK_LOW, 0, false, "" },
	{ "normalnormalnormal", -EINVAL, ATLOCK_LOW, 0, false, "" },
	{ "000001-high-0-alice@ci", -EINVAL, ATLOCK_LOW, 0, false, "" },
	{ "000001-high--1-alice@ci", -EINVAL, ATLOCK_LOW, 0, false, "" },
	{ "000001-urgent-1-alice@ci", -EINVAL, ATLOCK_LOW, 0, false, "" },
	{ "000001-high-1", -EINVAL, ATLOCK_LOW, 0, false, "" },
	{ "1-low-18446744073709551616-x@y", -EINVAL, ATLOCK_LOW, 0, false, "" },
};

static void both_forms_are_parsed_and_others_refused(void **state)
{
	struct call *call = calloc(1, sizeof(*call));
	struct fuse_ctx ctx = { .pid = getpid() };

	(void)state;
	assert_non_null(call);
	call->ctx = &ctx;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct ticket_name name;
		int err = ticket_name_parse(call, vectors[i].text, &name);

		if (err != vectors[i].err)
			fail_msg("%s: %d", vectors[i].text, err);
		if (err < 0) {
			assert_int_equal(call->why.code, ATLOCK_INVALID_REQUEST);
			continue;
		}
		assert_int_equal(name.priority, vectors[i].priority);
		assert_int_equal(name.sequence, vectors[i].sequence);
		assert_int_equal(name.named, vectors[i].named);
		assert_string_equal(name.who, vectors[i].who);
	}
	free(call);
}

static void a_listed_name_leads_back_to_its_ticket(void **state)
{
	struct call *call = calloc(1, sizeof(*call));
	char owner[] = "alice";
	char who[] = "a/b%\x01";
	struct atlock_ticket ticket = {
		.ticket = 77, .position = 3, .priority = ATLOCK_HIGH, .owner = owner, .who = who
	};
	char text[ATLOCK_COMPONENT_MAX + 1];
	struct ticket_name name;

	(void)state;
	assert_non_null(call);
	ticket_name_print(&ticket, text);
	assert_string_equal(text, "000003-high-77-alice@a%2Fb%25%01");
	assert_int_equal(ticket_name_parse(call, text, &name), 0);
	assert_int_equal(name.sequence, 77);
	assert_int_equal(name.priority, ATLOCK_HIGH);
	free(call);
}

static void a_long_name_is_cut_and_still_found(void **state)
{
	struct call *call = calloc(1, sizeof(*call));
	char owner[ATLOCK_OWNER_MAX + 1] = "";
	char who[ATLOCK_WHO_MAX + 1] = "";
	struct atlock_ticket ticket = {
		.ticket = 78, .position = 1, .priority = ATLOCK_LOW, .owner = owner, .who = who
	};
	char text[ATLOCK_COMPONENT_MAX + 1];
	struct ticket_name name;

	(void)state;
	assert_non_null(call);
	memset(owner, 'o', sizeof(owner) - 1);
	memset(who, '/', sizeof(who) - 1);
	ticket_name_print(&ticket, text);
	assert_int_equal(strlen(text), ATLOCK_COMPONENT_MAX);
	assert_int_equal(ticket_name_parse(call, text, &name), 0);
	assert_int_equal(name.sequence, 78);
	free(call);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_forms_are_parsed_and_others_refused),
		cmocka_unit_test(a_listed_name_leads_back_to_its_ticket),
		cmocka_unit_test(a_long_name_is_cut_and_still_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
