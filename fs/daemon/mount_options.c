#include "mount_options.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <pwd.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "complain.h"
#include "conf.h"
#include "suggest.h"

#define THREADS_DEFAULT 32
#define CONFIG_DEFAULT "/etc/atlockfs.conf"

/* `where` is the line of a configuration file, or NULL. */
static int complain_at(const char *where, const char *what, const char *text)
{
	char there[PATH_MAX];

	if (where == NULL)
		return complain(what, text);
	(void)snprintf(there, sizeof(there), "%s: %s", where, what);
	return complain(there, text);
}

static void print_help(void)
{
	const char *help;
	char usage[128];

	puts("usage: atlockfs [-f] [-d] [--config FILE] [-o OPTION[=VALUE],...] [--store DIR|URI] MOUNTPOINT\n"
	     "\n"
	     "Mounts a file system whose files are locks. `mount -t fuse.atlockfs DIR MOUNTPOINT` does, too.\n"
	     "\n"
	     "  -f            stay in the foreground\n"
	     "  -d            foreground, and print every request\n"
	     "  --store DIR   where the locks are kept (default: /var/lib/atlockfs for root, else\n"
	     "                $XDG_STATE_HOME/atlockfs or ~/.local/state/atlockfs)\n"
	     "  --config FILE lines \"option = value\" to begin with (default: " CONFIG_DEFAULT "\n"
	     "                for root, if it is there)\n"
	     "  -h, --help    this text\n"
	     "  -V, --version\n"
	     "\n"
	     "Options for -o, with their defaults and what they may be:\n"
	     "  allow_other   other users may use the mount (default for root)\n"
	     "  private       they may not (default for others)\n"
	     "  run_as=USER   be this user once mounted, without root's rights\n"
	     "  max_threads=N requests handled at once (32); waiting for a lock takes none");
	for (size_t i = 0; atlock_option_name(i, &help) != NULL; i++)
		if (atlock_option_usage(i, usage, sizeof(usage)))
			printf("  %s\n                %s\n", usage, help);
	puts("and those of fuse(8). Unmount with umount(8) or `fusermount3 -u MOUNTPOINT`.");
}

static bool is_core_option(const char *name)
{
	const char *help;
	const char *known;

	for (size_t i = 0; (known = atlock_option_name(i, &help)) != NULL; i++)
		if (strcmp(known, name) == 0)
			return true;
	return false;
}

static int set_threads(struct options *options, const char *where, const char *value)
{
	const char *wrong = NULL;

	options->max_threads = (unsigned int)strtonum(value == NULL ? "" : value, 1, 1024, &wrong);
	return wrong == NULL ? 0 : complain_at(where, "max_threads", "a number from 1 to 1024");
}

/* The store parses "scheme:address"; the scheme whose address is a directory may be left out. */
static bool names_engine(const char *value)
{
	size_t len = strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789+-");

	return len > 0 && value[len] == ':';
}

static int set_store(struct options *options, const char *where, const char *value)
{
	char here[PATH_MAX];
	int n;

	if (value != NULL && strncmp(value, "lmdb:", 5) == 0)
		value += 5;
	if (value == NULL || value[0] == '\0')
		return complain_at(where, "store", "name a directory");
	if (where != NULL && value[0] != '/' && !names_engine(value))
		return complain_at(where, value, "name the store's directory from / on");
	if (names_engine(value) || value[0] == '/')
		n = snprintf(options->store, sizeof(options->store), "%s", value);
	else if (getcwd(here, sizeof(here)) != NULL)
		n = snprintf(options->store, sizeof(options->store), "%s/%s", here, value);
	else
		return complain_at(where, value, strerror(errno));
	return n > 0 && (size_t)n < sizeof(options->store) ? 0 : complain_at(where, value, strerror(ENAMETOOLONG));
}

static int set_run_as(struct options *options, const char *where, const char *value)
{
	const struct passwd *user = value == NULL || value[0] == '\0' ? NULL : getpwnam(value);

	if (user == NULL)
		return complain_at(where, "run_as", "name a user of this system that the daemon shall be");
	if (geteuid() != 0)
		return complain_at(where, "run_as", "only root can become somebody else: leave it out");
	options->run_uid = user->pw_uid;
	options->run_gid = user->pw_gid;
	snprintf(options->run_as, sizeof(options->run_as), "%s", value);
	return strlen(value) < sizeof(options->run_as) ? 0 : complain_at(where, value, strerror(ENAMETOOLONG));
}

static int set_allow_other(struct options *options, const char *where, const char *value)
{
	options->allow_other = true;
	return value == NULL ? 0 : complain_at(where, "allow_other", "takes no value; its opposite is private");
}

static int set_private(struct options *options, const char *where, const char *value)
{
	options->allow_other = false;
	return value == NULL ? 0 : complain_at(where, "private", "takes no value; its opposite is allow_other");
}

