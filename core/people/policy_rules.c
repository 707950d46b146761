#include "policy_rules.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "why.h"

#define ANY_ACTION POLICY_ACTIONS

static const char *const actions[POLICY_ACTIONS] = {
	[POLICY_ACQUIRE] = "acquire", [POLICY_WAIT] = "wait",          [POLICY_RELEASE] = "release",
	[POLICY_WRITE] = "write",     [POLICY_READ] = "read",          [POLICY_TRANSFER] = "transfer",
	[POLICY_FORCE] = "force",     [POLICY_HIGH] = "priority=high", [POLICY_CRITICAL] = "priority=critical",
	[POLICY_NEVER] = "ttl=never",
};

/* The strings point into `line`, which the rule owns. */
struct rule {
	STAILQ_ENTRY(rule) link;
	size_t number;
	enum policy_verdict verdict;
	unsigned int action; /* enum policy_action, or ANY_ACTION */
	const char *user;    /* "*", "@group" or a name */
	size_t group;        /* of "@group": its index in the policy's groups */
	const char *key;     /* glob of "read=<glob>", or NULL */
	const char *glob;
	char line[];
};

struct policy {
	STAILQ_HEAD(, rule) rules;
	const char *groups[POLICY_GROUPS]; /* each once; they point into the rules */
	size_t group_count;
};

const char *policy_action_name(enum policy_action action)
{
	return (unsigned int)action < POLICY_ACTIONS ? actions[action] : "unknown";
}

void policy_actions_print(char *out, size_t len)
{
	strlcpy(out, actions[0], len);
	for (size_t i = 1; i < POLICY_ACTIONS; i++) {
		strlcat(out, " ", len);
		strlcat(out, actions[i], len);
	}
}

int policy_action_parse(const char *text, enum policy_action *out, const char **key)
{
	*key = NULL;
	if (strncmp(text, "read=", 5) == 0 && text[5] != '\0') {
		*out = POLICY_READ;
		*key = text + 5;
		return 0;
	}
	for (unsigned int i = 0; i < POLICY_ACTIONS; i++) {
		if (strcmp(text, actions[i]) != 0)
			continue;
		*out = (enum policy_action)i;
		return 0;
	}
	return -EINVAL;
}

/*
 * Where to resume after the last '*' or "**" has matched one more byte. Only the last of each needs a retry: the later
 * one can skip all that an earlier one could match.
 */
struct retry {
	const char *glob; /* after the stars; NULL: none yet */
	const char *text;
};

static bool retry_take(struct retry *star, struct retry *stars, const char **glob, const char **text)
{
	struct retry *retry = star;

	if (star->glob == NULL || *star->text == '/' || *star->text == '\0') {
		star->glob = NULL;
		retry = stars;
	}
	if (retry->glob == NULL || *retry->text == '\0')
		return false;
	*text = ++retry->text;
	*glob = retry->glob;
	return true;
}

bool policy_glob(const char *glob, const char *text)
{
	struct retry star = { NULL, NULL };
	struct retry stars = { NULL, NULL };

	while (*text != '\0' || *glob != '\0') {
		if (glob[0] == '*' && glob[1] == '*') {
			glob += 2;
			stars = (struct retry){ glob, text };
			star.glob = NULL;
		} else if (*glob == '*') {
			star = (struct retry){ ++glob, text };
		} else if (*text != '\0' && (*glob == *text || (*glob == '?' && *text != '/'))) {
			glob++;
			text++;
		} else if (!retry_take(&star, &stars, &glob, &text)) {
			return false;
		}
	}
	return true;
}

/* The next word of a line, NUL-terminated in place; NULL if there is none. */
static char *word_take(char **rest)
{
	char *word = *rest + strspn(*rest, " \t");

	if (*word == '\0')
		return NULL;
	*rest = word + strcspn(word, " \t");
	if (**rest != '\0')
		*(*rest)++ = '\0';
	return word;
}

static void blanks_trim(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL)
		text[--len] = '\0';
}

/* Quotes nothing of the line: the user who names the file may not be allowed to read it. */
static int refuse(size_t number, struct atlock_why *why, const char *what)
{
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "line %zu of the policy: %s", number, what);
}

/* Finds the index of a rule's group, or assigns the next one. */
static int group_add(struct policy *policy, struct rule *rule, struct atlock_why *why)
{
	const char *name = rule->user + 1;
	size_t len = strlen(name);

	if (len == 0 || len > POLICY_GROUP_MAX)
		return refuse(rule->number, why,
			      len == 0 ? "a group's name is missing after @" : "a group's name has at most 63 bytes");
	for (rule->group = 0; rule->group < policy->group_count; rule->group++)
		if (strcmp(policy->groups[rule->group], name) == 0)
			return 0;
	if (policy->group_count == POLICY_GROUPS)
		return refuse(rule->number, why, "a policy names at most 256 groups");
	policy->groups[policy->group_count++] = name;
	return 0;
}

static int action_parse(struct rule *rule, const char *word, struct atlock_why *why)
{
	enum policy_action action;
	char known[160] = "the action must be one of ";

	if (strcmp(word, "*") == 0) {
		rule->action = ANY_ACTION;
		return 0;
	}
	if (policy_action_parse(word, &action, &rule->key) == 0) {
		rule->action = action;
		return 0;
	}
	policy_actions_print(known + strlen(known), sizeof(known) - strlen(known));
	strlcat(known, " or *", sizeof(known));
	return refuse(rule->number, why, known);
}

