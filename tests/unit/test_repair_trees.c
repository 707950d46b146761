/*
 * Whatever is lost or damaged of any table, in any tree: the store is in order again after a repair, and whatever was held is
 * held. Where the owner or the mode of something is lost, it is kept from everybody but administrators.
 */
#include "record.h"
#include "shared_fixture.h"
#include "spoil.h"
#include "stage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PULL "pulls/github.com/acme/infra/-/5"
#define URL "github.com/acme/infra"

/* --- A store with something in every table --- */

static void make_dirs(struct stage *s)
{
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_dir dir;

	assert_int_equal(atlock_dir_make(s->al, 0, "a", &alice, 0755, 1000, &dir, &s->why), 0);
	assert_int_equal(dir.id, 1);
	assert_int_equal(atlock_dir_make(s->al, 1, "b", &alice, 0750, 1000, &dir, &s->why), 0);
	assert_int_equal(dir.id, 2);
	assert_int_equal(atlock_dir_make(s->al, 0, "z", &alice, 0777, 1000, &dir, &s->why), 0);
}

static int take_custom(struct stage *s, const char *path, const char *as)
{
	struct atlock_caller caller = stage_caller(as);
	struct atlock_name name;
	struct atlock_request req = { .name = &name, .caller = &caller, .priority = ATLOCK_NORMAL };

	if (atlock_resolve(s->al, path, &name, &s->why) != 0)
		fail_msg("%s", s->why.text);
	return atlock_acquire(s->al, &req, &s->grant, &s->why);
}

static void make_owner(struct stage *s, const char *reference, const char *as)
{
	struct atlock_caller caller = stage_caller(as);
	struct atlock_owners_path path;
	char text[256];

	(void)snprintf(text, sizeof(text), "owners/%s/-/%s", URL, reference);
	assert_int_equal(atlock_owners_parse(text, &path, &s->why), 0);
	assert_int_equal(atlock_refer(s->al, &path, &caller, false, &s->why), 0);
}

static void make_pull(struct stage *s)
{
	static const char projects[] = "head=aa\na\tw\t\tapplied\nb\tw\t\tplanned\n";
	struct atlock_caller alice = stage_caller("alice@1");
	struct atlock_pull_name pull;

	assert_int_equal(atlock_pull_parse(PULL, &pull, &s->why), 0);
	assert_int_equal(atlock_pull_write(s->al, &alice, &pull, ATLOCK_PULL_PROJECTS, projects, strlen(projects),
					   false, &s->why),
			 0);
	assert_int_equal(atlock_pull_write(s->al, &alice, &pull, ATLOCK_PULL_META, "url=u\n", 6, false, &s->why), 0);
}

static void populate(struct stage *s)
{
	struct atlock_request *req;

	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/a/-/w", "alice@pr:5", 0), 0);
	assert_int_equal(stage_acquire(s, "global/apply", "alice@1", 60), 0);
	assert_int_equal(stage_write(s, "global/apply", "alice@1", "reason=x\n"), 0);
	req = stage_ask(s, "global/apply", "bob@1");
	req->text = "reason=y\n";
	req->text_len = strlen(req->text);
	assert_int_equal(atlock_enqueue(s->al, req, NULL, NULL, &s->why), 0);
	make_dirs(s);
	assert_int_equal(take_custom(s, "custom/a/b/lock", "alice@1"), 0);
	assert_int_equal(take_custom(s, "custom/top", "bob@1"), 0);
	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	make_owner(s, "applications/web", "alice@1");
	make_owner(s, "credentials/web", "alice@1");
	make_pull(s);
	stage_configure(s, "max_ttl", "3h");
	assert_int_equal(stage_acquire(s, "global/held", "carol@1", 0), 0);
	stage_advance(s, 5);
	assert_int_equal(stage_release(s, "global/held", "carol@1"), 0);
}

/* --- Every table --- */

static int count_one(void *arg, const struct atlock_view *view)
{
	unsigned int *held = arg;

	(void)view;
	++*held;
	return 0;
}

/* Nothing that was held is free: each key of a lock is there. */
static void all_is_held(struct stage *s)
{
	struct atlock_query query = { .limit = 0 };
	unsigned int held = 0;
	struct atlock_name name;
	struct atlock_view view;

	assert_int_equal(atlock_list(s->al, &query, count_one, &held), 0);
	assert_int_equal(held, 5);
	assert_int_equal(stage_acquire(s, "repos/acme/infra/-/a/-/w", "dave@1", 0), -EACCES);
	assert_int_equal(stage_acquire(s, "global/apply", "dave@1", 0), -EACCES);
	assert_int_equal(stage_acquire(s, "shared/db/stop@b", "bob@b", 0), -EACCES);
	assert_int_equal(atlock_name_custom(2, "lock", &name, &s->why), 0);
	assert_int_equal(atlock_get(s->al, &name, &view), 0);
	atlock_view_clear(&view);
}

