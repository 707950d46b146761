/*
 * writer STORE: begins a transaction of LMDB in a store that a daemon has open, says so in a line, and gives it up when its
 * standard input ends. Until then every commit of the daemon's waits that is one of LMDB.
 */
#include <err.h>
#include <lmdb.h>
#include <stdio.h>

static void check(int rc, const char *what)
{
	if (rc != 0)
		errx(1, "%s: %s", what, mdb_strerror(rc));
}

int main(int argc, char **argv)
{
	MDB_env *env;
	MDB_txn *txn;

	if (argc != 2)
		errx(64, "usage: writer STORE");
	check(mdb_env_create(&env), "create");
	check(mdb_env_open(env, argv[1], 0, 0600), argv[1]);
	check(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	if (puts("begun") == EOF || fflush(stdout) == EOF)
		err(1, "stdout");
	while (getchar() != EOF)
		;
	mdb_txn_abort(txn);
	mdb_env_close(env);
	return 0;
}
