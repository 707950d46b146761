/*
 * spoil STORE KEY [garble]: removes every record whose key begins so from a store that nobody uses, or makes rubbish of its value, as no
 * program of the project would.
 */
#include <err.h>
#include <lmdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MAP ((size_t)1 << 30)

static void check(int rc, const char *what)
{
	if (rc != 0)
		errx(1, "%s: %s", what, mdb_strerror(rc));
}

/* Goes on behind `last`, which is empty at first. */
static bool next(MDB_cursor *cursor, const char *prefix, char *last, size_t *len)
{
	MDB_val key = { .mv_size = *len, .mv_data = last };
	MDB_val value;

	if (mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE) != 0 || key.mv_size < strlen(prefix) ||
	    memcmp(key.mv_data, prefix, strlen(prefix)) != 0)
		return false;
	memcpy(last, key.mv_data, key.mv_size);
	*len = key.mv_size;
	return true;
}

int main(int argc, char **argv)
{
	static char rubbish[] = "\x7frubbish";
	MDB_val value = { .mv_size = strlen(rubbish), .mv_data = rubbish };
	unsigned int spoiled = 0;
	char name[512];
	MDB_cursor *cursor;
	MDB_env *env;
	MDB_txn *txn;
	MDB_val key;
	MDB_dbi dbi;

	if (argc != 3 && !(argc == 4 && strcmp(argv[3], "garble") == 0))
		errx(64, "usage: spoil STORE KEY [garble]");
	check(mdb_env_create(&env), "create");
	check(mdb_env_set_mapsize(env, MAP), "mapsize");
	check(mdb_env_open(env, argv[1], 0, 0600), argv[1]);
	check(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	check(mdb_dbi_open(txn, NULL, 0, &dbi), "open");
	check(mdb_cursor_open(txn, dbi, &cursor), "cursor");
	key = (MDB_val){ .mv_size = strlen(argv[2]), .mv_data = name };
	memcpy(name, argv[2], key.mv_size);
	while (next(cursor, argv[2], name, &key.mv_size)) {
		check(argc == 3 ? mdb_del(txn, dbi, &key, NULL) : mdb_put(txn, dbi, &key, &value, 0), "spoil");
		name[key.mv_size++] = '\0';
		spoiled++;
	}
	mdb_cursor_close(cursor);
	check(mdb_txn_commit(txn), "commit");
	mdb_env_close(env);
	printf("%u\n", spoiled);
	return spoiled == 0;
}
