#include "redis_server.h"

#include "scratch.h"

#include <arpa/inet.h>
#include <bsd/string.h>
#include <err.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdarg.h>
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
	const char *argv[32] = {
		"redis-server", "--bind", "127.0.0.1",     "--dir",  server->dir,     "--save",         "",
		"--appendonly", "yes",    "--appendfsync", "always", "--requirepass", server->password, "--logfile",
		"redis.log",    "--port"
	};
	size_t count = 16;
	char port[16];
	char second[16];
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid > 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(port, sizeof(port), "%d", server->uri.port);
	(void)snprintf(second, sizeof(second), "%d", server->second_port);
	if (server->sentinel != NULL)
		execlp("redis-server", "redis-server", server->sentinel, "--sentinel", "--port", port, "--bind",
		       "127.0.0.1", "--dir", server->dir, "--logfile", "redis.log", (char *)NULL);
	argv[count++] = port;
	for (size_t i = 0; i < REDIS_WORDS && server->words[i] != NULL && count < 31; i++)
		argv[count++] = strcmp(server->words[i], "@port") == 0 ? second : server->words[i];
	execvp("redis-server", (char *const *)argv);
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
	redis_server_start_with(server, password, (const char *const[]){ NULL });
}

static void server_start(struct redis_server *server, const char *password)
{
	server->dir = scratch_new();
	(void)strlcpy(server->password, password == NULL ? "" : password, sizeof(server->password));
	(void)strlcpy(server->uri.host, "127.0.0.1", sizeof(server->uri.host));
	(void)strlcpy(server->uri.password, server->password, sizeof(server->uri.password));
	for (int i = 0; i < TRIES; i++) {
		server->uri.port = port_free();
		server->second_port = port_free();
		server->pid = server_exec(server);
		if (server_wait(server))
			return;
	}
	errx(1, "redis-server cannot be started");
}

void redis_server_start_with(struct redis_server *server, const char *password, const char *const *words)
{
	memset(server, 0, sizeof(*server));
	for (size_t i = 0; i + 1 < REDIS_WORDS && words[i] != NULL; i++)
		server->words[i] = words[i];
	server_start(server, password);
}

void redis_sentinel_start(struct redis_server *server, const char *conf)
{
	memset(server, 0, sizeof(*server));
	server->sentinel = conf;
	server_start(server, NULL);
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

void redis_server_kill(const struct redis_server *server)
{
	(void)kill(server->pid, SIGKILL);
	(void)waitpid(server->pid, NULL, 0);
}

void redis_server_stop(struct redis_server *server)
{
	redis_server_kill(server);
	scratch_remove(server->dir);
}

void redis_server_restart(struct redis_server *server)
{
	redis_server_kill(server);
	server->pid = server_exec(server);
	if (!server_wait(server))
		errx(1, "redis-server does not start again");
}

bool redis_server_ask(const struct redis_server *server, const char *command, char *out, size_t len)
{
	redisContext *context = server_connect(server);
	redisReply *reply = context != NULL && context->err == 0 ? redisCommand(context, command) : NULL;
	bool done = reply != NULL && reply->type != REDIS_REPLY_ERROR;

	(void)strlcpy(out, reply == NULL ? "no answer" : reply->str == NULL ? "" : reply->str, len);
	freeReplyObject(reply);
	if (context != NULL)
		redisFree(context);
	return done;
}

void redis_server_tell(const struct redis_server *server, const char *format, ...)
{
	char command[512];
	char answer[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	if (!redis_server_ask(server, command, answer, sizeof(answer)))
		errx(1, "%s: %s", command, answer);
}
