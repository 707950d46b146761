/*
 * writer PID STORE: begins a transaction of LMDB in a store that this daemon has open, under the daemon's own lock on writers, says
 * so in a line, and gives it up when its standard input ends. Until then every commit of the daemon's waits that is one of LMDB.
 */
#include <dirent.h>
#include <err.h>
#include <limits.h>
#include <lmdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char suffix[] = "/data-lock (deleted)";

static void check(int rc, const char *what)
{
	if (rc != 0)
		errx(1, "%s: %s", what, mdb_strerror(rc));
}

static bool is_table(const char *fd)
{
	char target[PATH_MAX] = "";
	ssize_t len = readlink(fd, target, sizeof(target) - 1);

	return len > (ssize_t)strlen(suffix) && strcmp(target + len - strlen(suffix), suffix) == 0;
}

/* The daemon's file of readers and mutexes has no name any more, but descriptors. */
static void table_find(const char *pid, char path[PATH_MAX])
{
	const struct dirent *entry;
	char dir[64];
	bool found = false;

	(void)snprintf(dir, sizeof(dir), "/proc/%s/fd", pid);
	DIR *list = opendir(dir);
	if (list == NULL)
		err(1, "%s", dir);
	while (!found && (entry = readdir(list)) != NULL) {
		(void)snprintf(path, PATH_MAX, "%s/%s", dir, entry->d_name);
		found = is_table(path);
	}
	closedir(list);
	if (!found)
		errx(1, "%s: no table of readers", dir);
}

int main(int argc, char **argv)
{
	char names[] = "/tmp/atlock-writer.XXXXXX";
	char table[PATH_MAX];
	char data[PATH_MAX];
	MDB_env *env;
	MDB_txn *txn;

	if (argc != 3)
		errx(64, "usage: writer PID STORE");
	table_find(argv[1], table);
	(void)snprintf(data, sizeof(data), "%s/data.mdb", argv[2]);
	if (mkdtemp(names) == NULL || chdir(names) != 0 || symlink(data, "data") != 0 ||
	    symlink(table, "data-lock") != 0)
		err(1, "%s", names);
	check(mdb_env_create(&env), "create");
	int rc = mdb_env_open(env, "data", MDB_NOSUBDIR, 0600);
	if (unlink("data") != 0 || unlink("data-lock") != 0 || rmdir(names) != 0)
		warn("%s", names);
	check(rc, data);
	check(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	if (puts("begun") == EOF || fflush(stdout) == EOF)
		err(1, "stdout");
	while (getchar() != EOF)
		;
	mdb_txn_abort(txn);
	mdb_env_close(env);
	return 0;
}
