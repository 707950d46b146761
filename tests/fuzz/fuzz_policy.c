/* Rules files: one that parses decides every question, and each of its rules prints as one that parses. */
#include <string.h>

#include "atlock.h"
#include "fuzz.h"
#include "policy_rules.h"

static int group_of(void *arg, const char *group)
{
	(void)arg;
	return group[0] % 3 - 1;
}

static void rule_again(const struct policy *policy, size_t line)
{
	char rule[ATLOCK_PATH_MAX];
	struct policy *again;
	struct atlock_why why = { 0 };

	policy_rule_print(policy, line, rule, sizeof(rule));
	MUST(rule[0] != '\0');
	if (strlen(rule) + 1 == sizeof(rule))
		return;
	MUST(policy_parse(rule, strlen(rule), &again, &why) == 0);
	policy_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct atlock_why why = { 0 };
	struct policy_user user;
	struct policy *policy;
	size_t line;

	if (policy_parse((const char *)data, size, &policy, &why) < 0) {
		MUST(why.text[0] != '\0');
		return 0;
	}
	policy_user_init(policy, "alice", group_of, NULL, &user);
	for (int action = 0; action < POLICY_ACTIONS; action++) {
		struct policy_question question = { .action = (enum policy_action)action,
						    .key = "reason",
						    .path = "repos/acme/infra/-/modules/vpc/-/production",
						    .user = &user };

		line = 0;
		if (policy_decide(policy, &question, &line) > POLICY_SILENT)
			rule_again(policy, line);
	}
	policy_free(policy);
	return 0;
}
