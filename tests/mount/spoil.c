/* spoil STORE LETTER: removes every record of one table from a store that nobody uses, as no program of the project would. */
#include <err.h>
#include <lmdb.h>
#include <stdio.h>

#define MAP ((size_t)1 << 30)

static void check(int rc, const char *what)
{
	if (rc != 0)
		errx(1, "%s: %s", what, mdb_strerror(rc));
}

int main(int argc, char **argv)
{
	unsigned int removed = 0;
	MDB_cursor *cursor;
	MDB_env *env;
	MDB_txn *txn;
	MDB_val key;
	MDB_val value;
	MDB_dbi dbi;

	if (argc != 3)
		errx(64, "usage: spoil STORE LETTER");
	check(mdb_env_create(&env), "create");
	check(mdb_env_set_mapsize(env, MAP), "mapsize");
	check(mdb_env_open(env, argv[1], 0, 0600), argv[1]);
	check(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	check(mdb_dbi_open(txn, NULL, 0, &dbi), "open");
	check(mdb_cursor_open(txn, dbi, &cursor), "cursor");
	key = (MDB_val){ .mv_size = 1, .mv_data = argv[2] };
	while (mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE) == 0 && *(const char *)key.mv_data == argv[2][0]) {
		check(mdb_cursor_del(cursor, 0), "del");
		key = (MDB_val){ .mv_size = 1, .mv_data = argv[2] };
		removed++;
	}
	mdb_cursor_close(cursor);
	check(mdb_txn_commit(txn), "commit");
	mdb_env_close(env);
	printf("%u\n", removed);
	return removed == 0;
}
