/* atlock serve: a page with the locks, their holders and waiters. */
#include <bsd/stdlib.h>
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "choice.h"
#include "mount.h"
#include "serve_command.h"
#include "serve_http.h"
#include "serve_listen.h"
#include "serve_release.h"
#include "term.h"

struct command_line {
	struct tool *tool;
	struct serve_setup *setup;
	const char *listen;
	const char *user;
	const char *proxy;
};

static int option_take(void *arg, int letter)
{
	struct command_line *line = arg;
	struct serve_setup *setup = line->setup;

	switch (letter) {
	case 'L': line->listen = optarg; return -1;
	case 'U': line->user = optarg; return -1;
	case 'P': line->proxy = optarg; return -1;
	case 'I': setup->header = optarg; return -1;
	case 'A': setup->remote = true; return -1;
	case 'O': setup->release = true; return -1;
	case 'H':
		if (setup->host_count == SERVE_HOSTS)
			return tool_usage(line->tool, "--host can be given %d times", SERVE_HOSTS);
		setup->hosts[setup->host_count++] = optarg;
		return -1;
	default: return CHOICE_UNKNOWN;
	}
}

/* --- Rights --- */

/* The user of this name, until the next call; NULL once it has said that there is none. */
static const struct passwd *user_find(const struct tool *tool, const char *name)
{
	const struct passwd *user = getpwnam(name);

	if (user == NULL)
		(void)tool_fail(tool, EXIT_USAGE, "there is no user %s", name);
	return user;
}

static int line_check(struct command_line *line, const struct serve_listen *listen)
{
	struct serve_setup *setup = line->setup;
	const struct passwd *proxy;

	if (!listen->loopback && !setup->remote)
		return tool_usage(line->tool,
				  "%s is reached from other hosts, without TLS and login: put a proxy in front, or say "
				  "--allow-remote",
				  listen->shown);
	if (setup->release && !listen->local)
		return tool_usage(line->tool,
				  "--allow-release needs --listen unix:PATH: only a UNIX socket tells who asks");
	if (line->proxy != NULL) {
		proxy = user_find(line->tool, line->proxy);
		if (proxy == NULL)
			return EXIT_USAGE;
		setup->proxy = proxy->pw_uid;
		if (listen->path != NULL && lchown(listen->path, proxy->pw_uid, (gid_t)-1) != 0)
			return tool_fail(line->tool, EXIT_PERMISSION, "the socket cannot be given to %s: %s",
					 line->proxy, strerror(errno));
	}
	if (geteuid() == 0 && line->user == NULL)
		return tool_usage(line->tool, "as root it needs --user NAME: the page shows what that user may read");
	return EXIT_DONE;
}

/* What is served must not be served as root, who may read everything. */
static int rights_drop(const struct command_line *line)
{
	const struct passwd *user;

	if (line->user == NULL)
		return EXIT_DONE;
	user = user_find(line->tool, line->user);
	if (user == NULL)
		return EXIT_USAGE;
	if (user->pw_uid == geteuid())
		return EXIT_DONE;
	if (initgroups(user->pw_name, user->pw_gid) != 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) != 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) != 0)
		return tool_fail(line->tool, EXIT_PERMISSION, "it cannot run as %s: %s", line->user, strerror(errno));
	return EXIT_DONE;
}

/* Each connection has a descriptor. */
static void descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* --- Serving --- */

static void reading_ended(void *arg)
{
	serve_wake(arg);
}

/* Until SIGINT or SIGTERM. */
static void serve_wait(struct serve *serve, int signals)
{
	struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
				{ .fd = serve->wake, .events = POLLIN },
				{ .fd = serve_release_fd(serve->releaser), .events = POLLIN } };
	eventfd_t count;

	while (fds[0].revents == 0) {
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), serve_http_tend(serve)) < 0 && errno != EINTR)
			break;
		if (fds[1].revents != 0)
			(void)eventfd_read(serve->wake, &count);
		if (fds[2].revents != 0 && !serve_release_answers(serve))
			fds[2].fd = -1;
	}
}

static int serve_run(const struct command_line *line, struct serve *serve, const struct mount *mount,
		     const struct serve_listen *listen)
{
	const struct tool *tool = line->tool;
	sigset_t stop;
	int signals;
	int err;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &stop, SFD_CLOEXEC);
	serve->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (signals < 0 || serve->wake < 0)
		return tool_fail(tool, EXIT_SYSTEM, "%s", strerror(errno));
	arc4random_buf(serve->secret, sizeof(serve->secret));
	pthread_mutex_init(&serve->mutex, NULL);
	err = serve_reader_start(&serve->reader, mount, reading_ended, serve);
	if (err < 0)
		return tool_fail(tool, EXIT_SYSTEM, "%s", strerror(-err));
	err = serve_http_start(serve, listen->fd);
	if (err < 0) {
		serve_reader_stop(serve->reader);
		return tool_fail(tool, EXIT_SYSTEM, "the server cannot be started");
	}
	printf("%s shows the locks of %s. End it with ^C.\n", listen->shown, term_text(mount->path));
	(void)fflush(stdout);
	serve_wait(serve, signals);
	serve_http_stop(serve);
	serve_reader_stop(serve->reader);
	return EXIT_DONE;
}

int cmd_serve(struct tool *tool, int argc, char **argv)
{
	struct serve serve = { .setup = { .header = "X-Remote-User", .proxy = (uid_t)-1 } };
	struct command_line line = { .tool = tool, .setup = &serve.setup };
	struct serve_listen listen;
	struct mount mount;
	int code = choice_words(tool, argc, argv, (struct choice_count){ .most = 0 }, option_take, &line);
	int err;

	if (code >= 0)
		return code;
	code = mount_open(tool, &mount);
	if (code != EXIT_DONE)
		return code;
	serve.setup.mount = mount.path;
	code = serve_listen_open(tool, line.listen, &listen);
	if (code == EXIT_DONE)
		code = line_check(&line, &listen);
	serve.setup.local = listen.local;
	if (code == EXIT_DONE && serve.setup.release && (err = serve_release_start(&serve.releaser, &mount)) < 0)
		code = tool_fail(tool, EXIT_SYSTEM, "%s", strerror(-err));
	if (code == EXIT_DONE) {
		descriptors_raise();
		code = rights_drop(&line);
	}
	if (code == EXIT_DONE)
		code = serve_run(&line, &serve, &mount, &listen);
	serve_release_stop(serve.releaser);
	mount_close(&mount);
	return code;
}
