/*
 * The users' texts at rest: what is sealed can be read with its key, under its name and unchanged, or not at all; and a
 * change of the key can be interrupted anywhere.
 */
#include "op.h"
#include "scratch.h"
#include "seal.h"
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/string.h>
#include <cmocka.h>

#define SECRET "plan=hunter2"
#define LOCKS 6

/* A stage with three key files beside it. */
struct keys {
	struct stage *s;
	char *dir;
	char path[3][128];
	char id[3][ATLOCK_KEY_ID_MAX];
	int texts;   /* that were written */
	bool repair; /* for try_open() */
};

static int setup(void **state)
{
	struct keys *k = calloc(1, sizeof(*k));
	void *stage = NULL;

	assert_non_null(k);
	k->dir = scratch_new();
	for (int i = 0; i < 3; i++) {
		(void)snprintf(k->path[i], sizeof(k->path[i]), "%s/key%d", k->dir, i);
		assert_int_equal(atlock_key_new(k->path[i], k->id[i], NULL), 0);
	}
	assert_int_equal(stage_setup(&stage), 0);
	k->s = stage;
	*state = k;
	return 0;
}

static int teardown(void **state)
{
	struct keys *k = *state;
	void *stage = k->s;
	int rc = stage_teardown(&stage);

	scratch_remove(k->dir);
	free(k);
	return rc;
}

#define KEYED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* The keys for the next open, -1 for none. */
static void give(struct keys *k, int key, int old)
{
	(void)strlcpy(k->s->options.key_file, key < 0 ? "" : k->path[key], sizeof(k->s->options.key_file));
	(void)strlcpy(k->s->options.old_key_file, old < 0 ? "" : k->path[old], sizeof(k->s->options.old_key_file));
}

static void reopen(struct keys *k, int key, int old)
{
	give(k, key, old);
	stage_reopen(k->s);
}

static void read_clock(void *arg, struct atlock_time *out)
{
	*out = ((const struct stage *)arg)->time;
}

/* As stage_open(), for what may fail. */
static int try_open(struct keys *k, int key, int old)
{
	struct atlock_setup with = {
		.options = &k->s->options,
		.host = "host",
		.clock = read_clock,
		.clock_arg = k->s,
		.manual = true,
		.repair = k->repair,
		.seed = 1,
		.store_engine = &mem_engine,
		.store_engine_arg = k->s->world,
	};

	give(k, key, old);
	return atlock_open(&k->s->al, "mem", &with, &k->s->why);
}

/* What must not open with these keys: how it went. */
static int refused(struct keys *k, int key, int old)
{
	uint64_t before;
	int rc;

	stage_close(k->s);
	before = stage_commits(k->s);
	rc = try_open(k, key, old);
	assert_int_equal(stage_commits(k->s), before);
	return rc;
}

static const char *lock_name_of(int i)
{
	static char name[32];

	(void)snprintf(name, sizeof(name), "global/l%d", i);
	return name;
}

/* Locks, a ticket and a pull request, each with a text. */
static void populate(struct keys *k)
{
	struct stage *s = k->s;
	struct atlock_caller bob = stage_caller("bob@1");
	struct atlock_request *req;
	struct atlock_pull_name pull;

	for (int i = 0; i < LOCKS; i++) {
		assert_int_equal(stage_acquire(s, lock_name_of(i), "alice@1", 0), 0);
		assert_int_equal(stage_write(s, lock_name_of(i), "alice@1", SECRET "\n"), 0);
	}
	req = stage_ask(s, "global/l0", "bob@1");
	req->text = SECRET "-ticket\n";
	req->text_len = strlen(req->text);
	assert_int_equal(atlock_enqueue(s->al, req, NULL, NULL, &s->why), 0);
	assert_int_equal(atlock_pull_parse("pulls/github.com/acme/infra/-/7", &pull, NULL), 0);
	assert_int_equal(atlock_pull_write(s->al, &bob, &pull, ATLOCK_PULL_META, SECRET "\n", strlen(SECRET) + 1, false,
					   &s->why),
			 0);
	k->texts += LOCKS + 2;
}

