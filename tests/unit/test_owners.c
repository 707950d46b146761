/*
 * owners/: the first reference claims a URL, others keep off it, the last one frees it; and whatever is left over is set
 * right by the sweep.
 */
#include "record.h"
#include "stage.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bsd/string.h>
#include <cmocka.h>

#define INFRA "owners/github.com/acme/infra/-/"

static struct atlock_owners_path path_of(const char *text)
{
	struct atlock_owners_path path;
	struct atlock_why why = { .text = "" };

	if (atlock_owners_parse(text, &path, &why) != 0)
		fail_msg("%s: %s", text, why.text);
	return path;
}

static int refer(struct stage *s, const char *reference, const char *as)
{
	struct atlock_owners_path path = path_of(reference);
	struct atlock_caller caller = stage_caller(as);

	return atlock_refer(s->al, &path, &caller, false, &s->why);
}

static int unrefer(struct stage *s, const char *reference, const char *as)
{
	struct atlock_owners_path path = path_of(reference);
	struct atlock_caller caller = stage_caller(as);

	return atlock_unrefer(s->al, &path, &caller, &s->why);
}

/* "alice 2 1": owner and counts; "free". */
static const char *owner(struct stage *s, const char *url)
{
	struct atlock_ownership ownership;
	int rc = atlock_ownership_get(s->al, url, &ownership);

	assert_in_range(rc, 0, 1);
	if (rc == 1)
		return "free";
	(void)snprintf(s->text, sizeof(s->text), "%s %ju %ju", ownership.owner,
		       (uintmax_t)ownership.references[ATLOCK_APPLICATIONS],
		       (uintmax_t)ownership.references[ATLOCK_CREDENTIALS]);
	return s->text;
}

static int list_one(void *arg, const char *component, bool directory)
{
	struct stage *s = arg;

	(void)strlcat(s->text, component, sizeof(s->text));
	(void)strlcat(s->text, directory ? "/ " : " ", sizeof(s->text));
	return 0;
}

static const char *list(struct stage *s, const char *dir)
{
	struct atlock_owners_path path = path_of(dir);

	s->text[0] = '\0';
	assert_int_equal(atlock_owners_list(s->al, &path, NULL, list_one, s), 0);
	return s->text;
}

static void the_first_reference_claims_and_the_last_frees(void **state)
{
	struct stage *s = *state;

	assert_string_equal(owner(s, "github.com/acme/infra"), "free");
	assert_int_equal(refer(s, INFRA "applications/web", "alice@1"), 0);
	assert_string_equal(owner(s, "github.com/acme/infra"), "alice 1 0");
	assert_string_equal(stage_events(s), "url_claimed reference_made");
	assert_int_equal(refer(s, INFRA "credentials/web", "alice@2"), 0);
	assert_int_equal(refer(s, INFRA "applications/api", "alice@1"), 0);
	assert_string_equal(owner(s, "github.com/acme/infra"), "alice 2 1");
	assert_string_equal(stage_events(s), "reference_made reference_made");
	assert_int_equal(unrefer(s, INFRA "applications/web", "alice@1"), 0);
	assert_int_equal(unrefer(s, INFRA "applications/api", "alice@1"), 0);
	assert_string_equal(owner(s, "github.com/acme/infra"), "alice 0 1");
	(void)stage_events(s);
	assert_int_equal(unrefer(s, INFRA "credentials/web", "alice@1"), 0);
	assert_string_equal(owner(s, "github.com/acme/infra"), "free");
	assert_string_equal(stage_events(s), "reference_removed url_freed");
	assert_int_equal(refer(s, INFRA "applications/web", "bob@1"), 0);
	assert_string_equal(owner(s, "github.com/acme/infra"), "bob 1 0");
}