static void every_table_can_be_repaired(void **state)
{
	static const char tables[] = "luQqvowxEhdDrRsapPjc";
	const char *at;

	(void)state;
	for (at = tables; *at != '\0'; at++) {
		/* Texts are bytes that nothing can be wrong with. */
		for (int garble = strchr("uvP", *at) != NULL ? 0 : 1; garble >= 0; garble--) {
			struct stage *s;
			uint64_t bad;

			assert_int_equal(stage_setup((void **)&s), 0);
			populate(s);
			if (garble)
				spoil_garble(s, (unsigned char)*at);
			else
				spoil_empty(s, (unsigned char)*at);
			/* What is simply not there need not be missed. */
			if (atlock_check(s->al, NULL) > 0)
				spoil_repair(s);
			else
				assert_non_null(strchr("uvhPc", *at));
			all_is_held(s);
			assert_int_equal(atlock_events_verify(s->al, &bad, &s->why), 0);
			stage_reopen(s);
			all_is_held(s);
			assert_int_equal(stage_teardown((void **)&s), 0);
		}
	}
}

/* --- custom/ --- */

/* "uid mode" of a directory, or "gone". */
static const char *dir_is(struct stage *s, uint64_t parent, const char *name)
{
	struct atlock_dir dir;
	int rc = atlock_dir_find(s->al, parent, name, &dir);

	if (rc == -ENOENT)
		return "gone";
	assert_int_equal(rc, 0);
	(void)snprintf(s->text, sizeof(s->text), "%ju: %u %o, %ju inside", (uintmax_t)dir.id, dir.uid, dir.mode,
		       (uintmax_t)dir.subdirs);
	return s->text;
}

static const char *path_of(struct stage *s, uint64_t dir, const char *leaf)
{
	struct atlock_name name;

	assert_int_equal(atlock_name_custom(dir, leaf, &name, &s->why), 0);
	assert_int_equal(atlock_name_print(s->al, &name, s->text, sizeof(s->text)), 0);
	return s->text;
}

static void directory_comes_back_from_its_entry(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_number(TABLE_DIR, 1);

	populate(s);
	spoil_del(s, record_key_slice(&key));
	assert_string_equal(spoil_repair(s),
			    "D\\00\\00\\00\\00\\00\\00\\00\\00a: the entry leads to no directory of that name: "
			    "the directory is made anew, for root alone\n"
			    "d\\00\\00\\00\\00\\00\\00\\00\\01: the directory's number of directories is wrong: "
			    "counted anew\n");
	assert_string_equal(dir_is(s, 0, "a"), "1: 0 700, 1 inside");
	assert_string_equal(dir_is(s, 1, "b"), "2: 1000 750, 0 inside");
	assert_string_equal(path_of(s, 2, "lock"), "custom/a/b/lock");
}

static void entry_comes_back_from_its_directory(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_entry(1, slice_of("b"));

	populate(s);
	spoil_del(s, record_key_slice(&key));
	assert_string_equal(spoil_repair(s), "d\\00\\00\\00\\00\\00\\00\\00\\02: "
					     "no entry in its parent leads to the directory: entered\n");
	assert_string_equal(dir_is(s, 1, "b"), "2: 1000 750, 0 inside");
}

static void directory_without_record_and_entry_is_kept_for_its_locks(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_number(TABLE_DIR, 2);

	populate(s);
	spoil_del(s, record_key_slice(&key));
	key = record_key_entry(1, slice_of("b"));
	spoil_del(s, record_key_slice(&key));
	assert_non_null(strstr(spoil_repair(s), "lock: the lock is in no directory: moved to custom/ as lost-<id>\n"));
	assert_string_equal(dir_is(s, 0, "lost-2"), "2: 0 700, 0 inside");
	assert_string_equal(path_of(s, 2, "lock"), "custom/lost-2/lock");
	all_is_held(s);
}

