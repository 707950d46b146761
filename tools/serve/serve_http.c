#include "serve_http.h"

#include <bsd/string.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atlock/program.h>

#include "moment.h"
#include "serve_routes.h"
#include "serve_stream.h"

#define PATIENCE (2 * ATLOCK_SECOND) /* for a reading */
#define RELEASE_PATIENCE (12 * ATLOCK_SECOND)
#define SLOW (15 * ATLOCK_SECOND) /* a request and its reply */
#define SLOW_CROWDED (2 * ATLOCK_SECOND)
#define CROWDED 200
#define TICK 200 /* milliseconds */
#define MEMORY (32 * 1024)

void serve_wake(struct serve *serve)
{
	(void)eventfd_write(serve->wake, 1);
}

const char *serve_query(const struct serve_request *request, const char *name)
{
	const char *value = MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);

	return value == NULL ? "" : value;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Copies a value of a form up to its end, with "+" and %XX resolved. False if it is malformed, has a NUL or does not fit. */
static bool form_decode(const char *value, char *out, size_t len)
{
	size_t n = 0;

	for (; *value != '\0' && *value != '&'; value++) {
		char c = *value;

		if (c == '+')
			c = ' ';
		if (*value == '%') {
			int high = hex_digit(value[1]);
			int low = high < 0 ? -1 : hex_digit(value[2]);

			if (low < 0 || (high == 0 && low == 0))
				return false;
			c = (char)(16 * high + low);
			value += 2;
		}
		if (n + 1 >= len)
			return false;
		out[n++] = c;
	}
	out[n] = '\0';
	return true;
}

bool serve_form(const struct serve_request *request, const char *name, char *out, size_t len)
{
	size_t name_len = strlen(name);
	const char *at = request->form;

	out[0] = '\0';
	while (*at != '\0') {
		if (strncmp(at, name, name_len) == 0 && at[name_len] == '=')
			return form_decode(at + name_len + 1, out, len);
		at += strcspn(at, "&");
		at += *at == '&';
	}
	return false;
}

/* --- Waiting --- */

/* Call it with the mutex held. */
static void request_suspend(struct serve_request *request, uint64_t target)
{
	request->target = target;
	request->since = moment_steady();
	request->suspended = true;
	LIST_INSERT_HEAD(&request->serve->waiting, request, waiting);
	MHD_suspend_connection(request->connection);
}

/* Call it with the mutex held. */
static void request_resume(struct serve_request *request)
{
	LIST_REMOVE(request, waiting);
	request->suspended = false;
	MHD_resume_connection(request->connection);
}

/* Whether the request can be answered now; else it was suspended. */
static bool snapshot_ready(struct serve_request *request)
{
	struct serve *serve = request->serve;
	bool fresh;
	uint64_t done = serve_reader_done(serve->reader, &fresh);

	/* A reading that was under way already may not be enough. */
	if (request->asked < 2 && !fresh) {
		request->asked++;
		serve_reader_ask(serve->reader, false);
		pthread_mutex_lock(&serve->mutex);
		request_suspend(request, done + 1);
		pthread_mutex_unlock(&serve->mutex);
		serve_wake(serve);
		return false;
	}
	request->snapshot = serve_reader_take(serve->reader);
	return true;
}

void serve_http_wait(struct serve_request *request, int64_t number)
{
	struct serve *serve = request->serve;

	pthread_mutex_lock(&serve->mutex);
	request->releasing = number;
	request->released = -ETIMEDOUT;
	request_suspend(request, UINT64_MAX);
	pthread_mutex_unlock(&serve->mutex);
	serve_wake(serve);
}

void serve_http_released(struct serve *serve, int64_t number, int outcome)
{
	struct serve_request *request;

	serve_reader_changed(serve->reader);
	pthread_mutex_lock(&serve->mutex);
	LIST_FOREACH(request, &serve->waiting, waiting) {
		if (request->releasing == number && request->target == UINT64_MAX) {
			request->released = outcome;
			request_resume(request);
			break;
		}
	}
	pthread_mutex_unlock(&serve->mutex);
}

/* --- Replies --- */

static const char page_policy[] =
	"default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