static void another_user_is_refused_and_told_who(void **state)
{
	struct stage *s = *state;

	assert_int_equal(refer(s, INFRA "applications/web", "alice@1"), 0);
	uint64_t before = stage_commits(s);
	assert_int_equal(refer(s, INFRA "applications/mine", "bob@1"), -EPERM);
	assert_int_equal(s->why.code, ATLOCK_PERMISSION_DENIED);
	assert_non_null(strstr(s->why.text, "owners/github.com/acme/infra belongs to alice since 20"));
	assert_int_equal(refer(s, INFRA "applications/web", "bob@1"), -EPERM);
	assert_int_equal(unrefer(s, INFRA "applications/web", "bob@1"), -EPERM);
	assert_non_null(strstr(s->why.text, "belongs to alice"));
	/* An administrator may remove, not join. */
	assert_int_equal(refer(s, INFRA "applications/mine", "root@1"), -EPERM);
	assert_int_equal(stage_commits(s), before);
	assert_int_equal(unrefer(s, INFRA "applications/web", "root@1"), 0);
	assert_string_equal(owner(s, "github.com/acme/infra"), "free");
}

static void the_same_reference_again(void **state)
{
	struct stage *s = *state;
	struct atlock_owners_path path = path_of(INFRA "applications/web");
	struct atlock_caller alice = stage_caller("alice@1");

	assert_int_equal(atlock_refer(s->al, &path, &alice, true, &s->why), 0);
	uint64_t before = stage_commits(s);
	assert_int_equal(atlock_refer(s->al, &path, &alice, false, &s->why), 1);
	assert_int_equal(atlock_refer(s->al, &path, &alice, true, &s->why), -EEXIST);
	assert_int_equal(s->why.code, ATLOCK_LOCK_EXISTS);
	assert_int_equal(stage_commits(s), before);
	assert_string_equal(owner(s, "github.com/acme/infra"), "alice 1 0");
	assert_int_equal(atlock_unrefer(s->al, &path, &alice, &s->why), 0);
	assert_int_equal(atlock_unrefer(s->al, &path, &alice, &s->why), -ENOENT);
	assert_int_equal(s->why.code, ATLOCK_LOCK_NOT_FOUND);
}

static void every_spelling_is_the_same_url(void **state)
{
	static const char *const spellings[] = {
		"owners/https://github.com/acme/infra.git/-/applications/web",
		"owners/https:/GitHub.com/Acme/Infra/-/applications/web",
		"owners/git@github.com:acme/infra.git/-/applications/web",
		"owners/ssh://git@github.com:22/acme/infra/-/applications/web",
		"owners/https:/bot:TOKEN@github.com/acme/infra.git//-/applications/web",
		"owners/ https://github.com/acme/INFRA \n/-/applications/web",
	};
	struct stage *s = *state;

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		assert_int_equal(refer(s, spellings[i], "alice@1"), i == 0 ? 0 : 1);
		assert_int_equal(refer(s, spellings[i], "bob@1"), -EPERM);
		assert_null(strstr(s->why.text, "TOKEN"));
	}
	assert_string_equal(owner(s, "github.com/acme/infra"), "alice 1 0");
	assert_int_equal(unrefer(s, spellings[4], "alice@1"), 0);
	assert_string_equal(owner(s, "github.com/acme/infra"), "free");
}

