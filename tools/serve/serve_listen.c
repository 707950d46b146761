#include "serve_listen.h"

#include <arpa/inet.h>
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128
#define PASSED 3 /* the first descriptor that systemd passes */

/* Fills in what kind of socket it is, and how a browser names it. */
static int socket_describe(const struct tool *tool, struct serve_listen *listen)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un local;
		struct sockaddr_storage room;
	} address = { .room = { .ss_family = AF_UNSPEC } };
	socklen_t len = sizeof(address);
	char host[INET6_ADDRSTRLEN] = "";

	if (getsockname(listen->fd, &address.any, &len) != 0)
		return tool_fail(tool, EXIT_SYSTEM, "the socket cannot be used: %s", strerror(errno));
	listen->local = address.any.sa_family == AF_UNIX;
	if (listen->local) {
		listen->loopback = true;
		(void)snprintf(listen->shown, sizeof(listen->shown), "unix:%s", address.local.sun_path);
	} else if (address.any.sa_family == AF_INET) {
		listen->loopback = (ntohl(address.v4.sin_addr.s_addr) >> 24) == 127;
		(void)inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof(host));
		(void)snprintf(listen->shown, sizeof(listen->shown), "http://%s:%u/", host, ntohs(address.v4.sin_port));
	} else if (address.any.sa_family == AF_INET6) {
		listen->loopback = IN6_IS_ADDR_LOOPBACK(&address.v6.sin6_addr);
		(void)inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof(host));
		(void)snprintf(listen->shown, sizeof(listen->shown), "http://[%s]:%u/", host,
			       ntohs(address.v6.sin6_port));
	} else {
		return tool_fail(tool, EXIT_USAGE, "the socket is neither of TCP nor a UNIX socket");
	}
	return EXIT_DONE;
}

/* A socket in the file system that no process listens on any more is in the way, and goes. */
static int local_open(const struct tool *tool, const char *path, struct serve_listen *out)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat st;
	int probe;

	if (strlcpy(address.sun_path, path, sizeof(address.sun_path)) >= sizeof(address.sun_path))
		return tool_usage(tool, "the path of a socket has at most %zu bytes", sizeof(address.sun_path) - 1);
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) {
		probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (probe >= 0 && connect(probe, (struct sockaddr *)&address, sizeof(address)) != 0 &&
		    errno == ECONNREFUSED)
			(void)unlink(path);
		if (probe >= 0)
			close(probe);
	}
	out->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (out->fd < 0 || bind(out->fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(out->fd, BACKLOG) != 0)
		return tool_fail(tool, EXIT_UNAVAILABLE, "unix:%s: %s", path, strerror(errno));
	out->path = path;
	return EXIT_DONE;
}

/* Parts "host:port". False if it is not of this form. */
static bool where_part(const char *where, char *host, size_t len, const char **port)
{
	const char *colon = strrchr(where, ':');
	const char *bad = NULL;
	bool bracket = where[0] == '[';

	if (colon == NULL || colon == where || (bracket && colon[-1] != ']'))
		return false;
	*port = colon + 1;
	(void)strtonum(*port, 0, 65535, &bad);
	return bad == NULL &&
	       (size_t)snprintf(host, len, "%.*s", (int)(colon - where) - 2 * bracket, where + bracket) < len;
}

static int port_open(const struct tool *tool, const char *where, struct serve_listen *out)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_PASSIVE };
	struct addrinfo *address = NULL;
	const char *port;
	char host[128];
	int on = 1;

	if (!where_part(where, host, sizeof(host), &port) || getaddrinfo(host, port, &hints, &address) != 0)
		return tool_usage(tool, "--listen takes ADDRESS:PORT or unix:PATH, not \"%s\"", where);
	out->fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (out->fd >= 0)
		(void)setsockopt(out->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (out->fd < 0 || bind(out->fd, address->ai_addr, address->ai_addrlen) != 0 || listen(out->fd, BACKLOG) != 0) {
		freeaddrinfo(address);
		return tool_fail(tool, EXIT_UNAVAILABLE, "%s: %s%s", where, strerror(errno),
				 errno == EADDRINUSE ? ": choose another port with --listen" : "");
	}
	freeaddrinfo(address);
	return EXIT_DONE;
}

/* The socket of a unit, which systemd has bound. */
static bool passed_take(struct serve_listen *out)
{
	const char *pid = getenv("LISTEN_PID");
	const char *count = getenv("LISTEN_FDS");

	if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != getpid() || strcmp(count, "1") != 0)
		return false;
	out->fd = PASSED;
	(void)fcntl(PASSED, F_SETFD, FD_CLOEXEC);
	(void)fcntl(PASSED, F_SETFL, O_NONBLOCK);
	return true;
}

int serve_listen_open(const struct tool *tool, const char *where, struct serve_listen *out)
{
	int code = EXIT_DONE;

	*out = (struct serve_listen){ .fd = -1 };
	if (where == NULL && passed_take(out))
		return socket_describe(tool, out);
	if (where == NULL)
		where = SERVE_LISTEN_DEFAULT;
	if (strncmp(where, "unix:", 5) == 0)
		code = local_open(tool, where + 5, out);
	else
		code = port_open(tool, where, out);
	return code == EXIT_DONE ? socket_describe(tool, out) : code;
}