/* Fills a rule from its line: 0, 1 (the line has no rule), or -EINVAL. */
static int rule_parse(struct policy *policy, struct rule *rule, struct atlock_why *why)
{
	char *rest = rule->line;
	char *verdict;
	char *action;
	int err;

	blanks_trim(rest);
	verdict = word_take(&rest);
	if (verdict == NULL || verdict[0] == '#')
		return 1;
	if (strcmp(verdict, "allow") == 0)
		rule->verdict = POLICY_ALLOW;
	else if (strcmp(verdict, "deny") == 0)
		rule->verdict = POLICY_DENY;
	else
		return refuse(rule->number, why, "a rule begins with allow or deny");
	rule->user = word_take(&rest);
	action = word_take(&rest);
	rule->glob = rest + strspn(rest, " \t");
	if (rule->user == NULL || action == NULL || rule->glob[0] == '\0')
		return refuse(rule->number, why, "a rule is allow|deny, a user, an action and a glob of locks");
	err = action_parse(rule, action, why);
	return err == 0 && rule->user[0] == '@' ? group_add(policy, rule, why) : err;
}

static int rule_add(struct policy *policy, size_t number, const char *line, size_t len, struct atlock_why *why)
{
	struct rule *rule;
	int rc;

	if (memchr(line, '\0', len) != NULL)
		return refuse(number, why, "a NUL byte is not text");
	rule = calloc(1, sizeof(*rule) + len + 1);
	if (rule == NULL)
		return -ENOMEM;
	memcpy(rule->line, line, len);
	rule->number = number;
	rc = rule_parse(policy, rule, why);
	if (rc != 0) {
		free(rule);
		return rc < 0 ? rc : 0;
	}
	STAILQ_INSERT_TAIL(&policy->rules, rule, link);
	return 0;
}

int policy_parse(const char *text, size_t len, struct policy **out, struct atlock_why *why)
{
	struct policy *policy;
	size_t at = 0;
	int err = 0;

	if (len > POLICY_BYTES)
		return why_set(why, -E2BIG, ATLOCK_INVALID_REQUEST, "a policy may have %d bytes", POLICY_BYTES);
	policy = calloc(1, sizeof(*policy));
	if (policy == NULL)
		return -ENOMEM;
	STAILQ_INIT(&policy->rules);
	for (size_t number = 1; err == 0 && at < len; number++) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end != NULL ? (size_t)(end - text) - at : len - at;

		err = rule_add(policy, number, text + at, n, why);
		at += n + 1;
	}
	if (err < 0) {
		policy_free(policy);
		return err;
	}
	*out = policy;
	return 0;
}

void policy_free(struct policy *policy)
{
	struct rule *rule;

	if (policy == NULL)
		return;
	while ((rule = STAILQ_FIRST(&policy->rules)) != NULL) {
		STAILQ_REMOVE_HEAD(&policy->rules, link);
		free(rule);
	}
	free(policy);
}

static void bit_set(unsigned char *bits, size_t i)
{
	bits[i / 8] = (unsigned char)(bits[i / 8] | 1U << i % 8);
}

static bool bit_get(const unsigned char *bits, size_t i)
{
	return (bits[i / 8] >> i % 8 & 1) != 0;
}

void policy_user_init(const struct policy *policy, const char *name, policy_group_fn *in_group, void *arg,
		      struct policy_user *out)
{
	memset(out, 0, sizeof(*out));
	out->name = name;
	for (size_t i = 0; policy != NULL && i < policy->group_count; i++) {
		int rc = in_group(arg, policy->groups[i]);

		if (rc <= 0)
			bit_set(rc < 0 ? out->unknown : out->in, i);
	}
}

bool policy_hides(const struct policy *policy)
{
	const struct rule *rule;

	if (policy != NULL)
		STAILQ_FOREACH(rule, &policy->rules, link)
			if (rule->verdict == POLICY_DENY && (rule->action == POLICY_READ || rule->action == ANY_ACTION))
				return true;
	return false;
}

void policy_rule_print(const struct policy *policy, size_t line, char *out, size_t len)
{
	const struct rule *rule;

	out[0] = '\0';
	STAILQ_FOREACH(rule, &policy->rules, link)
		if (rule->number == line)
			(void)snprintf(out, len, "%s %s %s%s%s %s", rule->verdict == POLICY_ALLOW ? "allow" : "deny",
				       rule->user, rule->action == ANY_ACTION ? "*" : actions[rule->action],
				       rule->key != NULL ? "=" : "", rule->key != NULL ? rule->key : "", rule->glob);
}

/* 1 if the rule applies to this user, 0 if not, < 0 if the user's groups are unknown. */
static int rule_has_user(const struct rule *rule, const struct policy_question *question)
{
	const struct policy_user *user = question->user;

	if (strcmp(rule->user, "*") == 0)
		return 1;
	if (rule->user[0] != '@')
		return strcmp(rule->user, user->name) == 0;
	return bit_get(user->unknown, rule->group) ? -EIO : bit_get(user->in, rule->group);
}

/* Tests the user last: a failed group lookup matters only where it would decide. */
static int rule_matches(const struct rule *rule, const struct policy_question *question)
{
	if (rule->action != ANY_ACTION && rule->action != question->action)
		return 0;
	if (rule->key != NULL && (question->key == NULL || !policy_glob(rule->key, question->key)))
		return 0;
	if (!policy_glob(rule->glob, question->path))
		return 0;
	return rule_has_user(rule, question);
}

int policy_decide(const struct policy *policy, const struct policy_question *question, size_t *line)
{
	const struct rule *rule;

	if (line != NULL)
		*line = 0;
	if (policy == NULL)
		return POLICY_SILENT;
	STAILQ_FOREACH(rule, &policy->rules, link) {
		int rc = rule_matches(rule, question);

		if (rc < 0)
			return rc;
		if (rc == 0)
			continue;
		if (line != NULL)
			*line = rule->number;
		return (int)rule->verdict;
	}
	return POLICY_SILENT;
}
