#include "notify.h"

#include <bsd/stdlib.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct notify_watchdog {
	struct fs *fs;
	pthread_t thread;
	int stop; /* an eventfd */
	int interval_ms;
};

void notify_send(const char *text)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = path == NULL ? 0 : strlen(path);
	int fd;

	if (len < 2 || len >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0'; /* the abstract namespace */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&to,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

static long long variable_number(const char *name)
{
	const char *text = getenv(name);
	const char *wrong = NULL;
	long long number = strtonum(text == NULL ? "" : text, 1, LLONG_MAX, &wrong);

	return wrong == NULL ? number : 0;
}

/* The service manager means the process that it started, which with run_as= is our parent. */
static bool watchdog_is_ours(void)
{
	long long pid = variable_number("WATCHDOG_PID");

	return pid == 0 || pid == getpid() || pid == getppid();
}

static bool is_failing(struct atlock *al)
{
	static const char failing[] = "failing";
	size_t len = 0;
	char *text = atlock_health_text(al, true, &len);
	bool bad = text == NULL || strncmp(text, failing, sizeof(failing) - 1) == 0;

	free(text);
	return bad;
}

static void *watchdog_run(void *arg)
{
	struct notify_watchdog *watchdog = arg;
	struct pollfd stop = { .fd = watchdog->stop, .events = POLLIN };

	do {
		if (!is_failing(watchdog->fs->al))
			notify_send("WATCHDOG=1");
	} while (poll(&stop, 1, watchdog->interval_ms) <= 0);
	return NULL;
}

struct notify_watchdog *notify_watchdog_start(struct fs *fs)
{
	long long every = variable_number("WATCHDOG_USEC") / 1000 / 2;
	struct notify_watchdog *watchdog;

	if (every <= 0 || !watchdog_is_ours() || getenv("NOTIFY_SOCKET") == NULL)
		return NULL;
	watchdog = calloc(1, sizeof(*watchdog));
	if (watchdog == NULL)
		return NULL;
	watchdog->fs = fs;
	watchdog->interval_ms = every > INT_MAX ? INT_MAX : (int)every;
	watchdog->stop = eventfd(0, EFD_CLOEXEC);
	if (watchdog->stop >= 0 && pthread_create(&watchdog->thread, NULL, watchdog_run, watchdog) == 0)
		return watchdog;
	if (watchdog->stop >= 0)
		close(watchdog->stop);
	free(watchdog);
	return NULL;
}

void notify_watchdog_stop(struct notify_watchdog *watchdog)
{
	if (watchdog == NULL)
		return;
	eventfd_write(watchdog->stop, 1);
	pthread_join(watchdog->thread, NULL);
	close(watchdog->stop);
	free(watchdog);
}
