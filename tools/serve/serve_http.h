/*
 * The HTTP side: connections, requests, replies. Its thread answers from memory and never waits; what is slow waits on its own.
 *
 * A request needs a snapshot that is as new as can be had: serve_reader_done(). If there is none, its connection is suspended, the reader is asked, and
 * the main thread resumes it when a reading has ended, or after two seconds with what is there.
 *
 * Limits: 1,024 event streams, 256 other connections, 15 s for a request and its reply (2 s while more than 200 connections are
 * open), 32 KiB a connection, 4 KiB of a form.
 */
#ifndef TOOLS_SERVE_HTTP_H
#define TOOLS_SERVE_HTTP_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "serve_reader.h"

#define SERVE_STREAMS 1024
#define SERVE_CONNECTIONS 256
#define SERVE_FORM_MAX 4096
#define SERVE_HOSTS 16

struct serve_release;

/* What the command line says. */
struct serve_setup {
	const char *hosts[SERVE_HOSTS]; /* names beside those of loopback by which browsers may ask */
	size_t host_count;
	bool remote;        /* listens beyond loopback: all names will do */
	bool local;         /* a UNIX socket: peers have user ids */
	bool release;       /* --allow-release */
	const char *header; /* that names the user, if the peer is `proxy` */
	uid_t proxy;        /* (uid_t)-1: none */
	const char *mount;  /* path, for people */
};

struct serve {
	struct serve_setup setup;
	struct serve_reader *reader;
	struct serve_release *releaser; /* or NULL */
	struct MHD_Daemon *daemon;
	int wake;                 /* an eventfd for the main thread */
	unsigned char secret[32]; /* of this process, for forms */
	pthread_mutex_t mutex;    /* protects the lists and the members of what is in them */
	LIST_HEAD(, serve_peer) peers;
	LIST_HEAD(, serve_request) waiting; /* suspended until a reading or a release has ended */
	LIST_HEAD(, serve_stream) streams;
	size_t peer_count;
	size_t stream_count;
};

/* One connection. */
struct serve_peer {
	LIST_ENTRY(serve_peer) all;
	int fd;
	int64_t since; /* moment_steady() when it began to send a request; 0: it has nothing to do */
	bool streaming;
	bool ended; /* was shut down */
	uid_t uid;  /* of a UNIX socket's peer, else (uid_t)-1 */
};

/* One request, from its first header to the end of its reply. */
struct serve_request {
	struct serve *serve;
	struct serve_peer *peer;
	struct MHD_Connection *connection;
	const char *url;
	char form[SERVE_FORM_MAX + 1];
	size_t form_len;
	bool form_cut; /* it was longer */

	LIST_ENTRY(serve_request) waiting;
	bool suspended;    /* is in the list */
	unsigned asked;    /* how often it has waited for a reading */
	uint64_t target;   /* readings that must have ended; UINT64_MAX: it waits for a release */
	int64_t since;     /* when it began to wait */
	int64_t releasing; /* number of the release that it waits for, 0: none was begun */
	int released;      /* its outcome: 0 or a negative errno */
	struct serve_snapshot *snapshot;
};

/* A reply. `out` is where a handler writes; what it sets is sent after it returns. */
struct serve_reply {
	FILE *out;
	unsigned status;
	const char *type;
	const char *policy;            /* Content-Security-Policy, if it differs */
	char *next;                    /* where the next page of a list begins, malloc'ed, or NULL */
	const char *location;          /* of a redirect, or NULL */
	struct MHD_Response *response; /* instead of `out` */
};

/* A parameter of the query, "" if it is not there; and of a form's, copied. */
const char *serve_query(const struct serve_request *request, const char *name);
bool serve_form(const struct serve_request *request, const char *name, char *out, size_t len);

/* Starts serving on a socket that listens. 0 or a negative errno. Streams, requests and connections all end with the second. */
int serve_http_start(struct serve *serve, int fd);
void serve_http_stop(struct serve *serve);

/* The main thread's work: wakes what has waited enough, ends what is too slow. Returns milliseconds until the next time, -1: when asked. */
int serve_http_tend(struct serve *serve);

/* Suspends a request until the outcome of a release is known; and passes it on. Any thread. */
void serve_http_wait(struct serve_request *request, int64_t number);
void serve_http_released(struct serve *serve, int64_t number, int outcome);

/* Wakes the main thread. */
void serve_wake(struct serve *serve);

#endif
