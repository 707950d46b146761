#include "serve_stream.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "moment.h"

#define BEAT (15 * ATLOCK_SECOND)
#define BLOCK 8192 /* bytes that are sent at a time */

struct serve_stream {
	LIST_ENTRY(serve_stream) all;
	struct serve *serve;
	struct serve_peer *peer;
	struct MHD_Connection *connection;
	uint64_t seq;      /* the last event sent */
	int64_t sent;      /* when something was sent last */
	uint64_t snapshot; /* number of the one that was told */
	bool suspended;    /* serve->mutex */
	bool end;          /* serve->mutex */
	char text[BLOCK];  /* what is to be sent */
	size_t len;
	size_t at;
};

static void said(struct serve_stream *stream, int n)
{
	stream->len = n < 0 ? 0 : (size_t)n < sizeof(stream->text) ? (size_t)n : sizeof(stream->text) - 1;
	stream->at = 0;
}

/* An event for browsers: its number, type and lock; what else they show they ask for. */
static void event_put(struct serve_stream *stream, const char *line)
{
	json_t *event = json_loads(line, 0, NULL);
	const char *type = json_string_value(json_object_get(event, "type"));
	const char *lock = json_string_value(json_object_get(event, "lock"));
	json_t *told = json_pack("{s:s, s:s}", "type", type == NULL ? "" : type, "lock", lock == NULL ? "" : lock);
	char *text = told == NULL ? NULL : json_dumps(told, JSON_COMPACT);

	said(stream, snprintf(stream->text, sizeof(stream->text), "id: %" PRIu64 "\nevent: lock\ndata: %s\n\n",
			      stream->seq, text == NULL ? "{}" : text));
	free(text);
	json_decref(told);
	json_decref(event);
}

/* Prepares what comes next; false if there is nothing. */
static bool stream_next(struct serve_stream *stream, int64_t now)
{
	struct serve_snapshot *snapshot = serve_reader_take(stream->serve->reader);
	uint64_t number = snapshot->number;
	bool lost = false;
	char *line = serve_reader_event(stream->serve->reader, &stream->seq, &lost);

	serve_snapshot_put(snapshot);
	if (line != NULL && !lost) {
		stream->snapshot = number;
		event_put(stream, line);
	} else if (lost || number != stream->snapshot) {
		stream->snapshot = number;
		said(stream, snprintf(stream->text, sizeof(stream->text), "event: reload\ndata: {}\n\n"));
	} else if (now - stream->sent >= BEAT) {
		said(stream, snprintf(stream->text, sizeof(stream->text), ": still here\n\n"));
	} else {
		return false;
	}
	free(line);
	stream->sent = now;
	return true;
}

static ssize_t stream_read(void *arg, uint64_t at, char *out, size_t room)
{
	struct serve_stream *stream = arg;
	size_t n;

	(void)at;
	pthread_mutex_lock(&stream->serve->mutex);
	if (stream->end) {
		pthread_mutex_unlock(&stream->serve->mutex);
		return MHD_CONTENT_READER_END_OF_STREAM;
	}
	if (stream->at == stream->len && !stream_next(stream, moment_steady())) {
		stream->suspended = true;
		MHD_suspend_connection(stream->connection);
		pthread_mutex_unlock(&stream->serve->mutex);
		return 0;
	}
	pthread_mutex_unlock(&stream->serve->mutex);
	n = stream->len - stream->at < room ? stream->len - stream->at : room;
	memcpy(out, stream->text + stream->at, n);
	stream->at += n;
	return (ssize_t)n;
}

static void stream_close(void *arg)
{
	struct serve_stream *stream = arg;
	struct serve *serve = stream->serve;

	pthread_mutex_lock(&serve->mutex);
	LIST_REMOVE(stream, all);
	serve->stream_count--;
	stream->peer->streaming = false;
	stream->peer->since = moment_steady();
	pthread_mutex_unlock(&serve->mutex);
	free(stream);
}

/* A browser that comes back names the last event that it saw. */
static uint64_t stream_start(const struct serve_request *request)
{
	const char *last = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Last-Event-ID");
	uint64_t first;
	uint64_t newest;

	serve_reader_events(request->serve->reader, &first, &newest);
	return last == NULL ? newest : strtoull(last, NULL, 10);
}

void serve_stream_open(struct serve_request *request, struct serve_reply *reply)
{
	struct serve *serve = request->serve;
	struct serve_stream *stream = NULL;

	pthread_mutex_lock(&serve->mutex);
	if (serve->stream_count < SERVE_STREAMS && request->peer != NULL)
		stream = calloc(1, sizeof(*stream));
	if (stream != NULL) {
		*stream = (struct serve_stream){ .serve = serve,
						 .peer = request->peer,
						 .connection = request->connection,
						 .seq = stream_start(request),
						 .snapshot = request->snapshot->number };
		reply->response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, stream_read, stream,
								    stream_close);
	}
	if (reply->response != NULL) {
		LIST_INSERT_HEAD(&serve->streams, stream, all);
		serve->stream_count++;
		request->peer->streaming = true;
		reply->type = "text/event-stream";
	} else {
		free(stream);
		reply->status = MHD_HTTP_SERVICE_UNAVAILABLE;
		fputs("Too many event streams are open. Reload the page to see changes.\n", reply->out);
	}
	pthread_mutex_unlock(&serve->mutex);
	serve_wake(serve);
}

void serve_streams_tend(struct serve *serve, int64_t now)
{
	struct serve_snapshot *snapshot = serve_reader_take(serve->reader);
	struct serve_stream *stream;
	uint64_t first;
	uint64_t newest;

	serve_reader_events(serve->reader, &first, &newest);
	LIST_FOREACH(stream, &serve->streams, all) {
		if (!stream->suspended ||
		    (stream->seq >= newest && stream->snapshot == snapshot->number && now - stream->sent < BEAT))
			continue;
		stream->suspended = false;
		MHD_resume_connection(stream->connection);
	}
	serve_snapshot_put(snapshot);
}

void serve_streams_end(struct serve *serve)
{
	struct serve_stream *stream;

	LIST_FOREACH(stream, &serve->streams, all) {
		stream->end = true;
		if (stream->suspended)
			MHD_resume_connection(stream->connection);
		stream->suspended = false;
	}
}
