/*
 * Clients of a mount: threads that take, wait for and queue for locks below custom/hosts, each under a name of its own, until they are told to
 * end, and write down when each was theirs.
 *
 *	client MOUNT NAME LOG CLIENTS
 *
 * The lines of the log are for tests/hosts/check. A call that fails says nothing about the lock: the client then removes its ticket and its lock,
 * for as long as that takes, before it goes on.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define LOCKS 3
#define CLIENTS_MAX 64
#define POLL 5000   /* us between looks at a ticket */
#define WAIT_MAX 90 /* s; a waiter that is not served by then is lost */
#define REQUEST "ttl=2m\ntimeout=80s\n"

static const char *mount;
static const char *name;
static int log_fd;
static atomic_bool stop;

struct client {
	pthread_t thread;
	int number;
	unsigned int random;
	char lock[8];   /* of this round */
	char held[128]; /* its paths, under the client's name */
	char wait[128];
	char queue[128];
	uint64_t ticket; /* 0: none, or not known */
};

static void told_to_stop(int sig)
{
	(void)sig;
	atomic_store(&stop, true);
}

static void note(const struct client *client, char what, uint64_t number, const char *rest)
{
	struct timespec ts;
	char line[160];

	clock_gettime(CLOCK_MONOTONIC, &ts);
	int len = snprintf(line, sizeof(line), "%c %" PRId64 " %s %d %s %" PRIu64 "%s\n", what,
			   (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec, name, client->number, client->lock, number,
			   rest);
	if (write(log_fd, line, (size_t)len) != len)
		err(1, "log");
}

/*
 * The mount's root. While nothing is mounted there is an empty directory in its place, which answers that no lock is held: that is never
 * taken for an answer. What is done below a root that was opened reaches that mount or fails.
 */
static int root_open(void)
{
	struct statfs fs;
	int fd;

	while ((fd = open(mount, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 || fstatfs(fd, &fs) != 0 ||
	       fs.f_type != FUSE_SUPER_MAGIC) {
		if (fd >= 0)
			(void)close(fd);
		(void)usleep(POLL);
	}
	return fd;
}

static int path_open(const char *path, int flags)
{
	int root = root_open();
	int fd = openat(root, path, flags | O_CLOEXEC, 0644);
	int error = errno;

	(void)close(root);
	errno = error;
	return fd;
}

/* 0 or an errno. */
static int path_remove(const char *path)
{
	int root = root_open();
	int error = unlinkat(root, path, 0) != 0 ? errno : 0;

	(void)close(root);
	return error;
}

static int path_look(const char *path)
{
	int root = root_open();
	int error = faccessat(root, path, F_OK, 0) != 0 ? errno : 0;

	(void)close(root);
	return error;
}

/* The number in a line "<key>=<number>" of a file: 0, or an errno; 0 in `*out` if there is no such line. */
static int number_read(const char *path, const char *key, uint64_t *out)
{
	char text[8192];
	size_t len = 0;
	ssize_t n = -1;
	int fd = path_open(path, O_RDONLY);

	while (fd >= 0 && len < sizeof(text) - 1 && (n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	int error = fd < 0 || n < 0 ? errno : 0;
	if (fd >= 0)
		(void)close(fd);
	text[len] = '\0';
	const char *found = error == 0 ? strstr(text, key) : NULL;
	*out = found == NULL ? 0 : strtoull(found + strlen(key), NULL, 10);
	return error;
}

/* Until the file is known not to be there. */
static void remove_surely(const char *path)
{
	int error;

	while ((error = path_remove(path)) != 0 && error != ENOENT)
		(void)usleep(POLL);
}

/* An empty file: 0 or an errno. */
static int file_make(const char *path)
{
	int fd = path_open(path, O_WRONLY | O_CREAT | O_EXCL);

	return fd < 0 || close(fd) != 0 ? errno : 0;
}

static int request_write(const char *path)
{
	int fd = path_open(path, O_WRONLY);
	int error = fd < 0 || write(fd, REQUEST, strlen(REQUEST)) < 0 ? errno : 0;

	if (fd >= 0 && close(fd) != 0 && error == 0)
		error = errno;
	return error;
}

/* The lock is the client's: it has been told so. It is not used before its token is known. */
static void use(struct client *client)
{
	uint64_t token = 0;
	char rest[64] = "";
	int error;

	while ((error = number_read(client->held, "token=", &token)) != 0 && error != ENOENT)
		(void)usleep(POLL);
	if (client->ticket != 0) {
		(void)snprintf(rest, sizeof(rest), " granted %" PRIu64, client->ticket);
		note(client, 'W', token, rest);
	}
	note(client, error == 0 ? 'G' : 'L', token, "");
	(void)usleep((useconds_t)rand_r(&client->random) % 4000);
	note(client, 'E', token, "");
}

static void take(struct client *client)
{
	if (file_make(client->held) == 0)
		use(client);
}

static void wait_for(struct client *client)
{
	if (request_write(client->wait) == 0)
		use(client);
}

/* Until the lock is held by the client's name: NULL, or why it is not. */
static const char *served(const struct client *client)
{
	time_t until = time(NULL) + WAIT_MAX;

	while (path_look(client->held) != 0) {
		if (atomic_load(&stop))
			return " ended";
		if (time(NULL) > until)
			return " lost";
		(void)usleep(POLL);
	}
	return NULL;
}

static void queue_for(struct client *client)
{
	uint64_t number = 0;

	if (file_make(client->queue) != 0)
		return;
	/* A lock that was free is held at once, and has no ticket. */
	if (number_read(client->queue, "ticket=", &number) == 0 && number != 0) {
		client->ticket = number;
		note(client, 'Q', number, " normal");
	}
	const char *why = served(client);
	if (why == NULL)
		use(client);
	else if (client->ticket != 0)
		note(client, 'W', 0, why);
}

static void round_play(struct client *client)
{
	static void (*const ways[])(struct client *) = { take, wait_for, queue_for };
	int lock = rand_r(&client->random) % LOCKS;

	(void)snprintf(client->lock, sizeof(client->lock), "l%d", lock);
	(void)snprintf(client->held, sizeof(client->held), "custom/hosts/l%d@%s-%d", lock, name, client->number);
	(void)snprintf(client->wait, sizeof(client->wait), "wait/custom/hosts/l%d@%s-%d", lock, name, client->number);
	(void)snprintf(client->queue, sizeof(client->queue), "queue/custom/hosts/l%d/normal@%s-%d", lock, name,
		       client->number);
	client->ticket = 0;
	ways[(unsigned int)rand_r(&client->random) % (sizeof(ways) / sizeof(ways[0]))](client);
	remove_surely(client->queue);
	remove_surely(client->held);
	(void)usleep((useconds_t)rand_r(&client->random) % 5000);
}

static void *client_run(void *arg)
{
	while (!atomic_load(&stop))
		round_play(arg);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct client clients[CLIENTS_MAX];

	if (argc != 5)
		errx(2, "usage: client MOUNT NAME LOG CLIENTS");
	mount = argv[1];
	name = argv[2];
	int count = (int)strtol(argv[4], NULL, 10);
	log_fd = open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (log_fd < 0 || count < 1 || count > CLIENTS_MAX)
		err(1, "%s", argv[3]);
	(void)signal(SIGTERM, told_to_stop);
	for (int i = 0; i < count; i++) {
		clients[i].number = i;
		clients[i].random = (unsigned int)(getpid() * CLIENTS_MAX + i);
		if (pthread_create(&clients[i].thread, NULL, client_run, &clients[i]) != 0)
			errx(1, "no thread");
	}
	for (int i = 0; i < count; i++)
		(void)pthread_join(clients[i].thread, NULL);
	return 0;
}
