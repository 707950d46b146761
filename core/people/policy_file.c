/* Reads a policy from a file, and answers questions of programs that have no manager. */
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy_rules.h"
#include "users.h"
#include "why.h"

/* World-writable rules protect nothing; reading something other than a regular file might never end. */
static int file_check(int fd, const char *file, struct atlock_why *why)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "the policy %s is not a plain file", file);
	if (st.st_mode & S_IWOTH)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "the policy %s may be written by all users: chmod o-w it", file);
	if (st.st_size > POLICY_BYTES)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "the policy %s has more than %d bytes", file,
			       POLICY_BYTES);
	return 0;
}

static int file_read(int fd, char **text, size_t *len)
{
	char *buf = malloc(POLICY_BYTES + 1);
	size_t at = 0;
	ssize_t n = 1;

	if (buf == NULL)
		return -ENOMEM;
	while (n > 0 && at < POLICY_BYTES + 1) {
		n = read(fd, buf + at, POLICY_BYTES + 1 - at);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			at += (size_t)n;
	}
	if (n < 0) {
		free(buf);
		return -errno;
	}
	*text = buf;
	*len = at;
	return 0;
}

int policy_load(const char *file, struct policy **out, struct atlock_why *why)
{
	struct atlock_why reason = { .text = "" };
	char *text = NULL;
	size_t len = 0;
	int fd;
	int rc;

	if (file[0] != '/')
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "the policy needs a path that begins with /");
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "the policy %s cannot be read: %s", file,
			       strerror(errno));
	rc = file_check(fd, file, &reason);
	if (rc == 0)
		rc = file_read(fd, &text, &len);
	if (rc == 0)
		rc = policy_parse(text, len, out, &reason);
	free(text);
	(void)close(fd);
	if (rc == 0)
		return 0;
	return why_set(why, rc == -ENOMEM ? rc : -EINVAL, ATLOCK_INVALID_REQUEST, "%s%s%s",
		       reason.text[0] != '\0' ? reason.text : strerror(-rc),
		       strncmp(reason.text, "line", 4) == 0 ? ": " : "",
		       strncmp(reason.text, "line", 4) == 0 ? file : "");
}

struct asked {
	struct users *users;
	uid_t uid;
};

static int asked_in_group(void *arg, const char *group)
{
	const struct asked *asked = arg;

	return users_in_group(asked->users, asked->uid, group);
}

void policy_user_find(const struct policy *policy, struct users *users, const char *name, uid_t uid,
		      struct policy_user *out)
{
	struct asked asked = { users, uid };

	policy_user_init(policy, name, asked_in_group, &asked, out);
}

struct atlock_policy {
	struct policy *policy;
	struct users *users;
};

int atlock_policy_load(const char *file, struct atlock_policy **out, struct atlock_why *why)
{
	struct atlock_policy *policy;
	int rc;

	if (file == NULL || out == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no policy given");
	policy = calloc(1, sizeof(*policy));
	rc = policy == NULL ? -ENOMEM : users_new(&policy->users, NULL);
	if (rc == 0)
		rc = policy_load(file, &policy->policy, why);
	else
		why_set(why, rc, ATLOCK_BACKEND_ERROR, "out of memory");
	if (rc < 0)
		atlock_policy_free(policy);
	else
		*out = policy;
	return rc;
}

void atlock_policy_free(struct atlock_policy *policy)
{
	if (policy == NULL)
		return;
	policy_free(policy->policy);
	users_free(policy->users);
	free(policy);
}

int atlock_policy_test(struct atlock_policy *policy, const char *user, const char *action, const char *lock,
		       struct atlock_policy_answer *out, struct atlock_why *why)
{
	struct policy_question question = { .path = lock };
	struct policy_user who;
	char known[160];
	uid_t uid;
	gid_t gid;
	int rc;

	if (policy == NULL || user == NULL || action == NULL || lock == NULL || out == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "a user, an action and a lock are needed");
	if (policy_action_parse(action, &question.action, &question.key) < 0) {
		policy_actions_print(known, sizeof(known));
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "the action must be one of %s", known);
	}
	rc = users_find(policy->users, user, &uid, &gid);
	if (rc != 0)
		return why_set(why, rc < 0 ? rc : -ENOENT, ATLOCK_INVALID_REQUEST,
			       rc < 0 ? "the user data base does not answer about %s" : "there is no user %s", user);
	policy_user_find(policy->policy, policy->users, user, uid, &who);
	question.user = &who;
	rc = policy_decide(policy->policy, &question, &out->line);
	if (rc < 0)
		return why_set(why, rc, ATLOCK_BACKEND_ERROR, "the user data base does not answer about a group");
	out->verdict = rc == POLICY_ALLOW  ? ATLOCK_POLICY_ALLOWS
		       : rc == POLICY_DENY ? ATLOCK_POLICY_DENIES
					   : ATLOCK_POLICY_SILENT;
	policy_rule_print(policy->policy, out->line, out->rule, sizeof(out->rule));
	return 0;
}
