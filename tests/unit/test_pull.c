/* Pull requests: statuses by head commit, texts, closing, and what a check of the store finds. */
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>
#include <cmocka.h>

#include "record.h"

static struct atlock_pull_name pull_named(const char *path)
{
	struct atlock_pull_name pull;

	assert_int_equal(atlock_pull_parse(path, &pull, NULL), 0);
	return pull;
}

#define PULL "pulls/github.com/acme/infra/-/5"

static int pull_write(struct stage *s, const char *as, enum atlock_pull_text what, const char *text)
{
	struct atlock_pull_name pull = pull_named(PULL);
	struct atlock_caller caller = stage_caller(as);

	return atlock_pull_write(s->al, &caller, &pull, what, text, strlen(text), false, &s->why);
}

static int project_set(struct stage *s, const char *path, const char *word)
{
	struct atlock_pull_name pull = pull_named(PULL);
	struct atlock_caller caller = stage_caller("alice@1");
	struct atlock_name project;

	assert_int_equal(atlock_project_parse(&pull, path, &project, NULL), 0);
	return atlock_project_set(s->al, &caller, &pull, &project, word, strlen(word), &s->why);
}

static void pull_is(struct stage *s, enum atlock_pull_text what, const char *expected)
{
	struct atlock_pull_name pull = pull_named(PULL);
	char *text;
	size_t len;

	assert_int_equal(atlock_pull_read(s->al, &pull, what, &text, &len, &s->why), 0);
	assert_string_equal(text, expected);
	assert_int_equal(len, strlen(expected));
	free(text);
}

static void results_of_the_same_commit_are_merged(void **state)
{
	struct stage *s = *state;
	uint64_t before;

	pull_is(s, ATLOCK_PULL_PROJECTS, "");
	assert_int_equal(
		pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, "head=aa\nb\tw\t\tplanned\na\tw\tp\tapplied\t[1]\n"), 0);
	pull_is(s, ATLOCK_PULL_PROJECTS, "head=aa\na\tw\tp\tapplied\t[1]\nb\tw\t\tplanned\n");
	(void)stage_events(s);
	before = stage_commits(s);
	/* Without a head it is about the one that is known; a policy status stays until it is given again. */
	assert_int_equal(
		pull_write(s, "alice@2", ATLOCK_PULL_PROJECTS, "b\tw\t\tapplied\na\tw\tp\tplanned\n.\tw\t\tplanned\n"),
		0);
	assert_int_equal(stage_commits(s), before + 1);
	assert_string_equal(stage_events(s), "pull_status pull_status pull_status");
	pull_is(s, ATLOCK_PULL_PROJECTS, "head=aa\n.\tw\t\tplanned\na\tw\tp\tplanned\t[1]\nb\tw\t\tapplied\n");
	assert_int_equal(pull_write(s, "alice@2", ATLOCK_PULL_PROJECTS, "head=aa\na\tw\tp\tplanned\t\n"), 0);
	pull_is(s, ATLOCK_PULL_PROJECTS, "head=aa\n.\tw\t\tplanned\na\tw\tp\tplanned\nb\tw\t\tapplied\n");
	/* What changes nothing is no event. */
	(void)stage_events(s);
	assert_int_equal(pull_write(s, "alice@2", ATLOCK_PULL_PROJECTS, "a\tw\tp\tplanned\n"), 0);
	assert_string_equal(stage_events(s), "");
}

static void another_commit_forgets_what_is_not_about_it(void **state)
{
	struct stage *s = *state;

	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, "head=aa\na\tw\t\tplanned\nb\tw\t\tplanned\n"),
			 0);
	(void)stage_events(s);
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, "head=bb\nb\tw\t\tapplied\n"), 0);
	assert_string_equal(stage_events(s), "pull_changed pull_status");
	pull_is(s, ATLOCK_PULL_PROJECTS, "head=bb\nb\tw\t\tapplied\n");
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_HEAD, "bb\n"), 0);
	pull_is(s, ATLOCK_PULL_PROJECTS, "head=bb\nb\tw\t\tapplied\n");
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_HEAD, "cc"), 0);
	pull_is(s, ATLOCK_PULL_PROJECTS, "head=cc\n");
	pull_is(s, ATLOCK_PULL_HEAD, "cc\n");
}

