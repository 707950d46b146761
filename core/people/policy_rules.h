/*
 * The rules file: who may do what with which lock. One rule a line, the first that matches decides:
 *
 *	allow|deny  <user> | @<group> | *  <action>  <glob>
 *
 * Actions are those of the table in policy.c, or * for all. The glob, which ends with the line, is matched against the
 * lock's canonical path: ? matches one byte and * any number of bytes other than '/', ** matches any bytes. Empty lines
 * and lines that begin with # are ignored.
 *
 *	policy_parse(text, len, &policy, &why);
 *	policy_user_find(policy, users, "alice", 1000, &user);	may ask a directory service
 *	policy_decide(policy, &(struct policy_question){ .user = &user, ... }, &line);	memory only
 *	policy_free(policy);
 *
 * A parsed policy does not change, so any thread may use it.
 */
#ifndef CORE_POLICY_RULES_H
#define CORE_POLICY_RULES_H

#include "atlock.h"

#define POLICY_BYTES 1048576 /* of a file */
#define POLICY_GROUPS 256    /* different groups in a file */
#define POLICY_GROUP_MAX 63  /* bytes of a group's name */

enum policy_action {
	POLICY_ACQUIRE,
	POLICY_WAIT,
	POLICY_RELEASE,
	POLICY_WRITE, /* change its lease or text */
	POLICY_READ,  /* see the values of a holder's own keys: read, or read=<glob of keys> */
	POLICY_TRANSFER,
	POLICY_FORCE,
	POLICY_HIGH, /* priority=high */
	POLICY_CRITICAL,
	POLICY_NEVER, /* ttl=never */
	POLICY_ACTIONS
};

/* POLICY_SILENT: no rule matches; then the defaults without a policy apply. */
enum policy_verdict { POLICY_SILENT, POLICY_ALLOW, POLICY_DENY };

struct policy;

/* A user as a policy sees one: one bit for each group that the policy names. */
struct policy_user {
	const char *name;
	unsigned char in[POLICY_GROUPS / 8];
	unsigned char unknown[POLICY_GROUPS / 8];
};

struct policy_question {
	enum policy_action action;
	const char *key; /* POLICY_READ: key whose value is to be read; NULL: any */
	const char *path;
	const struct policy_user *user; /* made for this policy */
};

/* -EINVAL with the line number and a correction, -E2BIG, -ENOMEM; these leave `*out` untouched. */
int policy_parse(const char *text, size_t len, struct policy **out, struct atlock_why *why);
void policy_free(struct policy *policy);

/* policy_file.c: the same from a file, by its absolute path. -EINVAL also if it cannot be read or is world-writable. */
int policy_load(const char *file, struct policy **out, struct atlock_why *why);

/*
 * Calls in_group() for every group that the policy names: 0 is a member, 1 is not, < 0 unknown. Keeps the pointer
 * `name`.
 */
typedef int policy_group_fn(void *arg, const char *group);
void policy_user_init(const struct policy *policy, const char *name, policy_group_fn *in_group, void *arg,
		      struct policy_user *out);

/* policy_file.c: the same for a user of the system. May ask a directory service. */
struct users;
void policy_user_find(const struct policy *policy, struct users *users, const char *name, uid_t uid,
		      struct policy_user *out);

/*
 * Returns an enum policy_verdict and sets `*line` (may be NULL) to the rule's line or 0. -EIO if the decision depends
 * on an unknown group membership. A NULL policy has no rules.
 */
int policy_decide(const struct policy *policy, const struct policy_question *question, size_t *line);

/* Whether any rule hides values, so that two users may read different texts. */
bool policy_hides(const struct policy *policy);

/* The rule on a line, in canonical form; "" if there is none. */
void policy_rule_print(const struct policy *policy, size_t line, char *out, size_t len);

/* "acquire", "priority=high", "read=<key>". -EINVAL; `*key` points into `text`, or is NULL. */
int policy_action_parse(const char *text, enum policy_action *out, const char **key);
const char *policy_action_name(enum policy_action action);

/* All action words, for messages. */
void policy_actions_print(char *out, size_t len);

bool policy_glob(const char *glob, const char *text);

#endif
