#include <bsd/string.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "policy_rules.h"

static struct atlock_why why;

static int parse(const char *text, struct policy **out)
{
	memset(&why, 0, sizeof(why));
	return policy_parse(text, strlen(text), out, &why);
}

static int in_group(void *arg, const char *group)
{
	const char *groups = arg;

	if (strcmp(group, "broken") == 0)
		return -EIO;
	return groups == NULL || strstr(groups, group) == NULL;
}

struct question_case {
	const char *user;
	const char *groups;
	const char *action;
	const char *path;
	int verdict;
	size_t line;
};

static void ask(const struct policy *policy, const struct question_case *c)
{
	struct policy_user user;
	struct policy_question question = { .path = c->path, .user = &user };
	size_t line = 99;

	policy_user_init(policy, c->user, in_group, (void *)(uintptr_t)c->groups, &user);
	assert_int_equal(policy_action_parse(c->action, &question.action, &question.key), 0);
	assert_int_equal(policy_decide(policy, &question, &line), c->verdict);
	assert_int_equal(line, c->line);
}

static void glob_has_one_meaning(void **state)
{
	static const struct {
		const char *glob;
		const char *text;
		bool match;
	} cases[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "*", "abc", true },
		{ "*", "a/b", false },
		{ "**", "a/b/c", true },
		{ "?", "/", false },
		{ "?", "", false },
		{ "a?c", "abc", true },
		{ "repos/*/prod", "repos/a/prod", true },
		{ "repos/*/prod", "repos/a/b/prod", false },
		{ "repos/**/prod", "repos/a/b/prod", true },
		{ "repos/**/*prod", "repos/a/b/x-prod", true },
		{ "repos/**/*prod", "repos/a/b/x-prod/c", false },
		{ "**/-/*", "repos/a/-/d/-/ws", true },
		{ "*a*b*c", "xaxbxbxc", true },
		{ "*a*b*c", "xaxbxbxd", false },
		{ "**a*b", "a/xb/a-b", true },
		{ "**a*b", "a/xb/a/b", false },
		{ "a**", "a", true },
		{ "***", "a/b", true },
		{ "[a]", "a", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (policy_glob(cases[i].glob, cases[i].text) != cases[i].match)
			fail_msg("\"%s\" and \"%s\"", cases[i].glob, cases[i].text);
}

/* A matcher that tried every way would need years for this one. */
static void glob_takes_no_time(void **state)
{
	char text[2001];
	char glob[201];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[2000] = '\0';
	for (size_t i = 0; i + 1 < sizeof(glob); i += 2)
		memcpy(glob + i, "*a", 2);
	glob[200] = '\0';
	glob[199] = 'b';
	assert_false(policy_glob(glob, text));
}

static void first_rule_that_matches_decides(void **state)
{
	static const struct question_case cases[] = {
		{ "root", NULL, "acquire", "repos/a/-/d/-/production", POLICY_ALLOW, 7 },
		{ "alice", "deploy", "acquire", "repos/a/-/d/-/production", POLICY_ALLOW, 3 },
		{ "alice", NULL, "acquire", "repos/a/-/d/-/production", POLICY_DENY, 4 },
		{ "alice", NULL, "acquire", "repos/a/-/d/-/staging", POLICY_SILENT, 0 },
		{ "alice", NULL, "priority=critical", "custom/x", POLICY_DENY, 5 },
		{ "alice", NULL, "priority=high", "custom/x", POLICY_SILENT, 0 },
		{ "bob", NULL, "read=password", "custom/x", POLICY_DENY, 6 },
		{ "bob", NULL, "read=reason", "custom/x", POLICY_SILENT, 0 },
		{ "bob", NULL, "read", "custom/x", POLICY_SILENT, 0 },
		{ "alice", NULL, "force", "custom/with blank/x", POLICY_ALLOW, 9 },
	};
	struct policy *policy = NULL;

	(void)state;
	assert_int_equal(parse("# who may touch production\n"
			       "\n"
			       "allow @deploy acquire repos/**/production\n"
			       "deny alice acquire repos/**/production\n"
			       "deny\t*\tpriority=critical\t**\r\n"
			       "deny bob read=pass* **  \n"
			       "allow root * **\n"
			       "   # indented\n"
			       "allow alice force custom/with blank/*",
			       &policy),
			 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ask(policy, &cases[i]);
	policy_free(policy);
}

static void group_nobody_can_tell_is_an_error_not_a_guess(void **state)
{
	struct policy *policy = NULL;
	struct policy_user user;
	struct policy_question question = { .action = POLICY_ACQUIRE, .path = "custom/x", .user = &user };

	(void)state;
	assert_int_equal(parse("deny @broken acquire custom/*\nallow * * **\n", &policy), 0);
	policy_user_init(policy, "alice", in_group, NULL, &user);
	assert_int_equal(policy_decide(policy, &question, NULL), -EIO);
	question.path = "global/apply"; /* the broken group is not needed here */
	assert_int_equal(policy_decide(policy, &question, NULL), POLICY_ALLOW);
	policy_free(policy);
}

static void bad_line_is_named(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} cases[] = {
		{ "allow * * **\npermit * * **\n", "line 2 of the policy" },
		{ "permit * * **", "allow or deny" },
		{ "allow", "a glob of locks" },
		{ "allow alice", "a glob of locks" },
		{ "allow alice acquire", "a glob of locks" },
		{ "allow alice acquire   ", "a glob of locks" },
		{ "allow alice aquire **", "acquire wait release" },
		{ "allow alice read= **", "acquire wait release" },
		{ "allow @ acquire **", "group" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct policy *policy = NULL;

		assert_int_equal(parse(cases[i].text, &policy), -EINVAL);
		assert_null(policy);
		assert_non_null(strstr(why.text, cases[i].says));
	}
}

static void text_that_is_none_is_refused(void **state)
{
	static char big[POLICY_BYTES + 1];
	struct policy *policy = NULL;

	(void)state;
	assert_int_equal(policy_parse("allow * * **\0\n", 14, &policy, &why), -EINVAL);
	memset(big, '\n', sizeof(big));
	assert_int_equal(policy_parse(big, sizeof(big), &policy, &why), -E2BIG);
	assert_null(policy);
	assert_int_equal(policy_parse("", 0, &policy, &why), 0);
	ask(policy, &(struct question_case){ "a", NULL, "acquire", "custom/x", POLICY_SILENT, 0 });
	policy_free(policy);
	ask(NULL, &(struct question_case){ "a", NULL, "acquire", "custom/x", POLICY_SILENT, 0 });
	policy_free(NULL);
}

static void groups_are_told_apart(void **state)
{
	struct policy *policy = NULL;
	char text[16384] = "";
	char line[64];

	(void)state;
	for (int i = 0; i < POLICY_GROUPS; i++) {
		snprintf(line, sizeof(line), "allow @g%03d acquire custom/%d\nallow @g%03d wait **\n", i, i, i);
		strlcat(text, line, sizeof(text));
	}
	assert_int_equal(parse(text, &policy), 0);
	ask(policy, &(struct question_case){ "a", "g007 g255", "acquire", "custom/7", POLICY_ALLOW, 15 });
	ask(policy, &(struct question_case){ "a", "g007 g255", "acquire", "custom/255", POLICY_ALLOW, 511 });
	ask(policy, &(struct question_case){ "a", "g007 g255", "acquire", "custom/8", POLICY_SILENT, 0 });
	policy_free(policy);
	policy = NULL;
	strlcat(text, "allow @onemore acquire **\n", sizeof(text));
	assert_int_equal(parse(text, &policy), -EINVAL);
	assert_non_null(strstr(why.text, "line 513 of the policy"));
}

static void rule_is_printed_as_it_counts(void **state)
{
	struct policy *policy = NULL;
	char text[128];

	(void)state;
	assert_int_equal(parse("\ndeny\tbob  read=pass*   custom/a b \nallow @x * **\n", &policy), 0);
	policy_rule_print(policy, 2, text, sizeof(text));
	assert_string_equal(text, "deny bob read=pass* custom/a b");
	policy_rule_print(policy, 3, text, sizeof(text));
	assert_string_equal(text, "allow @x * **");
	policy_rule_print(policy, 1, text, sizeof(text));
	assert_string_equal(text, "");
	assert_true(policy_hides(policy));
	policy_free(policy);
	assert_int_equal(parse("allow bob read **\ndeny bob acquire **\n", &policy), 0);
	assert_false(policy_hides(policy));
	policy_free(policy);
	assert_false(policy_hides(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(glob_has_one_meaning),
		cmocka_unit_test(glob_takes_no_time),
		cmocka_unit_test(first_rule_that_matches_decides),
		cmocka_unit_test(group_nobody_can_tell_is_an_error_not_a_guess),
		cmocka_unit_test(groups_are_told_apart),
		cmocka_unit_test(rule_is_printed_as_it_counts),
		cmocka_unit_test(bad_line_is_named),
		cmocka_unit_test(text_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