/* More than one transaction changes. */
static void populate_big(struct keys *k)
{
	static char big[ATLOCK_META_BYTES - 64];
	char name[32];

	memset(big, 'x', sizeof(big));
	memcpy(big, "big=", 4);
	big[sizeof(big) - 2] = '\n';
	big[sizeof(big) - 1] = '\0';
	for (int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "global/big%d", i);
		assert_int_equal(stage_acquire(k->s, name, "alice@1", 0), 0);
		assert_int_equal(stage_write(k->s, name, "alice@1", big), 0);
	}
	k->texts += 40;
}

/* How many values of the store show the secret, and how many are sealed with key i (-1: with any). */
struct found {
	struct slice id;
	int plain;
	int sealed;
};

static int find_in_txn(struct store_txn *txn, void *arg)
{
	struct found *found = arg;
	struct record_key from = { .len = 1 };
	struct slice key;
	struct slice value;

	found->plain = found->sealed = 0;
	while (store_next(txn, record_key_slice(&from), (struct slice){ NULL, 0 }, &key, &value) == 0) {
		struct slice id = seal_value_id(value);
		char table = *(const char *)key.data;

		from = record_key_after(key);
		found->plain += value.len > 0 && memmem(value.data, value.len, "hunter2", 7) != NULL;
		if (strchr("uvP", table) != NULL && id.len > 0)
			found->sealed += found->id.len == 0 || memcmp(id.data, found->id.data, id.len) == 0;
	}
	return 0;
}

static struct found find(struct keys *k, int i)
{
	struct seal_key key;
	struct found found = { .plain = 0 };

	if (i >= 0) {
		assert_int_equal(seal_key_read(k->path[i], &key, NULL), 0);
		found.id = (struct slice){ key.id, sizeof(key.id) };
	}
	assert_int_equal(stage_tamper(k->s, find_in_txn, &found), 0);
	return found;
}

static void expect_texts(struct keys *k)
{
	struct atlock_pull_name pull;
	char *text = NULL;
	size_t len;

	for (int i = 0; i < LOCKS; i++) {
		struct atlock_view view = stage_view(k->s, lock_name_of(i));

		assert_string_equal(view.meta, SECRET "\n");
		atlock_view_clear(&view);
	}
	assert_int_equal(atlock_pull_parse("pulls/github.com/acme/infra/-/7", &pull, NULL), 0);
	assert_int_equal(atlock_pull_read(k->s->al, &pull, ATLOCK_PULL_META, &text, &len, &k->s->why), 0);
	assert_string_equal(text, SECRET "\n");
	free(text);
	assert_int_equal(atlock_check(k->s->al, stderr), 0);
}

/* --- Key files --- */

