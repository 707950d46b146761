/*
 * Start and end of a mount.
 *
 * The store must not be opened before the last fork, so the daemon forks first and opens and mounts in the child. The
 * parent reports the result: success means that the kernel has sent its first request to the daemon.
 */
#include <atlock/program.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "attr.h"
#include "cache.h"
#include "complain.h"
#include "daemon.h"
#include "dir_access_cache.h"
#include "ending.h"
#include "handle.h"
#include "inode.h"
#include "loop.h"
#include "lost.h"
#include "mount_options.h"
#include "mountpoint.h"
#include "notifier.h"
#include "notify.h"
#include "ops.h"
#include "pages.h"
#include "parked.h"
#include "rights.h"
#include "rows.h"
#include "stop.h"
#include "texts.h"
#include "unmount.h"
#include "why_lines.h"

/* Makes the directory of a local store, and its parents. */
static int store_make(const char *store)
{
	char path[ATLOCK_PATH_MAX];
	char *slash;

	if (store[0] != '/')
		return 0;
	snprintf(path, sizeof(path), "%s", store);
	for (slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return complain(path, strerror(errno));
		*slash = '/';
	}
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return complain(path, strerror(errno));
	return 0;
}

/* Wakes the process that started the daemon: from now on calls on the mount point are answered. */
static void fs_ready(struct fs *fs)
{
	notify_send("READY=1");
	if (fs->ready_fd < 0)
		return;
	if (write(fs->ready_fd, "", 1) != 1)
		fuse_log(FUSE_LOG_ERR, "atlockfs: cannot tell that the mount is ready\n");
	close(fs->ready_fd);
	fs->ready_fd = -1;
}

static int fs_init(struct fs *fs, int ready_fd)
{
	*fs = (struct fs){
		.uid = getuid(),
		.gid = getgid(),
		.wire = &loop_wire,
		.ready = fs_ready,
		.ready_fd = ready_fd,
	};
	clock_gettime(CLOCK_REALTIME, &fs->started);
	attr_touch(fs);
	if (getrandom(&fs->nonce, sizeof(fs->nonce), 0) != sizeof(fs->nonce))
		return complain("random numbers", strerror(errno));
	fs->calls = calls_new();
	fs->inodes = inodes_new(&kind_root);
	fs->handles = handles_new();
	fs->pages = pages_new();
	fs->texts = texts_new();
	fs->parks = parks_new();
	fs->whys = whys_new();
	fs->cache = cache_new(fs, &kind_lock);
	fs->endings = endings_new();
	fs->dir_access = dir_access_cache_new();
	if (fs->calls == NULL || fs->inodes == NULL || fs->handles == NULL || fs->pages == NULL || fs->texts == NULL ||
	    fs->parks == NULL || fs->whys == NULL || fs->cache == NULL || fs->endings == NULL || fs->dir_access == NULL)
		return complain("start", strerror(ENOMEM));
	return 0;
}

static void fs_clear(struct fs *fs)
{
	cache_free(fs->cache);
	handles_free(fs->handles);
	texts_free(fs->texts);
	inodes_free(fs->inodes);
	pages_free(fs->pages);
	parks_free(fs->parks);
	whys_free(fs->whys);
	endings_free(fs->endings);
	dir_access_cache_free(fs->dir_access);
	calls_free(fs->calls);
}

/*
 * Everything between mounting and unmounting. Waiters are answered while the connection still exists. -ECONNABORTED if
 * it was cut.
 */
static int session_run(struct fs *fs, const struct options *options, const struct mountpoint *mp)
{
	struct notify_watchdog *watchdog;
	struct unmount_watch *watch;
	struct stop *stop;
	bool stopped;
	int err;

	notifier_attach(fs);
	err = cache_start(fs->cache);
	if (err < 0)
		return complain("start", strerror(-err));
	stop = stop_start(fs);
	if (stop == NULL)
		return complain("start", strerror(EAGAIN));
	watch = unmount_watch_start(fs, mp->path);
	if (geteuid() != 0 && options->run_as[0] == '\0')
		mountpoint_protect(mp);
	if (!options->foreground)
		daemon_detach(options->core.log == ATLOCK_LOG_STDERR);
	watchdog = notify_watchdog_start(fs);
	atlock_log(ATLOCK_LOG_INFO, "%s: mounted, version %s, store %s", mp->path, ATLOCK_VERSION, options->store);
	if (atlock_is_shared(fs->al))
		atlock_log(ATLOCK_LOG_WARNING,
			   "%s: sharing a store among hosts is not finished: see \"Known gaps\" in docs/HOSTS.md",
			   mp->path);
	err = loop_run(fs, options->max_threads, ops_seen);
	atlock_log(ATLOCK_LOG_INFO, "%s: unmounting", mp->path);
	notify_send("STOPPING=1");
	notify_watchdog_stop(watchdog);
	stopped = stop_end(stop);
	/* The kernel also returns "aborted" for a request that it was handing out when it was unmounted. */
	if (err == 0 || err == -ECONNABORTED)
		err = !stopped && unmount_remains(mp->path) ? -ECONNABORTED : 0;
	cache_stop(fs->cache);
	unmount_watch_stop(watch);
	parks_close(fs);
	notifier_stop(fs);
	atlock_close(fs->al);
	fs->al = NULL;
	return err;
}

