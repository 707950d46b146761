#include "spoil.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "atlock/check.h"
#include "record.h"

struct spoil {
	unsigned char table;
	bool garble;
	unsigned int count;
};

static int spoil_in_txn(struct store_txn *txn, void *arg)
{
	struct spoil *spoil = arg;
	struct record_key from = { .len = 1, .data = { spoil->table } };
	struct slice key;
	int rc;

	spoil->count = 0;
	while ((rc = store_next(txn, record_key_slice(&from), (struct slice){ &spoil->table, 1 }, &key, NULL)) == 0) {
		from = record_key_after(key);
		rc = spoil->garble ? store_put(txn, key, slice_of("\x7fgarbage")) : store_del(txn, key);
		assert_int_equal(rc, 0);
		spoil->count++;
	}
	return rc < 0 ? rc : 0;
}

static void spoil_table(struct stage *s, unsigned char table, bool garble)
{
	struct spoil spoil = { .table = table, .garble = garble };

	assert_int_equal(stage_tamper(s, spoil_in_txn, &spoil), 0);
	assert_true(spoil.count > 0);
}

void spoil_empty(struct stage *s, unsigned char table)
{
	spoil_table(s, table, false);
}

void spoil_garble(struct stage *s, unsigned char table)
{
	spoil_table(s, table, true);
}

static int del_in_txn(struct store_txn *txn, void *arg)
{
	return store_del(txn, *(const struct slice *)arg);
}

void spoil_del(struct stage *s, struct slice key)
{
	assert_int_equal(stage_tamper(s, del_in_txn, &key), 0);
}

const char *spoil_repair(struct stage *s)
{
	FILE *report = fmemopen(s->text, sizeof(s->text), "w");
	int64_t lines = 0;

	assert_non_null(report);
	assert_true(atlock_check(s->al, NULL) > 0);
	s->text[0] = '\0';
	int64_t done = atlock_repair(s->al, report, &s->why);
	if (done < 0)
		fail_msg("%s", s->why.text);
	assert_int_equal(fclose(report), 0);
	for (const char *at = s->text; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	assert_int_equal(done, lines);
	assert_true(done > 0);
	assert_int_equal(atlock_check(s->al, stderr), 0);
	return s->text;
}