static void headers_add(struct MHD_Response *response, const struct serve_reply *reply)
{
	const struct {
		const char *name;
		const char *value;
	} headers[] = {
		{ "Content-Type", reply->type },
		{ "Content-Security-Policy", reply->policy != NULL ? reply->policy : page_policy },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cache-Control", "no-store" },
		{ "Location", reply->location },
		{ "Atlock-Next", reply->next },
		{ "Allow", reply->status == MHD_HTTP_METHOD_NOT_ALLOWED ? "GET, HEAD" : NULL },
		{ "Retry-After", reply->status == MHD_HTTP_TOO_MANY_REQUESTS ? "1" : NULL },
	};

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		if (headers[i].value != NULL)
			(void)MHD_add_response_header(response, headers[i].name, headers[i].value);
}

static enum MHD_Result reply_send(struct serve_request *request, struct serve_reply *reply, char *text, size_t len)
{
	enum MHD_Result result;

	if (reply->response == NULL) {
		reply->response = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
		if (reply->response == NULL)
			free(text);
	} else {
		free(text);
	}
	if (reply->response == NULL)
		return MHD_NO;
	headers_add(reply->response, reply);
	free(reply->next);
	result = MHD_queue_response(request->connection, reply->status, reply->response);
	MHD_destroy_response(reply->response);
	/* A reply that needs it while it is sent has a reference of its own; a stream would keep it for hours. */
	serve_snapshot_put(request->snapshot);
	request->snapshot = NULL;
	return result;
}

/* A page on another site must not read this one through a name of its own that leads to loopback (DNS rebinding). */
static bool host_allowed(const struct serve_request *request)
{
	static const char *const loopback[] = { "localhost", "127.0.0.1", "[::1]" };
	const struct serve_setup *setup = &request->serve->setup;
	const char *host = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Host");
	size_t len;

	if (setup->local || setup->remote)
		return true;
	if (host == NULL)
		return false;
	len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++)
		if (strlen(loopback[i]) == len && strncasecmp(host, loopback[i], len) == 0)
			return true;
	for (size_t i = 0; i < setup->host_count; i++)
		if (strlen(setup->hosts[i]) == len && strncasecmp(host, setup->hosts[i], len) == 0)
			return true;
	return false;
}

static enum MHD_Result request_answer(struct serve_request *request, const char *method)
{
	struct serve_reply reply = { .status = MHD_HTTP_OK, .type = "text/plain; charset=utf-8" };
	char *text = NULL;
	size_t len = 0;

	reply.out = open_memstream(&text, &len);
	if (reply.out == NULL)
		return MHD_NO;
	if (!host_allowed(request)) {
		reply.status = MHD_HTTP_FORBIDDEN;
		fputs("This name is not one of this host. Start atlock serve with --host NAME to allow it.\n",
		      reply.out);
	} else if (!serve_route(request, method, &reply)) {
		fclose(reply.out);
		free(text);
		return MHD_YES;
	}
	if (fclose(reply.out) != 0) {
		free(text);
		return MHD_NO;
	}
	return reply_send(request, &reply, text, len);
}

/* --- libmicrohttpd's calls --- */

static enum MHD_Result request_take(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
				    const char *version, const char *upload, size_t *upload_len, void **context)
{
	struct serve_request *request = *context;

	(void)version;
	if (request == NULL) {
		const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection,
									       MHD_CONNECTION_INFO_SOCKET_CONTEXT);

		request = calloc(1, sizeof(*request));
		if (request == NULL)
			return MHD_NO;
		request->serve = arg;
		request->connection = connection;
		request->peer = info->socket_context;
		*context = request;
		return MHD_YES;
	}
	request->url = url;
	if (*upload_len > 0) {
		size_t room = SERVE_FORM_MAX - request->form_len;
		size_t n = *upload_len < room ? *upload_len : room;

		memcpy(request->form + request->form_len, upload, n);
		request->form_len += n;
		request->form_cut = request->form_cut || n < *upload_len;
		*upload_len = 0;
		return MHD_YES;
	}
	if (request->snapshot == NULL && !snapshot_ready(request))
		return MHD_YES;
	return request_answer(request, method);
}

static void request_end(void *arg, struct MHD_Connection *connection, void **context,
			enum MHD_RequestTerminationCode code)
{
	struct serve_request *request = *context;
	struct serve *serve = arg;

	(void)connection, (void)code;
	if (request == NULL)
		return;
	pthread_mutex_lock(&serve->mutex);
	if (request->suspended)
		LIST_REMOVE(request, waiting);
	if (request->peer != NULL)
		request->peer->since = moment_steady();
	pthread_mutex_unlock(&serve->mutex);
	if (request->snapshot != NULL)
		serve_snapshot_put(request->snapshot);
	free(request);
	*context = NULL;
}