static void a_bad_line_changes_nothing(void **state)
{
	static const struct {
		const char *text;
		int ret;
		const char *why;
	} cases[] = {
		{ "a\tw\t\tplanned\nb\tw\t\twrong\n", -EINVAL,
		  "line 2: \"wrong\" is no status: write one of plan_errored" },
		{ "a\tw\tplanned\n", -EINVAL, "line 1: not four" },
		{ "a\tw\t\tplanned\t\t\n", -EINVAL, "line 1: not four" },
		{ "\n\na\tw\n", -EINVAL, "line 3: not four" },
		{ "a\t\t\tplanned\n", -EINVAL, "line 1: " },
		{ "a//b\tw\t\tplanned\n", -EINVAL, "line 1: " },
		{ "../b\tw\t\tplanned\n", -EINVAL, "line 1: " },
		{ "a\tw%\t\tplanned\n", -EINVAL, "line 1: a column" },
		{ "a\tw\t\tplanned\r\n", -EINVAL, "line 1: a control byte" },
		{ "head=a b\n", -EINVAL, "line 1: a head commit" },
	};
	struct stage *s = *state;

	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, "head=aa\nz\tw\t\tplanned\n"), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t before = stage_commits(s);

		assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, cases[i].text), cases[i].ret);
		assert_non_null(strstr(s->why.text, cases[i].why));
		assert_int_equal(stage_commits(s), before);
	}
}

static void a_project_has_one_of_eight_words(void **state)
{
	struct stage *s = *state;
	struct atlock_pull_name pull = pull_named(PULL);
	enum atlock_project_status status;
	struct atlock_name project;
	struct atlock_caller alice = stage_caller("alice@1");

	assert_int_equal(atlock_project_parse(&pull, "m/vpc/-/prod:x", &project, NULL), 0);
	assert_int_equal(atlock_project_get(s->al, &pull, &project, &status), 1);
	assert_int_equal(project_set(s, "m/vpc/-/prod:x", " applied \n"), 0);
	assert_int_equal(atlock_project_get(s->al, &pull, &project, &status), 0);
	assert_int_equal(status, ATLOCK_APPLIED);
	assert_int_equal(project_set(s, "m/vpc/-/prod:x", "done"), -EINVAL);
	assert_non_null(strstr(s->why.text, "policy_check_passed"));
	assert_int_equal(project_set(s, "m/vpc/-/prod:x", ""), -EINVAL);
	assert_int_equal(atlock_project_drop(s->al, &alice, &pull, &project, &s->why), 0);
	assert_int_equal(atlock_project_drop(s->al, &alice, &pull, &project, &s->why), 1);
	assert_int_equal(atlock_project_get(s->al, &pull, &project, &status), 1);
	/* A lock of another repository is no project of this one. */
	project = stage_name("repos/acme/infra2/-/m/-/w");
	assert_int_equal(atlock_project_get(s->al, &pull, &project, &status), -EINVAL);
	assert_int_equal(atlock_project_set(s->al, &alice, &pull, &project, "planned", 7, &s->why), -EINVAL);
	assert_int_equal(atlock_project_parse(&pull, "m/vpc/-", &project, NULL), 1);
	assert_int_equal(atlock_project_parse(&pull, "", &project, NULL), 1);
	assert_int_equal(atlock_project_parse(&pull, "m/-/w@x", &project, NULL), -EINVAL);
}

static int child_add(void *arg, const char *component, bool directory)
{
	(void)strlcat(arg, component, 256);
	(void)strlcat(arg, directory ? "/ " : " ", 256);
	return 0;
}

static void directories_list_what_is_there(void **state)
{
	struct stage *s = *state;
	struct atlock_pull_name pull = pull_named(PULL);
	char text[256] = "";

	assert_int_equal(project_set(s, "m/vpc/-/prod:x", "planned"), 0);
	assert_int_equal(project_set(s, "m/dns/-/prod", "planned"), 0);
	assert_int_equal(project_set(s, "-/prod", "planned"), 0);
	assert_int_equal(atlock_pull_children(s->al, "pulls", NULL, child_add, text), 0);
	assert_int_equal(atlock_pull_children(s->al, "pulls/github.com", NULL, child_add, text), 0);
	assert_int_equal(atlock_pull_children(s->al, "pulls/github.com/acme/infra/-", NULL, child_add, text), 0);
	assert_int_equal(atlock_pull_children(s->al, "pulls/github", NULL, child_add, text), 0);
	assert_string_equal(text, "github.com/ acme/ 5 ");
	assert_int_equal(atlock_pull_children(s->al, PULL, NULL, child_add, text), -ENOTDIR);
	text[0] = '\0';
	assert_int_equal(atlock_project_children(s->al, &pull, "", NULL, child_add, text), 0);
	assert_int_equal(atlock_project_children(s->al, &pull, "m", NULL, child_add, text), 0);
	assert_int_equal(atlock_project_children(s->al, &pull, "m/vpc/-", NULL, child_add, text), 0);
	assert_int_equal(atlock_project_children(s->al, &pull, "-", NULL, child_add, text), 0);
	assert_string_equal(text, "-/ m/ dns/ vpc/ prod:x prod ");
	assert_int_equal(atlock_project_children(s->al, &pull, "-/prod", NULL, child_add, text), -ENOTDIR);
}