/* config_find() has read the file before all other options. */
static int set_config(struct options *options, const char *where, const char *value)
{
	(void)options, (void)value;
	return where == NULL ? 0 : complain_at(where, "config", "a configuration file cannot name another one");
}

static int refuse_auto_unmount(struct options *options, const char *where, const char *value)
{
	(void)options, (void)value;
	return complain_at(where, "auto_unmount",
			   "would show an empty directory, where locks could seem free, after a crash");
}

/* mount.fuse3(8) adds these for root; they mean nothing here. */
static int leave_out(struct options *options, const char *where, const char *value)
{
	(void)options, (void)value;
	return where == NULL ? 0 : complain_at(where, "dev, suid", "the tree is always mounted nodev and nosuid");
}

/* Made absolute: the daemon leaves the directory it was started in. */
static int set_policy(struct options *options, const char *where, const char *value)
{
	char path[PATH_MAX];
	struct atlock_why why;

	if (value != NULL && value[0] != '\0' && value[0] != '/') {
		if (realpath(value, path) == NULL)
			return complain_at(where, value, strerror(errno));
		value = path;
	}
	return atlock_option_set(&options->core, "policy", value, &why) == 0 ? 0
									     : complain_at(where, "policy", why.text);
}

/* The options of the mount itself. The lock manager has its own table. */
static const struct {
	const char *name;
	int (*set)(struct options *options, const char *where, const char *value);
} own_options[] = {
	{ "allow_other", set_allow_other },
	{ "auto_unmount", refuse_auto_unmount },
	{ "config", set_config },
	{ "dev", leave_out },
	{ "max_threads", set_threads },
	{ "policy", set_policy },
	{ "private", set_private },
	{ "run_as", set_run_as },
	{ "store", set_store },
	{ "suid", leave_out },
};

/* 0, -1 after complaining, or 1 if neither the mount nor the lock manager has this option. */
static int set_known(struct options *options, const char *where, const char *name, const char *value)
{
	struct atlock_why why;

	for (size_t i = 0; i < sizeof(own_options) / sizeof(own_options[0]); i++)
		if (strcmp(own_options[i].name, name) == 0)
			return own_options[i].set(options, where, value);
	if (!is_core_option(name))
		return 1;
	return atlock_option_set(&options->core, name, value, &why) == 0 ? 0 : complain_at(where, name, why.text);
}

/* Handles one comma-separated word after -o: an option of the mount, of the lock manager, or of libfuse. */
static int set_option(struct options *options, char *word)
{
	char *value = strchr(word, '=');
	int err;

	if (value != NULL)
		*value++ = '\0';
	err = set_known(options, NULL, word, value);
	if (err <= 0)
		return err;
	if (value != NULL)
		value[-1] = '=';
	if (fuse_opt_add_arg(&options->fuse, "-o") != 0 || fuse_opt_add_arg(&options->fuse, word) != 0)
		return complain(word, strerror(ENOMEM));
	return 0;
}

/* A line of the configuration file. It takes no libfuse options: libfuse could not say which line was wrong. */
static int set_line(void *arg, const char *where, char *name, char *value)
{
	struct options *options = arg;
	struct atlock_why why = { .text = "" };
	int err = set_known(options, where, name, value);

	if (err <= 0)
		return err;
	(void)atlock_option_set(&options->core, name, value, &why);
	return complain(where, why.text);
}

static int set_options(struct options *options, char *list)
{
	char *word;

	while ((word = strsep(&list, ",")) != NULL)
		if (*word != '\0' && set_option(options, word) < 0)
			return -1;
	return 0;
}

static int default_store(struct options *options)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char path[PATH_MAX];

	if (geteuid() == 0)
		return set_store(options, NULL, "/var/lib/atlockfs");
	if (state != NULL && state[0] == '/')
		snprintf(path, sizeof(path), "%s/atlockfs", state);
	else if (home != NULL && home[0] == '/')
		snprintf(path, sizeof(path), "%s/.local/state/atlockfs", home);
	else
		return complain("--store", "give one: there is no home directory to put it in");
	return set_store(options, NULL, path);
}

/* The file system's name in the mount table, and its source: mount -a compares that with fstab. */
static int set_source(struct options *options, const char *source)
{
	char *list = NULL;
	char name[PATH_MAX + 8];
	int err;

	snprintf(name, sizeof(name), "fsname=%s", source == NULL ? "atlockfs" : source);
	err = fuse_opt_add_opt(&list, options->allow_other ? "subtype=atlockfs,allow_other" : "subtype=atlockfs");
	if (err == 0)
		err = fuse_opt_add_opt_escaped(&list, name);
	if (err == 0)
		err = fuse_opt_insert_arg(&options->fuse, 1, "-o");
	if (err == 0)
		err = fuse_opt_insert_arg(&options->fuse, 2, list);
	free(list);
	return err == 0 ? 0 : complain("options", strerror(ENOMEM));
}