static void paths_are_read(void **state)
{
	static const struct {
		const char *path;
		int rc;
	} bad[] = {
		{ "owner", -ENOENT },
		{ "ownersx", -ENOENT },
		{ "owners/-", -EINVAL },
		{ "owners/-/applications/a", -EINVAL },
		{ "owners/https:/-", -EINVAL },
		{ "owners/https:/host/-/owner", -EINVAL },
		{ "owners/host/../b", -EINVAL },
		{ "owners/ftp:/host", -EINVAL },
		{ "owners/host/a/-/secrets", -ENOENT },
		{ "owners/host/a/-/owner/x", -ENOTDIR },
		{ "owners/host/a/-/applications/a/b", -ENOTDIR },
		{ "owners/host/a/-/applications/%41", -EINVAL },
		{ "owners/host/a/-/applications/a\nb", -EINVAL },
		{ "owners/host/a/-/applications/-", -EINVAL },
	};
	struct atlock_owners_path path;
	char text[ATLOCK_PATH_MAX];
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (atlock_owners_parse(bad[i].path, &path, NULL) != bad[i].rc)
			fail_msg("%s is not %d", bad[i].path, bad[i].rc);
	assert_int_equal(path_of("owners").kind, ATLOCK_OWNERS_DIR);
	assert_int_equal(path_of("owners/https:").kind, ATLOCK_OWNERS_DIR);
	assert_int_equal(path_of("owners/host/a").kind, ATLOCK_OWNERS_DIR);
	assert_int_equal(path_of("owners/host/a/-").kind, ATLOCK_OWNERS_URL);
	assert_int_equal(path_of("owners/host/a/-/owner").kind, ATLOCK_OWNERS_OWNER);
	path = path_of("owners/host/a/-/credentials");
	assert_int_equal(path.kind, ATLOCK_OWNERS_TYPE);
	assert_int_equal(path.type, ATLOCK_CREDENTIALS);
	path = path_of("owners/host/a/-/credentials/x@y:z");
	assert_int_equal(path.kind, ATLOCK_OWNERS_REFERENCE);
	assert_string_equal(path.url, "host/a");
	assert_string_equal(path.id, "x@y:z");

	assert_string_equal(path_of("owners/host/a/-/credentials/%2D").id, "%2D");

	/* URL and id share one key. */
	len = strlcpy(text, "owners/", sizeof(text));
	for (size_t i = 0; i < 300; i++)
		text[len + i] = i % 10 == 9 ? '/' : 'h';
	len += strlcpy(text + len + 299, "/-/applications/", 32) + 299;
	memset(text + len, 'i', 192);
	text[len + 191] = '\0';
	assert_int_equal(atlock_owners_parse(text, &path, NULL), 0);
	text[len + 191] = 'i';
	text[len + 192] = '\0';
	assert_int_equal(atlock_owners_parse(text, &path, NULL), -ENAMETOOLONG);
}

static void lists_are_canonical_and_lead_somewhere(void **state)
{
	struct stage *s = *state;

	assert_string_equal(list(s, "owners"), "");
	assert_int_equal(refer(s, "owners/https://bot:TOKEN@GitHub.com/Acme/Infra.git/-/applications/web", "alice@1"),
			 0);
	assert_int_equal(refer(s, "owners/github.com/acme/infra/-/credentials/key", "alice@1"), 0);
	assert_int_equal(refer(s, "owners/github.com/acme/infra-x/-/credentials/key", "bob@1"), 0);
	assert_int_equal(refer(s, "owners/github.com/acme/infra/sub/-/applications/a", "bob@1"), 0);
	assert_int_equal(refer(s, "owners/github.com/acme/infra.git/deep/-/applications/a", "bob@1"), 0);
	assert_int_equal(refer(s, "owners/https://github.com:4443/acme/-/applications/a", "bob@1"), 0);
	assert_string_equal(list(s, "owners"), "github.com/ github.com:4443/ ");
	assert_string_equal(list(s, "owners/https:"), "github.com/ github.com:4443/ ");
	assert_string_equal(list(s, "owners/github.com"), "acme/ ");
	assert_string_equal(list(s, "owners/https:/x:TOKEN@github.com"), "acme/ ");
	assert_string_equal(list(s, "owners/github.com/acme"), "infra/ infra-x/ infra.git/ ");
	assert_string_equal(list(s, "owners/github.com/acme/infra"), "-/ sub/ ");
	assert_string_equal(list(s, "owners/git@github.com:acme/infra.git"), "-/ deep/ ");
	assert_string_equal(list(s, "owners/github.com/acme/infra/-"), "applications/ credentials/ owner ");
	assert_string_equal(list(s, "owners/github.com/acme/infra/sub/-"), "applications/ owner ");
	assert_string_equal(list(s, "owners/github.com/acme/infra/-/applications"), "web ");
	assert_string_equal(list(s, "owners/github.com:4443/acme/-/applications"), "a ");
	assert_string_equal(list(s, "owners/gitlab.com/a/-"), "");
	assert_string_equal(list(s, "owners/gitlab.com"), "");
}