static void key_file_that_others_may_read_is_refused(void **state)
{
	struct keys *k = *state;
	struct atlock_why why;
	char id[ATLOCK_KEY_ID_MAX];
	struct stat st;

	assert_int_equal(stat(k->path[0], &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(atlock_key_id(k->path[0], id, &why), 0);
	assert_string_equal(id, k->id[0]);
	assert_string_not_equal(id, k->id[1]);
	assert_int_equal(chmod(k->path[0], 0640), 0);
	assert_int_equal(atlock_key_id(k->path[0], id, &why), -EACCES);
	assert_non_null(strstr(why.text, "chmod 600"));
	assert_int_equal(refused(k, 0, -1), -EACCES);
	assert_int_equal(atlock_key_new(k->path[0], id, &why), -EEXIST);
	give(k, -1, -1);
	stage_open(k->s);
}

static void key_file_that_is_none_is_refused(void **state)
{
	static const char *const bad[] = { "", "\n", "secret\n", "0123456789abcdef\n" };
	struct keys *k = *state;
	struct atlock_why why;
	char id[ATLOCK_KEY_ID_MAX];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = open(k->path[0], O_WRONLY | O_TRUNC | O_CLOEXEC);

		assert_int_equal(write(fd, bad[i], strlen(bad[i])), strlen(bad[i]));
		close(fd);
		assert_int_equal(atlock_key_id(k->path[0], id, &why), -EINVAL);
		assert_null(strstr(why.text, "0123456789"));
	}
	assert_int_equal(atlock_key_id(k->dir, id, &why), -EINVAL);
	assert_int_equal(atlock_key_id("/nowhere/key", id, &why), -ENOENT);
	assert_int_equal(atlock_key_id("", id, &why), -EINVAL);
	(void)strlcpy(k->path[0], "relative", sizeof(k->path[0]));
	assert_int_equal(refused(k, 0, -1), -EINVAL);
	assert_non_null(strstr(k->s->why.text, "whole path"));
	give(k, -1, -1);
	stage_open(k->s);
}

/* --- A store --- */

static void nothing_of_a_text_is_in_a_sealed_store(void **state)
{
	struct keys *k = *state;

	reopen(k, 0, -1);
	populate(k);
	expect_texts(k);
	assert_int_equal(find(k, 0).sealed, k->texts);
	assert_int_equal(find(k, 0).plain, 0);
	reopen(k, 0, -1);
	expect_texts(k);
}

static void ticket_text_becomes_the_locks(void **state)
{
	struct keys *k = *state;
	struct atlock_view view;

	reopen(k, 0, -1);
	populate(k);
	assert_int_equal(stage_release(k->s, "global/l0", "alice@1"), 0);
	assert_string_equal(stage_holder(k->s, "global/l0"), "bob@1 pending");
	view = stage_view(k->s, "global/l0");
	assert_string_equal(view.meta, SECRET "-ticket\n");
	atlock_view_clear(&view);
	assert_int_equal(find(k, 0).plain, 0);
}

static void wrong_key_or_none_is_refused_and_changes_nothing(void **state)
{
	struct keys *k = *state;

	reopen(k, 0, -1);
	populate(k);
	assert_int_equal(refused(k, -1, -1), -ENOKEY);
	assert_non_null(strstr(k->s->why.text, k->id[0]));
	assert_non_null(strstr(k->s->why.text, "key_file="));
	assert_int_equal(refused(k, 1, -1), -EKEYREJECTED);
	assert_non_null(strstr(k->s->why.text, "wrong key"));
	assert_non_null(strstr(k->s->why.text, k->id[0]));
	assert_int_equal(refused(k, 1, 2), -EKEYREJECTED);
	assert_int_equal(refused(k, -1, 1), -EKEYREJECTED);
	reopen(k, 0, -1);
	expect_texts(k);
}

static void plain_texts_are_sealed_when_a_key_is_given(void **state)
{
	struct keys *k = *state;

	populate(k);
	assert_int_equal(find(k, -1).plain, k->texts);
	reopen(k, 0, -1);
	expect_texts(k);
	assert_int_equal(find(k, 0).sealed, k->texts);
	assert_int_equal(find(k, 0).plain, 0);
	assert_non_null(strstr(stage_events(k->s), "sealed"));
	reopen(k, 0, -1);
	assert_null(strstr(stage_events(k->s), "sealed"));
}

static void texts_are_decrypted_without_a_new_key(void **state)
{
	struct keys *k = *state;

	reopen(k, 0, -1);
	populate(k);
	reopen(k, -1, 0);
	expect_texts(k);
	assert_int_equal(find(k, -1).sealed, 0);
	assert_int_equal(find(k, -1).plain, k->texts);
	reopen(k, -1, 0);
	reopen(k, -1, -1);
	expect_texts(k);
}

/* From key to key, the first way through and back; -1 is no key. Crashes at each commit, before and after it counts. */
static void change_interrupted_everywhere(struct keys *k, int from, int to)
{
	struct mem_faults *faults = mem_world_faults(k->s->world);
	bool done = false;

	for (uint64_t round = 2; !done; round++) {
		uint64_t at = round / 2;

		reopen(k, from, to);
		assert_int_equal(find(k, from).sealed, from < 0 ? 0 : k->texts);
		stage_close(k->s);
		faults->crash_in = at;
		faults->crash_applied = round % 2 == 1;
		done = try_open(k, to, from) == 0;
		/* Closing writes too. The third commit is the first with texts of the new key. */
		faults->crash_in = 0;
		if (!done && from >= 0 && to >= 0 && round == 6)
			assert_int_equal(refused(k, to, -1), -EKEYREJECTED);
		reopen(k, to, from);
		expect_texts(k);
		assert_int_equal(find(k, to).sealed, to < 0 ? 0 : k->texts);
		assert_int_equal(find(k, to).plain, to < 0 ? LOCKS + 2 : 0);
		reopen(k, to, -1);
		expect_texts(k);
		assert_true(round < 40);
	}
}

static void change_of_keys_can_be_interrupted_anywhere(void **state)
{
	struct keys *k = *state;

	populate(k);
	populate_big(k);
	change_interrupted_everywhere(k, -1, 0);
	change_interrupted_everywhere(k, 0, 1);
	change_interrupted_everywhere(k, 1, -1);
}

static void many_texts_are_changed_in_several_transactions(void **state)
{
	struct keys *k = *state;
	struct stage *s = k->s;

	populate_big(k);
	reopen(k, 0, -1);
	stage_close(s);
	give(k, 1, 0);
	uint64_t before = stage_commits(s);
	stage_open(s);
	assert_in_range(stage_commits(s) - before, 5, 9);
	assert_int_equal(find(k, 1).sealed, k->texts);
}

/* --- Damage --- */

static int flip_in_txn(struct store_txn *txn, void *arg)
{
	struct record_key *key = arg;
	unsigned char copy[256];
	struct slice value;

	assert_int_equal(store_get(txn, record_key_slice(key), &value), 0);
	assert_in_range(value.len, SEAL_OVERHEAD, sizeof(copy));
	memcpy(copy, value.data, value.len);
	copy[value.len - 1] ^= 1;
	return store_put(txn, record_key_slice(key), (struct slice){ copy, value.len });
}

static void damaged_text_is_an_error_that_names_its_key_and_no_obstacle(void **state)
{
	struct keys *k = *state;
	struct stage *s = k->s;
	struct record_key key = record_key_of(TABLE_TEXT, slice_of("gl1"));
	struct atlock_view view;
	char value[64];
	char *json;

	reopen(k, 0, -1);
	populate(k);
	assert_int_equal(stage_tamper(s, flip_in_txn, &key), 0);
	assert_int_equal(atlock_check(s->al, NULL), 1);
	view = stage_view(s, "global/l1");
	assert_true(view.meta_damaged);
	assert_int_equal(atlock_view_check(&view, &s->why), -EIO);
	assert_non_null(strstr(s->why.text, "ugl1"));
	assert_int_equal(atlock_view_field(s->al, &view, "plan", value, sizeof(value)), -EIO);
	assert_int_equal(atlock_view_field(s->al, &view, "owner", value, sizeof(value)), 0);
	json = atlock_view_json(s->al, &view, NULL);
	assert_non_null(strstr(json, "\"meta\":null"));
	free(json);
	atlock_view_clear(&view);
	assert_int_equal(stage_write(s, "global/l1", "alice@1", "a=1\n"), -EIO);
	assert_non_null(strstr(s->why.text, "ugl1"));
	assert_int_equal(stage_acquire(s, "global/l1", "bob@1", 0), -EACCES);
	/* A new key does not need it, and it is still told of. */
	reopen(k, 1, 0);
	assert_int_equal(find(k, 1).sealed, k->texts - 1);
	assert_int_equal(atlock_check(s->al, NULL), 1);
	assert_int_equal(stage_release(s, "global/l1", "alice@1"), 0);
}

static void lock_is_handed_over_although_the_next_text_is_damaged(void **state)
{
	struct keys *k = *state;
	struct stage *s = k->s;
	struct atlock_request *req;
	struct record_key key;
	struct atlock_view view;
	uint64_t ticket = 0;

	reopen(k, 0, -1);
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 0), 0);
	req = stage_ask(s, "global/a", "bob@1");
	req->text = SECRET "\n";
	req->text_len = strlen(req->text);
	assert_int_equal(atlock_enqueue(s->al, req, &ticket, NULL, &s->why), 0);
	key = record_key_number(TABLE_TICKET_TEXT, ticket);
	assert_int_equal(stage_tamper(s, flip_in_txn, &key), 0);
	assert_int_equal(atlock_check(s->al, NULL), 1);
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
	assert_string_equal(stage_holder(s, "global/a"), "bob@1 pending");
	view = stage_view(s, "global/a");
	assert_true(view.meta_damaged);
	atlock_view_clear(&view);
	assert_int_equal(stage_release(s, "global/a", "bob@1"), 0);
}