static void meta_is_kept_without_secrets(void **state)
{
	struct stage *s = *state;
	struct atlock_pull_name pull = pull_named(PULL);
	struct atlock_caller alice = stage_caller("alice@1");

	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_META,
				    "url=https://u:p@ss@h/x?a=https://t@i/\nstate=open\nttl=x\n"),
			 0);
	pull_is(s, ATLOCK_PULL_META, "url=https://h/x?a=https://i/\nstate=open\nttl=x\n");
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_META, "state=closed\nauthor=bob\n"), 0);
	pull_is(s, ATLOCK_PULL_META, "url=https://h/x?a=https://i/\nstate=closed\nttl=x\nauthor=bob\n");
	assert_int_equal(atlock_pull_write(s->al, &alice, &pull, ATLOCK_PULL_META, "a=b", 3, true, &s->why), 0);
	pull_is(s, ATLOCK_PULL_META, "a=b\n");
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_META, "9=b\n"), -EINVAL);
	assert_int_equal(atlock_pull_clear(s->al, &alice, &pull, ATLOCK_PULL_META, &s->why), 0);
	pull_is(s, ATLOCK_PULL_META, "");
	assert_int_equal(atlock_pull_clear(s->al, &alice, &pull, ATLOCK_PULL_SUMMARY, &s->why), -EPERM);
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_SUMMARY, "x"), -EPERM);
}

/* Which of two would count? All spellings of a name are one project. */
static void table_names_each_project_once(void **state)
{
	static const struct {
		const char *text;
		const char *why; /* NULL: taken */
	} cases[] = {
		{ "a\tw\t\tplanned\na\tw\tp\tplanned\na\tv\t\tplanned\nb\tw\t\tplanned\n", NULL },
		{ "a\tw\t\tplanned\nb\tw\t\tplanned\na\tw\t\tapplied\n", "line 3: the same project as on line 1" },
		{ "a\tw\t\tplanned\na\tw\t\tplanned\n", "line 2: the same project as on line 1" },
		{ "head=aa\n.\tw\t\tplanned\n\n\tw\t\tplanned\n", "line 4: the same project as on line 2" },
		{ "a\tw\t\tplanned\n%61\t%77\t\tplanned\n", "a/-/w: name each once" },
		{ "z\tw\t\tplanned\nz\tw\t\tplanned\na\tw\t\tplanned\na\tw\t\tplanned\n", "line 2: " },
	};
	struct stage *s = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, cases[i].text);

		assert_int_equal(err, cases[i].why == NULL ? 0 : -EINVAL);
		if (cases[i].why != NULL && strstr(s->why.text, cases[i].why) == NULL)
			fail_msg("not \"%s\": %s", cases[i].why, s->why.text);
	}
}