static void texts_say_who_and_since_when(void **state)
{
	struct stage *s = *state;
	struct atlock_owners_path path = path_of(INFRA "applications/web");
	struct atlock_ownership ownership;
	struct atlock_reference reference;
	size_t len;
	char *text;

	assert_int_equal(refer(s, INFRA "applications/web", "alice@1"), 0);
	stage_advance(s, 60);
	assert_int_equal(refer(s, INFRA "credentials/key", "alice@1"), 0);
	assert_int_equal(atlock_ownership_get(s->al, "github.com/acme/infra", &ownership), 0);
	text = atlock_ownership_text(s->al, &ownership, &len);
	assert_non_null(strstr(text, "url=github.com/acme/infra\nowner=alice\nuid="));
	assert_non_null(strstr(text, "\nsince=2027-01-15T08:00:00.000Z\napplications=1\ncredentials=1\n"));
	assert_int_equal(strlen(text), len);
	free(text);
	assert_int_equal(atlock_reference_get(s->al, &path, &reference), 0);
	text = atlock_reference_text(s->al, &reference, &len);
	assert_non_null(strstr(text, "url=github.com/acme/infra\ntype=applications\nid=web\nowner=alice\nuid="));
	assert_non_null(strstr(text, "\nsince=2027-01-15T08:00:00.000Z\npid=4711\nhost=host\n"));
	assert_int_equal(strlen(text), len);
	free(text);
}

static void a_full_store_refuses_claims_and_still_frees(void **state)
{
	struct stage *s = *state;
	struct mem_counts counts;

	assert_int_equal(refer(s, INFRA "applications/web", "alice@1"), 0);
	mem_world_counts(s->world, &counts);
	mem_world_faults(s->world)->max_keys = counts.keys;
	assert_int_equal(refer(s, INFRA "applications/api", "alice@1"), -EDQUOT);
	assert_int_equal(s->why.code, ATLOCK_QUOTA);
	assert_int_equal(unrefer(s, INFRA "applications/web", "alice@1"), 0);
	assert_string_equal(owner(s, "github.com/acme/infra"), "free");
	mem_world_faults(s->world)->max_keys = 0;
}