static void parent_that_is_gone_is_kept_for_what_is_in_it(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_number(TABLE_DIR, 1);

	populate(s);
	/* The name that it would get is not free. */
	assert_int_equal(take_custom(s, "custom/lost-1", "carol@1"), 0);
	spoil_del(s, record_key_slice(&key));
	key = record_key_entry(0, slice_of("a"));
	spoil_del(s, record_key_slice(&key));
	assert_non_null(strstr(spoil_repair(s), "the directory's parent is not there"));
	assert_string_equal(dir_is(s, 0, "lost-1-2"), "1: 0 700, 1 inside");
	assert_string_equal(path_of(s, 2, "lock"), "custom/lost-1-2/b/lock");
}

static void put_dir(struct stage *s, uint64_t id, uint64_t parent, const char *name)
{
	struct record_key key = record_key_number(TABLE_DIR, id);
	struct record_dir record = { .parent = parent, .uid = 1001, .mode = 0711, .name = slice_of(name) };
	unsigned char buf[RECORD_MAX];
	int len = record_encode(RECORD_DIR, &record, buf);

	stage_put(s, record_key_slice(&key), (struct slice){ buf, (size_t)len });
}

static void directories_that_cannot_stay_are_moved(void **state)
{
	struct stage *s = *state;
	struct record_key entry = record_key_entry(0, slice_of("top"));
	struct record_key id = record_key_number(TABLE_DIR, 7);

	populate(s);
	put_dir(s, 4, 4, "loop");
	put_dir(s, 5, 0, "a/b");
	put_dir(s, 6, 0, "a");
	put_dir(s, 7, 0, "top");
	stage_put(s, record_key_slice(&entry), (struct slice){ id.data + 1, 8 });
	spoil_repair(s);
	assert_string_equal(dir_is(s, 0, "lost-4"), "4: 1001 711, 0 inside");
	assert_string_equal(dir_is(s, 0, "lost-5"), "5: 1001 711, 0 inside");
	assert_string_equal(dir_is(s, 0, "lost-6"), "6: 1001 711, 0 inside");
	assert_string_equal(dir_is(s, 0, "lost-7"), "7: 1001 711, 0 inside");
	assert_string_equal(dir_is(s, 0, "top"), "gone");
	assert_string_equal(dir_is(s, 0, "a"), "1: 1000 755, 1 inside");
	all_is_held(s);
	/* Ids that were never given out are passed over, too. */
	assert_int_equal(atlock_dir_make(s->al, 0, "new", &(struct atlock_caller){ .owner = "alice", .who = "1" }, 0755,
					 0, &(struct atlock_dir){ .id = 0 }, &s->why),
			 0);
	assert_string_not_equal(dir_is(s, 0, "new"), "4: 0 755, 0 inside");
}

static void custom_itself_is_closed_when_its_mode_is_lost(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_number(TABLE_DIR, 0);
	struct atlock_dir dir;

	populate(s);
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	spoil_repair(s);
	assert_int_equal(atlock_dir_get(s->al, 0, &dir), 0);
	assert_int_equal(dir.mode, 0700);
	assert_int_equal(dir.subdirs, 2);
}

/* --- shared/ --- */