static void summary_counts(void **state)
{
	struct stage *s = *state;

	pull_is(s, ATLOCK_PULL_SUMMARY,
		"pull=5\nhost=github.com\nrepo=acme/infra\nhead=\nupdated_at=never\nlocks=0\nprojects=0\nplan_errored=0\n"
		"planned=0\nplanned_no_changes=0\napply_errored=0\napplied=0\nplan_discarded=0\npolicy_check_errored=0\n"
		"policy_check_passed=0\n");
	assert_int_equal(pull_write(s, "a@1", ATLOCK_PULL_META, "url=u\n"), 0);
	assert_int_equal(pull_write(s, "a@1", ATLOCK_PULL_PROJECTS, "head=aa\na\tw\t\tapplied\nb\tw\t\tapplied\n"), 0);
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/a/-/w", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/b/-/w", "bob@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/acme/infra-2/-/b/-/w", "bob@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/c/-/w", "bob@pr:55", 0), 0);
	struct atlock_pull_name pull = pull_named(PULL);
	char *text;
	size_t len;

	assert_int_equal(atlock_pull_read(s->al, &pull, ATLOCK_PULL_SUMMARY, &text, &len, &s->why), 0);
	assert_non_null(strstr(text, "\nhead=aa\nurl=u\nupdated_at=2"));
	assert_non_null(strstr(text, "\nlocks=2\nprojects=2\nplan_errored=0\nplanned=0\nplanned_no_changes=0\n"
				     "apply_errored=0\napplied=2\n"));
	free(text);
}

static void closing_is_one_transaction_with_an_event_each(void **state)
{
	struct stage *s = *state;
	struct atlock_pull_name pull = pull_named(PULL);
	struct atlock_caller alice = stage_caller("alice@1");
	size_t released = 99;
	uint64_t before;

	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/a/-/w", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/b/-/w", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/c/-/w", "bob@1", 60), 0);
	assert_int_equal(stage_acquire(s, "repos/acme/infra-x/-/a/-/w", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/d/-/w", "alice@pr:55", 0), 0);
	assert_int_equal(stage_enqueue(s, "repos/acme/infra/-/c/-/w", "alice@pr:5", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(stage_enqueue(s, "repos/acme/infra/-/a/-/w", "bob@2", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, "head=aa\na\tw\t\tapplied\nb\tw\t\tapplied\n"),
			 0);
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_META, "url=u\n"), 0);
	(void)stage_events(s);
	before = stage_commits(s);
	assert_int_equal(atlock_pull_close(s->al, &alice, &pull, &released, &s->why), 0);
	assert_int_equal(stage_commits(s), before + 1);
	assert_int_equal(released, 2);
	assert_string_equal(stage_events(s), "cancelled released granted released pull_closed");
	assert_string_equal(stage_holder(s, "repos/acme/infra/-/a/-/w"), "bob@2 pending");
	assert_string_equal(stage_holder(s, "repos/acme/infra/-/b/-/w"), "free");
	assert_string_equal(stage_queue(s, "repos/acme/infra/-/c/-/w"), "");
	assert_string_equal(stage_holder(s, "repos/acme/infra-x/-/a/-/w"), "alice@pr:5");
	assert_string_equal(stage_holder(s, "repos/acme/infra/-/d/-/w"), "alice@pr:55");
	pull_is(s, ATLOCK_PULL_PROJECTS, "");
	pull_is(s, ATLOCK_PULL_META, "");
	/* Once more: there is nothing to close, and nothing to tell. */
	assert_int_equal(atlock_pull_close(s->al, &alice, &pull, &released, &s->why), 0);
	assert_int_equal(released, 0);
	assert_string_equal(stage_events(s), "");
}

/* Makes as many locks of the pull request, one after another in directory d. */
static void locks_make(struct stage *s, const char *repo, const char *as, size_t count)
{
	char lock[64];

	for (size_t i = 0; i < count; i++) {
		(void)snprintf(lock, sizeof(lock), "repos/%s/-/d/-/%zu", repo, i);
		assert_int_equal(stage_acquire(s, lock, as, 0), 0);
	}
}

/* Many locks end a part at a time, so that other users' calls come in between. */
static void closing_many_is_done_in_steps(void **state)
{
	enum { MANY = 3000, STEP = 256 };
	struct stage *s = *state;
	struct atlock_pull_name pull = pull_named(PULL);
	struct atlock_caller alice = stage_caller("alice@1");
	size_t released = 0;
	uint64_t before;

	mem_world_faults(s->world)->rerun_percent = 0;
	locks_make(s, "acme/infra", "alice@pr:5", MANY);
	locks_make(s, "acme/infra-x", "alice@pr:5", 1);
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, "head=aa\na\tw\t\tapplied\n"), 0);
	/* All rights are asked before the first of them ends. */
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/z/-/w", "bob@pr:5", 0), 0);
	before = stage_commits(s);
	assert_int_equal(atlock_pull_close(s->al, &alice, &pull, &released, &s->why), -EPERM);
	assert_int_equal(stage_commits(s), before);
	assert_int_equal(stage_release(s, "repos/acme/infra/-/z/-/w", "bob@pr:5"), 0);
	before = stage_commits(s);
	assert_int_equal(atlock_pull_close(s->al, &alice, &pull, &released, &s->why), 0);
	assert_int_equal(released, MANY);
	assert_int_equal(stage_commits(s), before + (MANY + STEP - 1) / STEP);
	assert_string_equal(stage_holder(s, "repos/acme/infra/-/d/-/0"), "free");
	assert_string_equal(stage_holder(s, "repos/acme/infra/-/d/-/2999"), "free");
	assert_string_equal(stage_holder(s, "repos/acme/infra-x/-/d/-/0"), "alice@pr:5");
	pull_is(s, ATLOCK_PULL_PROJECTS, "");
}