/* The daemon's other process is forked before the store is opened, as the daemon is. */
static int locks_open(struct fs *fs, const struct options *options)
{
	struct atlock_setup setup = {
		.options = &options->core, .on_change = cache_change, .on_cut = lost_tell, .change_arg = fs
	};
	struct atlock_why why = { .text = "" };
	int err;

	notifier_start(fs, options->foreground);
	err = atlock_open(&fs->al, options->store, &setup, &why);

	if (err < 0)
		complain(options->store, why.text[0] == '\0' ? strerror(-err) : why.text);
	/* Options that do not fit each other, or a store that cannot be one. */
	return err == -EINVAL ? -EX_USAGE : err < 0 ? -1 : 0;
}

static int session_mount(struct fs *fs, struct options *options, const struct mountpoint *mp)
{
	fs->session = fuse_session_new(&options->fuse, &ops, sizeof(ops), fs);
	if (fs->session == NULL) {
		complain("options", "not all of them are known; try 'atlockfs --help'");
		return -EX_USAGE;
	}
	if (geteuid() == 0)
		mountpoint_protect(mp);
	if (fuse_session_mount(fs->session, mp->path) == 0)
		return 0;
	mountpoint_restore(mp);
	return -1;
}

/* One process opens the store, mounts and serves. */
static int serve_alone(struct fs *fs, struct options *options, const struct mountpoint *mp)
{
	int err = locks_open(fs, options);

	if (err == 0)
		err = session_mount(fs, options, mp);
	if (err < 0)
		return err;
	err = session_run(fs, options, mp);
	fuse_session_unmount(fs->session); /* leaves a mount whose connection was cut */
	if (err != -ECONNABORTED)
		mountpoint_restore(mp);
	return err;
}

/* Root mounts; a process of another user opens the store and serves. */
static int serve_split(struct fs *fs, struct options *options, const struct mountpoint *mp)
{
	int status;
	int err = rights_give_store(options);

	if (err == 0)
		err = session_mount(fs, options, mp);
	if (err < 0)
		return err;
	status = rights_split(options, fs, mp);
	if (status >= 0)
		return status == UNMOUNT_CUT ? -ECONNABORTED : -status;
	err = locks_open(fs, options);
	return err < 0 ? err : session_run(fs, options, mp);
}

/*
 * Threads take turns, and one frees what another allocated: with an arena per thread, each would keep a part of all
 * memory.
 */
static void memory_share(void)
{
	mallopt(M_ARENA_MAX, 2);
}

/* Runs the mount to its end; the exit status is 0 only if that end was asked for. */
static int serve(struct options *options, const struct mountpoint *mp, int ready_fd)
{
	struct fs fs;
	int err = fs_init(&fs, ready_fd);

	fs.mountpoint = mp->path;
	stop_block_signals();
	daemon_raise_files();
	memory_share();
	if (err == 0)
		err = store_make(options->store);
	if (err == 0)
		err = options->run_as[0] != '\0' ? serve_split(&fs, options, mp) : serve_alone(&fs, options, mp);
	notifier_stop(&fs);
	if (fs.session != NULL)
		fuse_session_destroy(fs.session);
	atlock_close(fs.al);
	fs_clear(&fs);
	if (err == -ECONNABORTED)
		return UNMOUNT_CUT;
	return err == -EX_USAGE ? EX_USAGE : err < 0 ? 1 : 0;
}

static void log_start(const struct options *options)
{
	enum atlock_log_target target = (enum atlock_log_target)options->core.log;

	if (target == ATLOCK_LOG_AUTO)
		target = options->foreground ? ATLOCK_LOG_STDERR : ATLOCK_LOG_SYSLOG;
	atlock_log_open(target, (enum atlock_log_level)options->core.log_level);
}

int main(int argc, char **argv)
{
	struct options options;
	struct mountpoint mp;
	int ready_fd = -1;
	int status = 0;
	int parsed;
	int err = atlock_standard_open();

	/* Until the options say otherwise. */
	atlock_log_open(ATLOCK_LOG_STDERR, ATLOCK_LOG_INFO);
	if (err < 0)
		return -complain("start", strerror(-err));
	parsed = options_parse(&options, argc, argv);
	err = parsed > 0 ? atlock_standard_flush() : 0;
	if (err < 0)
		complain("standard output", strerror(-err));
	if (parsed < 0)
		status = EX_USAGE;
	else if (err < 0)
		status = 1;
	else if (parsed == 0)
		log_start(&options);

	if (parsed == 0 && mountpoint_open(&mp, options.mountpoint) < 0)
		status = 1;
	else if (parsed == 0) {
		status = options.foreground ? -1 : daemon_fork(&ready_fd);
		if (status == -1)
			status = serve(&options, &mp, ready_fd);
		mountpoint_close(&mp);
	}
	options_clear(&options);
	return status;
}