static void bad_arguments_are_refused(void **state)
{
	struct stage *s = *state;
	struct atlock_owners_path dir = path_of("owners/host/a/-");
	struct atlock_owners_path path = path_of(INFRA "applications/web");
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_reference reference;

	assert_int_equal(atlock_refer(s->al, &dir, &alice, false, &s->why), -EINVAL);
	assert_int_equal(atlock_refer(s->al, NULL, &alice, false, &s->why), -EINVAL);
	assert_int_equal(atlock_refer(NULL, &path, &alice, false, NULL), -EINVAL);
	assert_int_equal(atlock_refer(s->al, &path, NULL, false, &s->why), -EINVAL);
	assert_int_equal(atlock_unrefer(s->al, &dir, &alice, &s->why), -EINVAL);
	assert_int_equal(atlock_reference_get(s->al, &dir, &reference), -EINVAL);
	assert_int_equal(atlock_ownership_get(s->al, NULL, NULL), -EINVAL);
	assert_int_equal(atlock_owners_list(s->al, &path, NULL, list_one, s), -ENOTDIR);
	assert_int_equal(atlock_owners_list(s->al, &dir, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(atlock_run_owners(NULL), -EINVAL);
}

/* --- Leftovers --- */

static void put_claim(struct stage *s, const char *url, const char *as, uint64_t applications)
{
	struct record_key key = record_key_of(TABLE_CLAIM, slice_of(url));
	struct record_claim claim = { .applications = applications, .owner = slice_of(as) };
	unsigned char buf[RECORD_MAX];

	stage_put(s, record_key_slice(&key), (struct slice){ buf, (size_t)record_encode(RECORD_CLAIM, &claim, buf) });
}

static void put_reference(struct stage *s, const char *url, const char *id, const char *as)
{
	struct record_key key = record_key_reference(slice_of(url), 'a', slice_of(id));
	struct record_reference reference = { .since = 5, .owner = slice_of(as), .host = slice_of("host") };
	unsigned char buf[RECORD_MAX];

	stage_put(s, record_key_slice(&key),
		  (struct slice){ buf, (size_t)record_encode(RECORD_REFERENCE, &reference, buf) });
}

static uint64_t swept(struct stage *s)
{
	struct atlock_status status;

	assert_int_equal(atlock_status(s->al, &status), 0);
	return status.owners_swept;
}

static void sweep_finds_nothing_where_nothing_is_wrong(void **state)
{
	struct stage *s = *state;

	assert_int_equal(atlock_run_owners(s->al), 0);
	assert_int_equal(refer(s, INFRA "applications/web", "alice@1"), 0);
	assert_int_equal(refer(s, INFRA "credentials/web", "alice@1"), 0);
	(void)stage_events(s);
	uint64_t before = stage_commits(s);
	assert_int_equal(atlock_run_owners(s->al), 0);
	assert_int_equal(stage_commits(s), before);
	assert_string_equal(stage_events(s), "");
	assert_int_equal(swept(s), 0);
}

static void sweep_frees_a_claim_without_references(void **state)
{
	struct stage *s = *state;

	put_claim(s, "host/a", "alice", 3);
	put_claim(s, "host/b", "alice", 0);
	assert_int_equal(atlock_check(s->al, NULL), 2);
	assert_int_equal(refer(s, "owners/host/a/-/applications/x", "bob@1"), -EPERM);
	assert_int_equal(atlock_run_owners(s->al), 2);
	assert_string_equal(stage_events(s), "owners_swept owners_swept");
	assert_string_equal(owner(s, "host/a"), "free");
	assert_int_equal(swept(s), 2);
	assert_int_equal(refer(s, "owners/host/a/-/applications/x", "bob@1"), 0);
	assert_int_equal(atlock_run_owners(s->al), 0);
}

static void sweep_gives_references_their_claim_back(void **state)
{
	struct stage *s = *state;

	put_reference(s, "host/a", "one", "alice");
	put_reference(s, "host/a", "two", "alice");
	assert_true(atlock_check(s->al, NULL) > 0);
	assert_int_equal(atlock_run_owners(s->al), 1);
	assert_string_equal(owner(s, "host/a"), "alice 2 0");
	assert_int_equal(swept(s), 1);
}

static void a_url_whose_claim_was_lost_is_not_taken_by_another(void **state)
{
	struct stage *s = *state;

	put_reference(s, "host/a", "one", "alice");
	assert_int_equal(refer(s, "owners/host/a/-/applications/x", "bob@1"), -EPERM);
	assert_int_equal(refer(s, "owners/host/a/-/applications/x", "alice@1"), 0);
	assert_string_equal(owner(s, "host/a"), "alice 2 0");
	/* And the last one can be removed without a claim. */
	put_reference(s, "host/b", "one", "alice");
	assert_int_equal(unrefer(s, "owners/host/b/-/applications/one", "bob@1"), -EPERM);
	assert_int_equal(unrefer(s, "owners/host/b/-/applications/one", "alice@1"), 0);
	assert_string_equal(owner(s, "host/b"), "free");
}

static void sweep_removes_references_of_others_and_corrects_counts(void **state)
{
	struct stage *s = *state;

	assert_int_equal(refer(s, "owners/host/a/-/applications/mine", "alice@1"), 0);
	put_reference(s, "host/a", "stray", "bob");
	put_claim(s, "host/b", "alice", 7);
	put_reference(s, "host/b", "one", "alice");
	assert_int_equal(atlock_run_owners(s->al), 2);
	assert_string_equal(list(s, "owners/host/a/-/applications"), "mine ");
	assert_string_equal(owner(s, "host/a"), "alice 1 0");
	assert_string_equal(owner(s, "host/b"), "alice 1 0");
}

static void sweep_passes_over_what_is_damaged(void **state)
{
	struct stage *s = *state;
	struct record_key bad = record_key_of(TABLE_CLAIM, slice_of("host/bad"));
	struct record_key odd = record_key_of(TABLE_REFERENCE, slice_of("host/odd"));

	stage_put(s, record_key_slice(&bad), slice_of("garbage"));
	stage_put(s, record_key_slice(&odd), slice_of("garbage"));
	put_claim(s, "host/z", "alice", 0);
	put_reference(s, "host/zz", "one", "alice");
	assert_int_equal(atlock_check(s->al, NULL), 4);
	assert_int_equal(atlock_run_owners(s->al), -EIO);
	assert_string_equal(owner(s, "host/z"), "free");
	assert_string_equal(owner(s, "host/zz"), "alice 1 0");
	assert_int_equal(swept(s), 2);
	assert_int_equal(refer(s, "owners/host/bad/-/applications/x", "alice@1"), -EIO);
	assert_non_null(strstr(s->why.text, "rhost/bad"));
	assert_int_equal(atlock_check(s->al, NULL), 2);
	s->damaged = true;
}

static void check_knows_other_spellings(void **state)
{
	struct stage *s = *state;

	put_claim(s, "HOST/a", "alice", 1);
	put_reference(s, "HOST/a", "one", "alice");
	assert_int_equal(atlock_check(s->al, NULL), 2);
	s->damaged = true;
}

/* A manager with a thread sweeps by itself as soon as it is opened. */
static void the_thread_sweeps_at_the_start(void **state)
{
	struct stage *s = *state;
	struct timespec moment = { .tv_nsec = 1000000 };

	stage_close(s);
	put_claim(s, "host/a", "alice", 1);
	stage_open(s);
	for (int i = 0; i < 20000 && swept(s) == 0; i++)
		nanosleep(&moment, NULL);
	assert_int_equal(swept(s), 1);
	assert_string_equal(owner(s, "host/a"), "free");
}

/* --- A race --- */

#define RACERS 32

struct racer {
	struct stage *s;
	pthread_t thread;
	pthread_barrier_t *start;
	struct atlock_caller caller;
	int rc;
};

static void *race_run(void *arg)
{
	struct racer *racer = arg;
	struct atlock_owners_path path;

	(void)atlock_owners_parse(INFRA "applications/web", &path, NULL);
	(void)pthread_barrier_wait(racer->start);
	racer->rc = atlock_refer(racer->s->al, &path, &racer->caller, false, NULL);
	return NULL;
}

static void of_32_users_one_wins(void **state)
{
	struct stage *s = *state;
	struct racer racers[RACERS];
	pthread_barrier_t start;
	char name[32];
	int winner;
	int wins;

	for (int round = 0; round < 20; round++) {
		pthread_barrier_init(&start, NULL, RACERS);
		for (int i = 0; i < RACERS; i++) {
			(void)snprintf(name, sizeof(name), "user%d", i);
			racers[i] = (struct racer){ .s = s, .start = &start };
			assert_int_equal(atlock_caller_init(&racers[i].caller, name, "1", (uid_t)(2000 + i)), 0);
			assert_int_equal(pthread_create(&racers[i].thread, NULL, race_run, &racers[i]), 0);
		}
		wins = 0;
		winner = -1;
		for (int i = 0; i < RACERS; i++) {
			assert_int_equal(pthread_join(racers[i].thread, NULL), 0);
			assert_true(racers[i].rc == 0 || racers[i].rc == -EPERM);
			if (racers[i].rc == 0) {
				winner = i;
				wins++;
			}
		}
		assert_int_equal(wins, 1);
		(void)snprintf(name, sizeof(name), "user%d 1 0", winner);
		assert_string_equal(owner(s, "github.com/acme/infra"), name);
		assert_int_equal(unrefer(s, INFRA "applications/web", "root@1"), 0);
		pthread_barrier_destroy(&start);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(the_first_reference_claims_and_the_last_frees),
		STAGED(another_user_is_refused_and_told_who),
		STAGED(the_same_reference_again),
		STAGED(every_spelling_is_the_same_url),
		STAGED(paths_are_read),
		STAGED(lists_are_canonical_and_lead_somewhere),
		STAGED(texts_say_who_and_since_when),
		STAGED(a_full_store_refuses_claims_and_still_frees),
		STAGED(bad_arguments_are_refused),
		STAGED(sweep_finds_nothing_where_nothing_is_wrong),
		STAGED(sweep_frees_a_claim_without_references),
		STAGED(sweep_gives_references_their_claim_back),
		STAGED(a_url_whose_claim_was_lost_is_not_taken_by_another),
		STAGED(sweep_removes_references_of_others_and_corrects_counts),
		STAGED(sweep_passes_over_what_is_damaged),
		STAGED(check_knows_other_spellings),
		STAGED_LIVE(the_thread_sweeps_at_the_start),
		STAGED_LIVE(of_32_users_one_wins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
