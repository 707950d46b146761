#include "peers.h"

#include <arpa/inet.h>
#include <bsd/string.h>
#include <err.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "goals.h"

#define PATIENCE 30 /* seconds until they must answer */
#define TRIES 10    /* of ports: another process may take a free one first */

static pid_t servers[2];

bool peers_there(void)
{
	char *argv[] = { "sh", "-c", "for p in redis-server redis-cli etcd etcdctl; do command -v $p || exit; done",
			 NULL };

	return program_run(argv, 1) == 0;
}

static struct sockaddr_in address_of(unsigned int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

/* A free port. */
static unsigned int port_free(void)
{
	struct sockaddr_in address = address_of(0);
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) != 0)
		err(1, "no free port");
	close(fd);
	return ntohs(address.sin_port);
}

/* Until `server` listens there. Returns whether it does: it ended if not. */
static bool port_wait(unsigned int port, pid_t server, const char *what)
{
	struct sockaddr_in address = address_of(port);
	double until = procs_clock() + PATIENCE;

	for (;;) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int rc = connect(fd, (struct sockaddr *)&address, sizeof(address));

		close(fd);
		if (waitpid(server, NULL, WNOHANG) != 0)
			return false;
		if (rc == 0)
			return true;
		if (procs_clock() > until)
			errx(1, "%s does not answer after %d s", what, PATIENCE);
		usleep(20000);
	}
}

static const char *dir_make(char out[PATH_MAX], const char *name)
{
	if (snprintf(out, PATH_MAX, "%s/%s", run.dir, name) >= PATH_MAX)
		errx(1, "%s: too long", run.dir);
	if (mkdir(out, 0700) != 0)
		err(1, "%s", out);
	return out;
}

static bool redis_start(char *dir, const char *log)
{
	char port[16];
	char *argv[] = { "redis-server", "--port", port,           "--bind", "127.0.0.1",     "--dir",  dir,
			 "--save",       "",       "--appendonly", "yes",    "--appendfsync", "always", NULL };

	run.redis_port = port_free();
	(void)snprintf(port, sizeof(port), "%u", run.redis_port);
	servers[0] = program_start(argv, log);
	return port_wait(run.redis_port, servers[0], "Redis");
}

static bool etcd_start(char *dir, const char *log)
{
	char clients[64];
	char members[64];
	char cluster[80];
	char *argv[] = { "etcd",  "--data-dir",
			 dir,     "--listen-client-urls",
			 clients, "--advertise-client-urls",
			 clients, "--listen-peer-urls",
			 members, "--initial-advertise-peer-urls",
			 members, "--initial-cluster",
			 cluster, NULL };

	run.etcd_port = port_free();
	(void)snprintf(clients, sizeof(clients), "http://127.0.0.1:%u", run.etcd_port);
	(void)snprintf(members, sizeof(members), "http://127.0.0.1:%u", port_free());
	(void)snprintf(cluster, sizeof(cluster), "default=%s", members);
	servers[1] = program_start(argv, log);
	return port_wait(run.etcd_port, servers[1], "etcd");
}

/* Each try has a directory of its own: etcd keeps its ports there. */
static void server_start(const char *what, bool (*start)(char *dir, const char *log))
{
	for (int i = 0; i < TRIES; i++) {
		char name[32];
		char dir[PATH_MAX];
		char log[PATH_MAX + 16];

		(void)snprintf(name, sizeof(name), "%s%d", what, i);
		(void)snprintf(log, sizeof(log), "%s/log", dir_make(dir, name));
		if (start(dir, log))
			return;
	}
	errx(1, "%s does not start", what);
}

void peers_start(void)
{
	server_start("redis", redis_start);
	server_start("etcd", etcd_start);
}

void peers_stop(void)
{
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
		if (servers[i] == 0)
			continue;
		kill(servers[i], SIGTERM);
		(void)waitpid(servers[i], NULL, 0);
		servers[i] = 0;
	}
}