static void lost_apps_keep_a_resource_from_being_stopped(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_app(slice_of("db"), slice_of("b"));
	struct atlock_caller root = stage_caller("root@1");

	root.admin = true;
	shared_setup(s);
	spoil_del(s, record_key_slice(&key));
	assert_string_equal(spoil_repair(s),
			    "sdb: the resource's number of apps is wrong: counted anew, with one of which "
			    "nothing is known for those that are lost\n");
	assert_string_equal(shared_reads(s, "lost"), "UNKNOWN");
	assert_int_equal(shared_stop(s, "a", "alice@a"), -EBUSY);
	assert_int_equal(atlock_app_remove(s->al, "db", "lost", &root, &s->why), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
}

static void damaged_app_is_one_of_which_nothing_is_known(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_app(slice_of("db"), slice_of("b"));

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	spoil_repair(s);
	assert_string_equal(shared_reads(s, "b"), "UNKNOWN");
	assert_int_equal(shared_stop(s, "a", "alice@a"), -EBUSY);
}

/* Beside it there is no room in a key for an app that would stand for those that are gone. */
static void resource_with_too_long_a_name_goes(void **state)
{
	struct stage *s = *state;
	struct record_shared record = { .apps = 3 };
	struct record_key key = { .len = 506 };
	unsigned char buf[RECORD_MAX];
	int len = record_encode(RECORD_SHARED, &record, buf);

	shared_setup(s);
	memset(key.data, 'x', key.len);
	key.data[0] = TABLE_SHARED;
	stage_put(s, record_key_slice(&key), (struct slice){ buf, (size_t)len });
	key = record_key_app((struct slice){ key.data + 1, key.len - 1 }, slice_of("lost"));
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	assert_non_null(strstr(spoil_repair(s), ": no resource can have this name: dropped\n"));
	assert_int_equal(shared_stop(s, "a", "alice@a"), -EBUSY);
}

static void holder_is_an_app_again(void **state)
{
	struct stage *s = *state;

	shared_setup(s);
	assert_int_equal(shared_say(s, "b", "bob@1", "DOWN"), 0);
	assert_int_equal(shared_stop(s, "a", "alice@a"), 0);
	spoil_empty(s, TABLE_APP);
	spoil_empty(s, TABLE_SHARED);
	assert_non_null(strstr(spoil_repair(s), "lsdb/stop: the holder is no app of the resource: it is one now\n"));
	assert_string_equal(stage_holder(s, SHARED_STOP), "alice@a");
	assert_int_equal(stage_renew(s, "shared/db/stop@a", "alice@a", 60), 0);
}

/* --- pulls/ --- */

static const char *pull_reads(struct stage *s, enum atlock_pull_text what)
{
	struct atlock_pull_name pull;
	char *text = NULL;
	size_t len = 0;

	assert_int_equal(atlock_pull_parse(PULL, &pull, &s->why), 0);
	assert_int_equal(atlock_pull_read(s->al, &pull, what, &text, &len, &s->why), 0);
	(void)snprintf(s->text, sizeof(s->text), "%.*s", (int)len, text);
	free(text);
	return s->text;
}

static void pull_request_comes_back_from_its_parts(void **state)
{
	struct stage *s = *state;

	make_pull(s);
	spoil_empty(s, TABLE_PULL);
	assert_string_equal(spoil_repair(s),
			    "jgithub.com/acme/infra/-/5\\00a/-/w: a project of a pull request that is not "
			    "there: it is there again\n");
	assert_string_equal(pull_reads(s, ATLOCK_PULL_PROJECTS), "a\tw\t\tapplied\nb\tw\t\tplanned\n");
	assert_string_equal(pull_reads(s, ATLOCK_PULL_META), "url=u\n");
}

static void damaged_project_is_dropped_and_counted_no_more(void **state)
{
	struct stage *s = *state;

	make_pull(s);
	stage_put(s, (struct slice){ "jgithub.com/acme/infra/-/5\0a/-/w", 32 }, slice_of("garbage"));
	assert_string_equal(spoil_repair(s),
			    "jgithub.com/acme/infra/-/5\\00a/-/w: the project's record is damaged: dropped\n"
			    "pgithub.com/acme/infra/-/5: the number of projects is wrong: counted anew\n");
	assert_string_equal(pull_reads(s, ATLOCK_PULL_PROJECTS), "head=aa\nb\tw\t\tplanned\n");
}

/* --- owners/ --- */

static const char *owner_of(struct stage *s)
{
	struct atlock_ownership ownership;

	if (atlock_ownership_get(s->al, URL, &ownership) == 1)
		return "free";
	(void)snprintf(s->text, sizeof(s->text), "%s %ju %ju", ownership.owner,
		       (uintmax_t)ownership.references[ATLOCK_APPLICATIONS],
		       (uintmax_t)ownership.references[ATLOCK_CREDENTIALS]);
	return s->text;
}

static void url_stays_whose_it_was(void **state)
{
	struct stage *s = *state;

	make_owner(s, "applications/web", "alice@1");
	make_owner(s, "credentials/web", "alice@1");
	spoil_garble(s, TABLE_CLAIM);
	spoil_repair(s);
	assert_string_equal(owner_of(s), "alice 1 1");
	spoil_garble(s, TABLE_REFERENCE);
	assert_string_equal(spoil_repair(s), "R" URL "\\00aweb: the reference's record is damaged: "
					     "it is that of the URL's owner\n"
					     "R" URL "\\00cweb: the reference's record is damaged: "
					     "it is that of the URL's owner\n");
	assert_string_equal(owner_of(s), "alice 1 1");
	/* Of all that cannot be read nobody can say whose it was. */
	spoil_garble(s, TABLE_CLAIM);
	spoil_garble(s, TABLE_REFERENCE);
	spoil_repair(s);
	assert_string_equal(owner_of(s), "free");
}

/* --- Events --- */

static int day_add(void *arg, const struct atlock_day *day)
{
	uint64_t *total = arg;

	*total += day->size;
	return 0;
}

static uint64_t days_size(struct stage *s)
{
	uint64_t total = 0;

	assert_int_equal(atlock_days(s->al, NULL, day_add, &total), 0);
	return total;
}

static void three_days(struct stage *s)
{
	for (int i = 0; i < 3; i++) {
		assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
		assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
		stage_advance(s, 86400);
	}
	assert_int_equal(stage_acquire(s, "global/a", "alice@1", 60), 0);
}

static void days_are_found_from_their_events(void **state)
{
	struct stage *s = *state;
	uint64_t before;

	three_days(s);
	before = days_size(s);
	assert_true(before > 0);
	spoil_empty(s, TABLE_DAY);
	assert_int_equal(days_size(s), 0);
	assert_non_null(strstr(spoil_repair(s), ": events are in the file of no day: in that of theirs again\n"));
	/* And the event of the repair. */
	assert_true(days_size(s) > before);
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
	stage_advance(s, 86400);
	assert_int_equal(stage_acquire(s, "global/b", "bob@1", 60), 0);
}

static void end_of_the_chain_is_its_last_event(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_tail(0);
	struct atlock_status status;

	three_days(s);
	assert_int_equal(stage_enqueue(s, "global/a", "bob@1", ATLOCK_NORMAL, NULL), 0);
	stage_put(s, record_key_slice(&key), slice_of("garbage"));
	assert_int_equal(stage_release(s, "global/a", "alice@1"), -EIO);
	spoil_repair(s);
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
	assert_int_equal(atlock_status(s->al, &status), 0);
	assert_int_equal(status.held, 1);
	assert_int_equal(status.waiting, 1);
	spoil_del(s, record_key_slice(&key));
	spoil_repair(s);
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), 0);
	assert_int_equal(stage_release(s, "global/a", "alice@1"), 0);
}