/* Locks of another repository are passed over, some thousand in a transaction. */
static void closing_reads_only_so_much_at_once(void **state)
{
	struct stage *s = *state;
	struct atlock_pull_name pull = pull_named(PULL);
	struct atlock_caller alice = stage_caller("alice@1");
	uint64_t before;
	size_t released;

	mem_world_faults(s->world)->rerun_percent = 0;
	locks_make(s, "acme/infra-x", "alice@pr:5", 5000);
	locks_make(s, "acme/infra", "alice@pr:5", 3);
	before = stage_commits(s);
	assert_int_equal(atlock_pull_close(s->al, &alice, &pull, &released, &s->why), 0);
	assert_int_equal(released, 3);
	assert_int_equal(stage_commits(s), before + 1); /* a step that ends none writes nothing */
}

static void nobody_closes_over_anothers_locks(void **state)
{
	struct stage *s = *state;
	struct atlock_pull_name pull = pull_named(PULL);
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_caller root = stage_caller("root@1");
	size_t released = 0;
	uint64_t before;

	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/a/-/w", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/b/-/w", "bob@pr:5", 0), 0);
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_HEAD, "aa"), 0);
	before = stage_commits(s);
	assert_int_equal(atlock_pull_close(s->al, &alice, &pull, &released, &s->why), -EPERM);
	assert_int_equal(s->why.code, ATLOCK_PERMISSION_DENIED);
	assert_non_null(strstr(s->why.text, "b/-/w is held by bob@pr:5"));
	assert_int_equal(stage_commits(s), before);
	assert_string_equal(stage_holder(s, "repos/acme/infra/-/a/-/w"), "alice@pr:5");
	pull_is(s, ATLOCK_PULL_HEAD, "aa\n");
	assert_int_equal(atlock_pull_close(s->al, &root, &pull, &released, &s->why), 0);
	assert_int_equal(released, 2);
	/* A place in a queue is somebody's, too. */
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/a/-/w", "alice@1", 60), 0);
	assert_int_equal(stage_enqueue(s, "repos/acme/infra/-/a/-/w", "bob@pr:5", ATLOCK_NORMAL, NULL), 0);
	assert_int_equal(atlock_pull_close(s->al, &alice, &pull, &released, &s->why), -EPERM);
	assert_string_equal(stage_queue(s, "repos/acme/infra/-/a/-/w"), "bob@pr:5");
}

static void only_writer_and_administrator_change_all_of_it(void **state)
{
	struct stage *s = *state;
	struct atlock_pull_name pull = pull_named(PULL);
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_caller bob = stage_caller("bob@1");
	uint64_t before;

	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_HEAD, "aa"), 0);
	/* No lock of the pull request helps: every user can take one. */
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/b/-/w", "bob@pr:5", 0), 0);
	before = stage_commits(s);
	assert_int_equal(pull_write(s, "bob@1", ATLOCK_PULL_HEAD, "bb"), -EACCES);
	assert_non_null(strstr(s->why.text, "alice wrote about pulls/"));
	assert_int_equal(pull_write(s, "bob@1", ATLOCK_PULL_META, "a=1"), -EACCES);
	assert_int_equal(pull_write(s, "bob@1", ATLOCK_PULL_PROJECTS, "head=bb\nb\tw\t\tplanned\n"), -EACCES);
	assert_int_equal(atlock_pull_clear(s->al, &bob, &pull, ATLOCK_PULL_HEAD, &s->why), -EACCES);
	assert_int_equal(atlock_pull_clear(s->al, &bob, &pull, ATLOCK_PULL_PROJECTS, &s->why), -EACCES);
	assert_int_equal(atlock_pull_close(s->al, &bob, &pull, NULL, &s->why), -EACCES);
	assert_int_equal(stage_commits(s), before);
	/* An administrator does not become its writer. */
	assert_int_equal(pull_write(s, "root@1", ATLOCK_PULL_HEAD, "cc"), 0);
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_HEAD, "aa"), 0);
	assert_int_equal(stage_release(s, "repos/acme/infra/-/b/-/w", "bob@pr:5"), 0);
	assert_int_equal(atlock_pull_close(s->al, &alice, &pull, NULL, &s->why), 0);
	assert_int_equal(pull_write(s, "bob@1", ATLOCK_PULL_HEAD, "bb"), 0);
}