static uid_t peer_uid(int fd)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(peer);
	struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
	socklen_t address_len = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &address_len) != 0 || address.ss_family != AF_UNIX)
		return (uid_t)-1;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.uid : (uid_t)-1;
}

static void peer_change(void *arg, struct MHD_Connection *connection, void **context,
			enum MHD_ConnectionNotificationCode code)
{
	struct serve *serve = arg;
	struct serve_peer *peer = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		peer = calloc(1, sizeof(*peer));
		*context = peer;
		if (peer == NULL)
			return;
		peer->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		peer->since = moment_steady();
		peer->uid = peer_uid(peer->fd);
		pthread_mutex_lock(&serve->mutex);
		LIST_INSERT_HEAD(&serve->peers, peer, all);
		serve->peer_count++;
		pthread_mutex_unlock(&serve->mutex);
		serve_wake(serve);
	} else if (peer != NULL) {
		pthread_mutex_lock(&serve->mutex);
		LIST_REMOVE(peer, all);
		serve->peer_count--;
		pthread_mutex_unlock(&serve->mutex);
		free(peer);
		*context = NULL;
	}
}

static void __attribute__((format(printf, 2, 0))) library_log(void *arg, const char *format, va_list list)
{
	char line[256];

	(void)arg;
	(void)vsnprintf(line, sizeof(line), format, list);
	line[strcspn(line, "\n")] = '\0';
	atlock_log(ATLOCK_LOG_DEBUG, "%s", line);
}

int serve_http_start(struct serve *serve, int fd)
{
	const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;

	serve->daemon = MHD_start_daemon(flags, 0, NULL, NULL, request_take, serve, MHD_OPTION_EXTERNAL_LOGGER,
					 library_log, NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
					 (unsigned)(SERVE_STREAMS + SERVE_CONNECTIONS), MHD_OPTION_CONNECTION_TIMEOUT,
					 20U, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY,
					 MHD_OPTION_NOTIFY_COMPLETED, request_end, serve, MHD_OPTION_NOTIFY_CONNECTION,
					 peer_change, serve, MHD_OPTION_END);
	return serve->daemon == NULL ? -EIO : 0;
}

void serve_http_stop(struct serve *serve)
{
	struct serve_request *request;

	MHD_quiesce_daemon(serve->daemon);
	pthread_mutex_lock(&serve->mutex);
	while ((request = LIST_FIRST(&serve->waiting)) != NULL)
		request_resume(request);
	serve_streams_end(serve);
	pthread_mutex_unlock(&serve->mutex);
	MHD_stop_daemon(serve->daemon);
}

/* --- The main thread's part --- */

/* Resumes what waits for a reading that has ended, or has waited for too long. */
static void waiting_tend(struct serve *serve, int64_t now)
{
	struct serve_request *request;
	struct serve_request *next;
	bool fresh;
	uint64_t done = serve_reader_done(serve->reader, &fresh);

	for (request = LIST_FIRST(&serve->waiting); request != NULL; request = next) {
		int64_t patience = request->target == UINT64_MAX ? RELEASE_PATIENCE : PATIENCE;

		next = LIST_NEXT(request, waiting);
		if (done >= request->target || now - request->since > patience)
			request_resume(request);
	}
}

/* The peer's own thread notices that its socket was shut down and ends the connection. */
static void peers_tend(struct serve *serve, int64_t now)
{
	int64_t slow = serve->peer_count - serve->stream_count > CROWDED ? SLOW_CROWDED : SLOW;
	struct serve_peer *peer;

	LIST_FOREACH(peer, &serve->peers, all) {
		if (peer->streaming || peer->ended || now - peer->since <= slow)
			continue;
		peer->ended = true;
		(void)shutdown(peer->fd, SHUT_RDWR);
	}
}

int serve_http_tend(struct serve *serve)
{
	int64_t now = moment_steady();
	bool busy;
	bool streams;

	pthread_mutex_lock(&serve->mutex);
	waiting_tend(serve, now);
	peers_tend(serve, now);
	serve_streams_tend(serve, now);
	streams = serve->stream_count > 0;
	busy = serve->peer_count > 0;
	pthread_mutex_unlock(&serve->mutex);
	if (streams)
		serve_reader_ask(serve->reader, true);
	return busy ? TICK : -1;
}
