/* What the policy in force lets each caller do, with the manager around it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "stage.h"

static char file[] = "/tmp/atlockfs-policy.XXXXXX";

static void policy_write(const char *text)
{
	FILE *out = fopen(file, "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

/* A stage under these rules. */
static struct stage *ruled(void **state, const char *text)
{
	struct stage *s = *state;

	policy_write(text);
	stage_configure(s, "policy", file);
	return s;
}

static void refused_by(struct stage *s, int rc, int line)
{
	char expected[32];

	assert_int_equal(rc, -EACCES);
	assert_int_equal(s->why.code, ATLOCK_PERMISSION_DENIED);
	snprintf(expected, sizeof(expected), "line %d of the policy", line);
	if (strstr(s->why.text, expected) == NULL)
		fail_msg("not \"%s\": %s", expected, s->why.text);
}

static void acquire_and_wait_are_bound(void **state)
{
	struct stage *s = ruled(state, "deny bob acquire global/*\ndeny carol wait global/*\n");
	struct told *told = stage_told(s);
	uint64_t ticket;

	refused_by(s, stage_acquire(s, "global/a", "bob@1", 0), 1);
	assert_string_equal(stage_holder(s, "global/a"), "free");
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	refused_by(s, stage_enqueue(s, "global/a", "bob@1", ATLOCK_NORMAL, &ticket), 1);
	refused_by(s, stage_wait(s, "global/a", "bob@1", ATLOCK_NORMAL, told, NULL), 1);
	refused_by(s, stage_enqueue(s, "global/a", "carol@1", ATLOCK_NORMAL, &ticket), 2);
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	assert_int_equal(stage_acquire(s, "global/a", "carol@1", 0), 0);
}

static void release_write_and_transfer_are_bound(void **state)
{
	struct stage *s = ruled(state, "deny bob release **\ndeny bob write **\ndeny carol transfer **\n");

	assert_int_equal(stage_acquire(s, "global/a", "bob@1", 0), 0);
	assert_int_equal(stage_acquire(s, "global/a", "bob@1", 0), 1);
	refused_by(s, stage_release(s, "global/a", "bob@1"), 1);
	refused_by(s, stage_renew(s, "global/a", "bob@1", 60), 2);
	refused_by(s, stage_write(s, "global/a", "bob@1", "k=v\n"), 2);
	refused_by(s, stage_acquire(s, "global/a", "bob@1", 60), 2);
	assert_int_equal(stage_acquire(s, "global/b", "carol@1", 0), 0);
	refused_by(s, stage_transfer(s, "global/b", "carol@1", "dave@1"), 3);
	refused_by(s, stage_write(s, "global/b", "carol@1", "who=2\n"), 3);
	assert_string_equal(stage_holder(s, "global/b"), "carol@1");
	assert_int_equal(stage_write(s, "global/b", "carol@1", "k=v\n"), 0);
}

static void open_file_that_closes_gives_back_whatever_the_rules_say(void **state)
{
	struct stage *s = ruled(state, "deny bob release **\n");

	assert_int_equal(stage_acquire(s, "global/a", "bob@flock:1", 0), 0);
	assert_int_equal(stage_release(s, "global/a", "bob@flock:1"), 0);
}

static void priorities_are_bound(void **state)
{
	struct stage *s = ruled(state, "deny bob priority=critical **\ndeny bob priority=high global/a\n");
	struct atlock_request *req;
	uint64_t ticket;

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	refused_by(s, stage_enqueue(s, "global/a", "bob@1", ATLOCK_CRITICAL, &ticket), 1);
	refused_by(s, stage_enqueue(s, "global/a", "bob@1", ATLOCK_HIGH, &ticket), 2);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_NORMAL, &ticket), 0);
	req = stage_ask(s, "global/a", "bob@1");
	req->priority = ATLOCK_CRITICAL;
	refused_by(s, atlock_reprioritise(s->al, req, ticket, &s->why), 1);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), 0);
	assert_int_equal(stage_write(s, "global/b", "bob@1", "priority=high\n"), 0);
	refused_by(s, stage_write(s, "global/b", "bob@1", "priority=critical\n"), 1);
}