static void a_projects_lock_is_the_right_to_its_status_only(void **state)
{
	struct stage *s = *state;

	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, "head=aa\na\tw\t\tplanned\nb\tw\t\tplanned\n"),
			 0);
	/* Another project's, another number's, another repository's, a session's and one that has ended are not it. */
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/b/-/w:p", "bob@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/acme/infra-2/-/b/-/w", "bob@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/b/-/w", "bob@pr:6", 0), 0);
	assert_int_equal(pull_write(s, "bob@1", ATLOCK_PULL_PROJECTS, "b\tw\t\tapplied\n"), -EACCES);
	assert_non_null(strstr(s->why.text, "the holder of repos/acme/infra/-/b/-/w@pr:5"));
	assert_int_equal(stage_release(s, "repos/acme/infra/-/b/-/w", "bob@pr:6"), 0);
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/b/-/w", "bob@pr:5", 60), 0);
	stage_advance(s, 61);
	assert_int_equal(pull_write(s, "bob@1", ATLOCK_PULL_PROJECTS, "b\tw\t\tapplied\n"), -EACCES);
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/b/-/w", "bob@pr:5", 60), 0);
	assert_int_equal(pull_write(s, "bob@1", ATLOCK_PULL_PROJECTS, "a\tw\t\tapplied\nb\tw\t\tapplied\n"), -EACCES);
	pull_is(s, ATLOCK_PULL_PROJECTS, "head=aa\na\tw\t\tplanned\nb\tw\t\tplanned\n");
	assert_int_equal(pull_write(s, "bob@1", ATLOCK_PULL_PROJECTS, "head=aa\nb\tw\t\tapplied\n"), 0);
	/* What he wrote stays his when the lock has ended, and is also the pull request's writer's. */
	assert_int_equal(stage_release(s, "repos/acme/infra/-/b/-/w", "bob@pr:5"), 0);
	assert_int_equal(pull_write(s, "bob@1", ATLOCK_PULL_PROJECTS, "b\tw\t\tapply_errored\n"), 0);
	assert_int_equal(pull_write(s, "carol@1", ATLOCK_PULL_PROJECTS, "b\tw\t\tapplied\n"), -EACCES);
	assert_non_null(strstr(s->why.text, "bob wrote about"));
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, "b\tw\t\tapplied\n"), 0);
	assert_int_equal(pull_write(s, "bob@1", ATLOCK_PULL_PROJECTS, "b\tw\t\tplanned\n"), -EACCES);
	assert_int_equal(pull_write(s, "bob@1", ATLOCK_PULL_PROJECTS, "new\tw\t\tplanned\n"), -EACCES);
}

static void all_is_there_after_a_restart(void **state)
{
	struct stage *s = *state;

	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, "head=aa\na\tw\t\tapplied\n"), 0);
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_META, "url=u\n"), 0);
	stage_reopen(s);
	pull_is(s, ATLOCK_PULL_PROJECTS, "head=aa\na\tw\t\tapplied\n");
	pull_is(s, ATLOCK_PULL_META, "url=u\n");
}