/* permit.c checks permissions, so no mount needs an option for that. */
static int finish(struct options *options, const char *source)
{
	if (options->store[0] == '\0' && default_store(options) < 0)
		return -1;
	if (options->run_as[0] != '\0' && !options->allow_other)
		return complain("run_as", "with private only that user could use the mount: leave one of them out");
	/* Only shown to users. A name that does not fit is not shown. */
	if (strlcpy(options->core.store, options->store, sizeof(options->core.store)) >= sizeof(options->core.store))
		options->core.store[0] = '\0';
	if (options->debug && fuse_opt_add_arg(&options->fuse, "-d") != 0)
		return complain("options", strerror(ENOMEM));
	return set_source(options, source);
}

static const struct option longs[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ "store", required_argument, NULL, 's' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* The value of config= among the words after -o, malloc'ed, or NULL. */
static char *config_word(const char *list)
{
	static const char name[] = "config=";
	const char *word = list;

	while (word != NULL && strncmp(word, name, sizeof(name) - 1) != 0) {
		word = strchr(word, ',');
		word = word == NULL ? NULL : word + 1;
	}
	return word == NULL ? NULL : strndup(word + sizeof(name) - 1, strcspn(word + sizeof(name) - 1, ","));
}

/*
 * A first pass over the command line: finds the configuration file, which is read before the rest so that the rest wins
 * (malloc'ed, or NULL), and --help and --version. 0, or 1 if answered.
 */
static int config_find(int argc, char **argv, char **found)
{
	int c;

	*found = NULL;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "fdhVo:", longs, NULL)) != -1) {
		char *path = c == 'c' ? strdup(optarg) : c == 'o' ? config_word(optarg) : NULL;

		if (c == 'h')
			print_help();
		if (c == 'V')
			printf("atlockfs %s, libfuse %s\n", ATLOCK_VERSION, fuse_pkgversion());
		if (c == 'h' || c == 'V')
			return 1;
		if (path != NULL) {
			free(*found);
			*found = path;
		}
	}
	opterr = 1;
	optind = 0; /* from the start again */
	return 0;
}

static int config_read(struct options *options, int argc, char **argv)
{
	char *path;
	int err = config_find(argc, argv, &path);

	if (err == 0 && path != NULL) {
		err = conf_read(path, set_line, options);
		err = err > 0 ? complain(path, strerror(ENOENT)) : err;
	} else if (err == 0 && geteuid() == 0) {
		err = conf_read(CONFIG_DEFAULT, set_line, options);
		err = err > 0 ? 0 : err;
	}
	free(path);
	return err;
}

/* As mount.fuse3(8) calls: what to mount, then where. "none" leaves the store to the configuration. */
static int set_places(struct options *options, int count, char **places)
{
	const char *source = count == 2 ? places[0] : NULL;

	if (count < 1 || count > 2)
		return complain("usage", count < 1 ? "where shall it be mounted? Try 'atlockfs --help'"
						   : "a store and a mount point. Try 'atlockfs --help'");
	options->mountpoint = places[count - 1];
	if (source == NULL || strcmp(source, "none") == 0 || strcmp(source, "atlockfs") == 0)
		return finish(options, source);
	if (options->store_given)
		return complain(source, "the store is given twice, also with --store or -o store=");
	return set_store(options, NULL, source) == 0 ? finish(options, source) : -1;
}

static int options_read(struct options *options, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "fdhVo:", longs, NULL)) != -1) {
		int err = 0;

		switch (c) {
		case 'c': break;
		case 'd':
			options->debug = true;
			/* fall through */
		case 'f': options->foreground = true; break;
		case 'o': err = set_options(options, optarg); break;
		case 's': err = set_store(options, NULL, optarg); break;
		default:
			if (optopt == 0)
				suggest_long(longs, argv[optind - 1]);
			fputs("try 'atlockfs --help'\n", stderr);
			return -1;
		}
		if (err < 0)
			return -1;
	}
	return 0;
}

int options_parse(struct options *options, int argc, char **argv)
{
	char configured[sizeof(options->store)];
	int err;

	*options = (struct options){ .max_threads = THREADS_DEFAULT, .allow_other = geteuid() == 0 };
	atlock_options_init(&options->core);
	if (fuse_opt_add_arg(&options->fuse, "atlockfs") != 0)
		return complain("options", strerror(ENOMEM));
	err = config_read(options, argc, argv);
	strlcpy(configured, options->store, sizeof(configured));
	options->store[0] = '\0';
	if (err == 0)
		err = options_read(options, argc, argv);
	if (err != 0)
		return err;
	options->store_given = options->store[0] != '\0';
	if (!options->store_given)
		strlcpy(options->store, configured, sizeof(options->store));
	return set_places(options, argc - optind, argv + optind);
}

void options_clear(struct options *options)
{
	fuse_opt_free_args(&options->fuse);
}