static void lease_without_end_can_be_allowed_and_denied(void **state)
{
	struct stage *s = ruled(state, "allow bob ttl=never global/*\ndeny carol ttl=never **\n");

	assert_int_equal(stage_acquire(s, "global/a", "bob@1", 0), 0);
	assert_int_equal(stage_write(s, "global/a", "bob@1", "ttl=never\n"), 0);
	assert_int_equal(stage_acquire(s, "global/b", "alice@1", 0), 0);
	assert_int_equal(stage_write(s, "global/b", "alice@1", "ttl=never\n"), -EINVAL);
	assert_int_equal(stage_acquire(s, "global/c", "carol@pr:1", 0), 0);
	refused_by(s, stage_write(s, "global/c", "carol@pr:1", "ttl=never\n"), 2);
}

static void force_and_transfer_can_be_allowed(void **state)
{
	struct stage *s = ruled(state, "allow bob force global/*\nallow carol transfer global/*\n");
	struct atlock_request *req;
	struct atlock_caller to = stage_caller("dave@1");

	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	req = stage_ask(s, "global/a@1", "carol@1");
	assert_true(atlock_lends(s->al, req->caller, "transfer", req->name));
	assert_false(atlock_lends(s->al, req->caller, "force", req->name));
	assert_false(atlock_lends(s->al, req->caller, "fly", req->name));
	req->force = true;
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), -EACCES);
	assert_int_equal(atlock_transfer(s->al, req, &to, &s->why), 0);
	assert_string_equal(stage_holder(s, "global/a"), "dave@1 pending");
	req = stage_ask(s, "global/a", "bob@1");
	req->force = true;
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), -EACCES);
	req = stage_ask(s, "global/a@1", "bob@1");
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), -EACCES);
	req->force = true;
	assert_int_equal(atlock_transfer(s->al, req, &to, &s->why), -EACCES);
	assert_int_equal(atlock_release(s->al, req, NULL, &s->why), 0);
	assert_string_equal(stage_holder(s, "global/a"), "free");
}

static void administrators_are_not_bound(void **state)
{
	struct stage *s = ruled(state, "deny * * **\n");

	assert_int_equal(stage_acquire(s, "global/a", "root@1", 0), 0);
	assert_int_equal(stage_write(s, "global/a", "root@1", "priority=critical\nttl=never\n"), 0);
	assert_int_equal(stage_release(s, "global/a", "root@1"), 0);
	refused_by(s, stage_acquire(s, "global/a", "alice@1", 0), 1);
}

static void values_are_hidden_from_some(void **state)
{
	struct stage *s = ruled(state, "deny bob read=tok* **\n");
	struct atlock_caller bob = stage_caller("bob@1");
	struct atlock_caller carol = stage_caller("carol@1");
	struct atlock_caller root = stage_caller("root@1");
	struct atlock_caller alice = stage_caller("alice@2");
	struct atlock_view view;
	char *meta = NULL;
	size_t len = 0;

	assert_true(atlock_hides(s->al));
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	assert_int_equal(stage_write(s, "global/a", "alice@1", "a=1\ntokenx=secret\nt=\n"), 0);
	view = stage_view(s, "global/a");
	assert_int_equal(atlock_view_hide(s->al, &carol, &view, &meta, &len), 0);
	assert_int_equal(len, view.meta_len);
	assert_memory_equal(meta, view.meta, len);
	free(meta);
	assert_int_equal(atlock_view_hide(s->al, &bob, &view, &meta, &len), 0);
	assert_int_equal(len, strlen("a=1\ntokenx=[hidden]\nt=\n"));
	assert_memory_equal(meta, "a=1\ntokenx=[hidden]\nt=\n", len);
	free(meta);
	assert_int_equal(atlock_view_hide(s->al, &alice, &view, &meta, &len), 1);
	assert_int_equal(atlock_view_hide(s->al, &root, &view, &meta, &len), 1);
	atlock_view_clear(&view);
	stage_configure(s, "policy", "");
	assert_false(atlock_hides(s->al));
}

