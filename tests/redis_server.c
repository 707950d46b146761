#include "redis_server.h"

#include "scratch.h"

#include <arpa/inet.h>
#include <bsd/string.h>
#include <err.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES 10      /* of ports: another process may take a free one first */
#define PATIENCE 1000 /* times 20 ms, until it answers */

static int port_free(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) != 0)
		err(1, "no free port");
	(void)close(fd);
	return ntohs(address.sin_port);
}

static pid_t server_exec(const struct redis_server *server)
{
	char port[16];
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid > 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(port, sizeof(port), "%d", server->uri.port);
	execlp("redis-server", "redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", server->dir, "--save",
	       "", "--appendonly", "yes", "--appendfsync", "always", "--requirepass", server->password, "--logfile",
	       "redis.log", (char *)NULL);
	_exit(127);
}

static redisContext *server_connect(const struct redis_server *server)
{
	redisContext *context = redisConnect(server->uri.host, server->uri.port);

	if (context != NULL && context->err == 0 && server->password[0] != '\0')
		freeReplyObject(redisCommand(context, "AUTH %s", server->password));
	return context;
}

static bool server_answers(const struct redis_server *server)
{
	redisContext *context = server_connect(server);
	bool answers = false;

	if (context != NULL && context->err == 0) {
		redisReply *reply = redisCommand(context, "PING");

		answers = reply != NULL && reply->type == REDIS_REPLY_STATUS;
		freeReplyObject(reply);
	}
	if (context != NULL)
		redisFree(context);
	return answers;
}

/* Until it answers; false if it has ended. */
static bool server_wait(const struct redis_server *server)
{
	for (int i = 0; i < PATIENCE; i++) {
		if (waitpid(server->pid, NULL, WNOHANG) != 0)
			return false;
		if (server_answers(server))
			return true;
		(void)usleep(20000);
	}
	errx(1, "redis-server does not answer");
}

void redis_server_start(struct redis_server *server, const char *password)
{
	memset(server, 0, sizeof(*server));
	server->dir = scratch_new();
	(void)strlcpy(server->password, password == NULL ? "" : password, sizeof(server->password));
	(void)strlcpy(server->uri.host, "127.0.0.1", sizeof(server->uri.host));
	(void)strlcpy(server->uri.password, server->password, sizeof(server->uri.password));
	for (int i = 0; i < TRIES; i++) {
		server->uri.port = port_free();
		server->pid = server_exec(server);
		if (server_wait(server))
			return;
	}
	errx(1, "redis-server cannot be started");
}

struct redis_address redis_server_address(const struct redis_server *server, const char *realm)
{
	struct redis_address address = { .node_count = 1, .nodes[0].port = server->uri.port, .history = 10000 };

	(void)strlcpy(address.nodes[0].host, server->uri.host, sizeof(address.nodes[0].host));
	(void)strlcpy(address.user, server->uri.user, sizeof(address.user));
	(void)strlcpy(address.password, server->uri.password, sizeof(address.password));
	(void)strlcpy(address.realm, realm, sizeof(address.realm));
	return address;
}

static void server_kill(const struct redis_server *server)
{
	(void)kill(server->pid, SIGKILL);
	(void)waitpid(server->pid, NULL, 0);
}

void redis_server_stop(struct redis_server *server)
{
	server_kill(server);
	scratch_remove(server->dir);
}

void redis_server_restart(struct redis_server *server)
{
	server_kill(server);
	server->pid = server_exec(server);
	if (!server_wait(server))
		errx(1, "redis-server does not start again");
}

void redis_server_tell(const struct redis_server *server, const char *command)
{
	redisContext *context = server_connect(server);
	redisReply *reply = context != NULL && context->err == 0 ? redisCommand(context, command) : NULL;

	if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
		errx(1, "%s: %s", command, reply == NULL ? "no answer" : reply->str);
	freeReplyObject(reply);
	redisFree(context);
}