static int copy_in_txn(struct store_txn *txn, void *arg)
{
	struct record_key from = record_key_of(TABLE_TEXT, slice_of("gl1"));
	struct record_key to = record_key_of(TABLE_TEXT, slice_of("gl2"));
	struct slice value;

	(void)arg;
	assert_int_equal(store_get(txn, record_key_slice(&from), &value), 0);
	return store_put(txn, record_key_slice(&to), value);
}

static void text_moved_to_another_lock_is_damaged(void **state)
{
	struct keys *k = *state;
	struct atlock_view view;

	reopen(k, 0, -1);
	populate(k);
	assert_int_equal(stage_tamper(k->s, copy_in_txn, NULL), 0);
	view = stage_view(k->s, "global/l2");
	assert_true(view.meta_damaged);
	atlock_view_clear(&view);
	k->s->damaged = true;
}

static void damaged_record_of_the_key_is_refused(void **state)
{
	struct keys *k = *state;
	struct record_key key = record_key_meta("seal");

	reopen(k, 0, -1);
	stage_close(k->s);
	stage_put(k->s, record_key_slice(&key), slice_of("garbage"));
	assert_int_equal(refused(k, 0, -1), -EIO);
	assert_non_null(strstr(k->s->why.text, "fseal"));
}

/* With the key: without it, texts that nobody can read must not be taken for plain ones. */
static void damaged_record_of_the_key_can_be_repaired(void **state)
{
	struct keys *k = *state;
	struct record_key key = record_key_meta("seal");
	struct atlock_view view;

	reopen(k, 0, -1);
	populate(k);
	stage_put(k->s, record_key_slice(&key), slice_of("garbage"));
	assert_int_equal(atlock_check(k->s->al, NULL), 1);
	stage_close(k->s);
	k->repair = true;
	assert_int_equal(try_open(k, -1, -1), 0);
	assert_int_equal(atlock_repair(k->s->al, NULL, &k->s->why), -ENOKEY);
	stage_close(k->s);
	assert_int_equal(try_open(k, 0, -1), 0);
	assert_int_equal(atlock_repair(k->s->al, NULL, &k->s->why), 1);
	stage_close(k->s);
	k->repair = false;
	assert_int_equal(try_open(k, 0, -1), 0);
	view = stage_view(k->s, "global/l1");
	assert_false(view.meta_damaged);
	atlock_view_clear(&view);
	assert_int_equal(refused(k, 1, -1), -EKEYREJECTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEYED(key_file_that_others_may_read_is_refused),
		KEYED(key_file_that_is_none_is_refused),
		KEYED(nothing_of_a_text_is_in_a_sealed_store),
		KEYED(ticket_text_becomes_the_locks),
		KEYED(wrong_key_or_none_is_refused_and_changes_nothing),
		KEYED(plain_texts_are_sealed_when_a_key_is_given),
		KEYED(texts_are_decrypted_without_a_new_key),
		KEYED(change_of_keys_can_be_interrupted_anywhere),
		KEYED(many_texts_are_changed_in_several_transactions),
		KEYED(damaged_text_is_an_error_that_names_its_key_and_no_obstacle),
		KEYED(lock_is_handed_over_although_the_next_text_is_damaged),
		KEYED(text_moved_to_another_lock_is_damaged),
		KEYED(damaged_record_of_the_key_is_refused),
		KEYED(damaged_record_of_the_key_can_be_repaired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