static void a_check_finds_what_does_not_agree(void **state)
{
	static const char pull[] = "pgithub.com/acme/infra/-/5";
	struct stage *s = *state;
	struct record_key project = record_key_project(slice_of(pull + 1), slice_of("b/-/w"));
	struct record_key orphan = record_key_project(slice_of("h/r/-/1"), slice_of("b/-/w"));
	struct record_project record = { .status = ATLOCK_PLANNED };
	unsigned char buf[RECORD_MAX];
	int len = record_encode(RECORD_PROJECT, &record, buf);

	s->damaged = true;
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, "head=aa\na\tw\t\tapplied\n"), 0);
	assert_int_equal(atlock_check(s->al, NULL), 0);
	stage_put(s, record_key_slice(&project), (struct slice){ buf, (size_t)len });
	assert_int_equal(atlock_check(s->al, NULL), 1); /* one more than are counted */
	stage_put(s, record_key_slice(&orphan), (struct slice){ buf, (size_t)len });
	assert_int_equal(atlock_check(s->al, NULL), 2);
	stage_put(s, slice_of("Ph/r/-/1"), slice_of("a=b\n"));
	assert_int_equal(atlock_check(s->al, NULL), 3);
	stage_put(s, slice_of(pull), slice_of("x"));
	assert_int_equal(atlock_check(s->al, NULL), 5); /* the record itself, and two projects of it */
	pull_write(s, "alice@1", ATLOCK_PULL_HEAD, "bb");
	assert_int_equal(s->why.code, ATLOCK_BACKEND_ERROR);
}

static void a_pull_request_has_only_so_many_projects(void **state)
{
	struct stage *s = *state;
	char *text = malloc(1 << 20);
	size_t len = 0;

	for (int i = 0; i <= 4096; i++)
		len += (size_t)snprintf(text + len, (1 << 20) - len, "%d\tw\t\tplanned\n", i);
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, text), -EDQUOT);
	assert_non_null(strstr(s->why.text, "line 4097"));
	*strstr(text, "4096\tw") = '\0';
	assert_int_equal(pull_write(s, "alice@1", ATLOCK_PULL_PROJECTS, text), 0);
	assert_int_equal(project_set(s, "one-more/-/w", "planned"), -EDQUOT);
	assert_int_equal(project_set(s, "7/-/w", "applied"), 0);
	free(text);
}

static void nothing_is_asked_of_nobody(void **state)
{
	struct stage *s = *state;
	struct atlock_pull_name pull = pull_named(PULL);
	struct atlock_pull_name none = { .num = 0 };
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_caller bad = { .uid = 1 };
	char *text;
	size_t len;

	assert_int_equal(atlock_pull_write(NULL, &alice, &pull, ATLOCK_PULL_HEAD, "a", 1, false, NULL), -EINVAL);
	assert_int_equal(atlock_pull_write(s->al, &bad, &pull, ATLOCK_PULL_HEAD, "a", 1, false, NULL), -EINVAL);
	assert_int_equal(atlock_pull_write(s->al, &alice, &none, ATLOCK_PULL_HEAD, "a", 1, false, NULL), -EINVAL);
	assert_int_equal(atlock_pull_write(s->al, &alice, NULL, ATLOCK_PULL_HEAD, "a", 1, false, NULL), -EINVAL);
	assert_int_equal(atlock_pull_close(s->al, &alice, &none, NULL, NULL), -EINVAL);
	assert_int_equal(atlock_pull_close(s->al, NULL, &pull, NULL, NULL), -EINVAL);
	assert_int_equal(atlock_pull_read(s->al, &none, ATLOCK_PULL_HEAD, &text, &len, &s->why), -EINVAL);
	assert_int_equal(atlock_pull_read(s->al, &pull, (enum atlock_pull_text)9, &text, &len, &s->why), -EINVAL);
	assert_int_equal(atlock_pull_locks(s->al, &none, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(atlock_pull_locks(s->al, &pull, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(atlock_pull_lock(s->al, &pull, NULL, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(table_names_each_project_once),
		STAGED(results_of_the_same_commit_are_merged),
		STAGED(another_commit_forgets_what_is_not_about_it),
		STAGED(a_bad_line_changes_nothing),
		STAGED(a_project_has_one_of_eight_words),
		STAGED(directories_list_what_is_there),
		STAGED(meta_is_kept_without_secrets),
		STAGED(summary_counts),
		STAGED(closing_is_one_transaction_with_an_event_each),
		STAGED(closing_many_is_done_in_steps),
		STAGED(closing_reads_only_so_much_at_once),
		STAGED(nobody_closes_over_anothers_locks),
		STAGED(only_writer_and_administrator_change_all_of_it),
		STAGED(a_projects_lock_is_the_right_to_its_status_only),
		STAGED(all_is_there_after_a_restart),
		STAGED(a_check_finds_what_does_not_agree),
		STAGED(a_pull_request_has_only_so_many_projects),
		STAGED(nothing_is_asked_of_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