static void bad_file_keeps_the_old_rules(void **state)
{
	struct stage *s = ruled(state, "deny bob acquire **\n");

	policy_write("deny bob acquire global/a\nperhaps bob acquire **\n");
	assert_int_equal(atlock_reload(s->al, &s->why), -EINVAL);
	assert_non_null(strstr(s->why.text, "line 2 of the policy"));
	assert_int_equal(atlock_configure(s->al, NULL, "policy", file, &s->why), -EINVAL);
	refused_by(s, stage_acquire(s, "global/b", "bob@1", 0), 1);
	policy_write("\ndeny bob acquire global/b\n");
	assert_int_equal(atlock_reload(s->al, &s->why), 0);
	refused_by(s, stage_acquire(s, "global/b", "bob@1", 0), 2);
	assert_int_equal(stage_acquire(s, "global/a", "bob@1", 0), 0);
	stage_configure(s, "policy", "");
	assert_int_equal(atlock_reload(s->al, &s->why), 1);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 0), 0);
}

static void file_that_is_none_is_refused(void **state)
{
	struct stage *s = *state;

	assert_int_equal(atlock_configure(s->al, NULL, "policy", "/nowhere/at/all", &s->why), -EINVAL);
	assert_int_equal(atlock_configure(s->al, NULL, "policy", "relative", &s->why), -EINVAL);
	assert_int_equal(atlock_configure(s->al, NULL, "policy", "/tmp", &s->why), -EINVAL);
	policy_write("allow * * **\n");
	assert_int_equal(chmod(file, 0666), 0);
	assert_int_equal(atlock_configure(s->al, NULL, "policy", file, &s->why), -EINVAL);
	assert_non_null(strstr(s->why.text, "chmod"));
	assert_int_equal(chmod(file, 0644), 0);
}

static void bad_file_refuses_the_open(void **state)
{
	struct stage *s = ruled(state, "deny bob acquire **\n");
	struct atlock_setup setup = { .options = &s->options, .store_engine = &mem_engine, .manual = true };
	struct atlock *al = NULL;

	stage_reopen(s);
	refused_by(s, stage_acquire(s, "global/b", "bob@1", 0), 1);
	policy_write("what\n");
	stage_close(s);
	setup.store_engine_arg = s->world;
	assert_int_equal(atlock_open(&al, "mem", &setup, &s->why), -EINVAL);
	assert_non_null(strstr(s->why.text, "line 1 of the policy"));
	policy_write("");
	stage_open(s);
}

static void rule_that_decides_is_named(void **state)
{
	struct atlock_policy_answer answer;
	struct atlock_policy *policy = NULL;
	struct atlock_why why;

	(void)state;
	policy_write("# x\nallow root acquire global/*\ndeny root read=pass* **\n");
	assert_int_equal(atlock_policy_load(file, &policy, &why), 0);
	assert_int_equal(atlock_policy_test(policy, "root", "acquire", "global/a", &answer, &why), 0);
	assert_int_equal(answer.verdict, ATLOCK_POLICY_ALLOWS);
	assert_int_equal(answer.line, 2);
	assert_string_equal(answer.rule, "allow root acquire global/*");
	assert_int_equal(atlock_policy_test(policy, "root", "read=password", "x", &answer, &why), 0);
	assert_int_equal(answer.verdict, ATLOCK_POLICY_DENIES);
	assert_int_equal(atlock_policy_test(policy, "root", "wait", "global/a", &answer, &why), 0);
	assert_int_equal(answer.verdict, ATLOCK_POLICY_SILENT);
	assert_int_equal(answer.line, 0);
	assert_int_equal(atlock_policy_test(policy, "root", "fly", "global/a", &answer, &why), -EINVAL);
	assert_int_equal(atlock_policy_test(policy, "no such user", "wait", "x", &answer, &why), -ENOENT);
	atlock_policy_free(policy);
	policy_write("fly\n");
	assert_int_equal(atlock_policy_load(file, &policy, &why), -EINVAL);
	assert_int_equal(atlock_policy_load(NULL, &policy, &why), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(acquire_and_wait_are_bound),
		STAGED(release_write_and_transfer_are_bound),
		STAGED(open_file_that_closes_gives_back_whatever_the_rules_say),
		STAGED(priorities_are_bound),
		STAGED(lease_without_end_can_be_allowed_and_denied),
		STAGED(force_and_transfer_can_be_allowed),
		STAGED(administrators_are_not_bound),
		STAGED(values_are_hidden_from_some),
		STAGED(bad_file_keeps_the_old_rules),
		STAGED(file_that_is_none_is_refused),
		STAGED(bad_file_refuses_the_open),
		cmocka_unit_test(rule_that_decides_is_named),
	};
	int fd = mkstemp(file);
	int failed;

	if (fd < 0)
		return 1;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	return failed;
}