/* That is for people to look into: nothing is done about it. */
static void changed_event_is_no_matter_for_a_repair(void **state)
{
	struct stage *s = *state;
	struct record_key key = record_key_event(0, 3);

	three_days(s);
	spoil_del(s, record_key_slice(&key));
	assert_int_equal(atlock_repair(s->al, stderr, &s->why), 0);
	assert_int_equal(atlock_events_verify(s->al, NULL, &s->why), -EBADMSG);
	s->damaged = true;
}

/* --- The rest --- */

static void keys_that_are_nobodys_go(void **state)
{
	struct stage *s = *state;

	stage_put(s, slice_of("Zebra"), slice_of("x"));
	stage_put(s, slice_of("fnothing"), slice_of("x"));
	stage_put(s, slice_of("e\1\2\3"), slice_of("x"));
	stage_put(s, slice_of("cmax_ttl"), slice_of("x"));
	assert_string_equal(spoil_repair(s), "e\\01\\02\\03: the event's key is damaged: dropped\n"
					     "cmax_ttl: the record of an option is damaged: dropped\n"
					     "fnothing: no record has this key: dropped\n"
					     "Zebra: no table has this key: dropped\n");
}

static void option_that_keeps_the_store_from_opening_goes(void **state)
{
	struct stage *s = *state;
	struct record_setting setting = { slice_of("yesterday") };
	unsigned char buf[RECORD_MAX];
	int len = record_encode(RECORD_SETTING, &setting, buf);

	stage_put(s, slice_of("cmax_ttl"), (struct slice){ buf, (size_t)len });
	assert_string_equal(spoil_repair(s), "cmax_ttl: the option cannot have this value: dropped\n");
	stage_reopen(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_can_be_repaired),
		STAGED(directory_comes_back_from_its_entry),
		STAGED(entry_comes_back_from_its_directory),
		STAGED(directory_without_record_and_entry_is_kept_for_its_locks),
		STAGED(parent_that_is_gone_is_kept_for_what_is_in_it),
		STAGED(directories_that_cannot_stay_are_moved),
		STAGED(custom_itself_is_closed_when_its_mode_is_lost),
		STAGED(lost_apps_keep_a_resource_from_being_stopped),
		STAGED(damaged_app_is_one_of_which_nothing_is_known),
		STAGED(resource_with_too_long_a_name_goes),
		STAGED(holder_is_an_app_again),
		STAGED(pull_request_comes_back_from_its_parts),
		STAGED(damaged_project_is_dropped_and_counted_no_more),
		STAGED(url_stays_whose_it_was),
		STAGED(days_are_found_from_their_events),
		STAGED(end_of_the_chain_is_its_last_event),
		STAGED(changed_event_is_no_matter_for_a_repair),
		STAGED(keys_that_are_nobodys_go),
		STAGED(option_that_keeps_the_store_from_opening_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
