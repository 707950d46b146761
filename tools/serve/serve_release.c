#include "serve_release.h"

#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "markup.h"
#include "moment.h"
#include "serve_agent.h"
#include "serve_page.h"
#include "source.h"

#define USERS 64 /* that the rate limit remembers */
#define BURST 10 /* releases of a user that need not wait */

struct serve_release {
	int fd;
	int64_t last; /* number of the last request; the HTTP thread's, as the rest */
	struct {
		char name[SERVE_USER_MAX];
		int64_t since; /* when it was counted first, moved on by a second for each release */
	} users[USERS];
	size_t oldest;
};

int serve_release_start(struct serve_release **out, const struct mount *mount)
{
	struct serve_release *release = calloc(1, sizeof(*release));
	int pair[2];
	pid_t child;

	*out = NULL;
	if (release == NULL)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 || (child = fork()) < 0) {
		int err = -errno;

		free(release);
		return err;
	}
	if (child == 0) {
		close(pair[0]);
		serve_agent_run(pair[1], mount);
	}
	close(pair[1]);
	release->fd = pair[0];
	*out = release;
	return 0;
}

void serve_release_stop(struct serve_release *release)
{
	if (release == NULL)
		return;
	close(release->fd);
	free(release);
}

int serve_release_fd(const struct serve_release *release)
{
	return release == NULL ? -1 : release->fd;
}

bool serve_release_answers(struct serve *serve)
{
	struct agent_answer answer;
	ssize_t n;

	while ((n = recv(serve->releaser->fd, &answer, sizeof(answer), MSG_DONTWAIT)) == (ssize_t)sizeof(answer))
		serve_http_released(serve, answer.number, answer.outcome);
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

/* --- Who asks --- */

/* The user whom a request is of; false if it is not known. */
static bool user_of(const struct serve_request *request, char out[SERVE_USER_MAX])
{
	const struct serve_setup *setup = &request->serve->setup;
	uid_t uid = request->peer == NULL ? (uid_t)-1 : request->peer->uid;
	const struct passwd *user;

	/* Who has a proxy's password for "root" is not to be root here. */
	if (!setup->release || uid == (uid_t)-1)
		return false;
	if (uid == setup->proxy) {
		const char *name = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, setup->header);

		user = name == NULL ? NULL : getpwnam(name);
		return user != NULL && user->pw_uid != 0 && strlcpy(out, name, SERVE_USER_MAX) < SERVE_USER_MAX;
	}
	user = getpwuid(uid);
	return user != NULL && strlcpy(out, user->pw_name, SERVE_USER_MAX) < SERVE_USER_MAX;
}

static void word_print(const struct serve *serve, const char *user, char out[SHA256_DIGEST_STRING_LENGTH])
{
	SHA2_CTX context;

	SHA256Init(&context);
	SHA256Update(&context, serve->secret, sizeof(serve->secret));
	SHA256Update(&context, (const uint8_t *)user, strlen(user));
	SHA256Update(&context, serve->secret, sizeof(serve->secret));
	SHA256End(&context, out);
}

/* One a second, and a few at once. */
static bool rate_allows(struct serve_release *release, const char *user)
{
	int64_t now = moment_steady();
	int64_t earliest = now - BURST * ATLOCK_SECOND;
	size_t i = 0;

	while (i < USERS && strcmp(release->users[i].name, user) != 0)
		i++;
	if (i == USERS) {
		i = release->oldest++ % USERS;
		(void)strlcpy(release->users[i].name, user, SERVE_USER_MAX);
		release->users[i].since = earliest;
	}
	if (release->users[i].since < earliest)
		release->users[i].since = earliest;
	if (release->users[i].since + ATLOCK_SECOND > now)
		return false;
	release->users[i].since += ATLOCK_SECOND;
	return true;
}

/* --- The form --- */

void serve_release_form(const struct serve_request *request, FILE *out, const json_t *lock)
{
	char user[SERVE_USER_MAX];
	char word[SHA256_DIGEST_STRING_LENGTH];

	if (!user_of(request, user))
		return;
	word_print(request->serve, user, word);
	fputs("<form class=\"release\" method=\"post\" action=\"/release\">\n<input type=\"hidden\" name=\"lock\" value=\"",
	      out);
	markup_text(out, source_text(lock, "lock"));
	fputs("\"><input type=\"hidden\" name=\"id\" value=\"", out);
	markup_text(out, source_text(lock, "id"));
	fprintf(out, "\"><input type=\"hidden\" name=\"token\" value=\"%" JSON_INTEGER_FORMAT "\">",
		json_integer_value(json_object_get(lock, "token")));
	fprintf(out,
		"<input type=\"hidden\" name=\"word\" value=\"%s\">\n<label for=\"reason\">Why release it?</label> "
		"<input id=\"reason\" name=\"reason\" required maxlength=\"200\"> <button>Release as ",
		word);
	markup_text(out, user);
	fputs("</button></form>\n", out);
}

static void refuse(struct serve_reply *reply, unsigned status, const char *text)
{
	reply->status = status;
	fputs(text, reply->out);
}

static const struct {
	int err;
	unsigned status;
	const char *text;
} outcomes[] = {
	{ ENOENT, MHD_HTTP_CONFLICT, "It is not held any more." },
	{ ESTALE, MHD_HTTP_CONFLICT, "Another holder has it by now. Nothing was released: look at it again." },
	{ EPERM, MHD_HTTP_FORBIDDEN, "You may not release it: another user, session or process holds it." },
	{ EACCES, MHD_HTTP_FORBIDDEN, "You may not release it: another user, session or process holds it." },
	{ EINVAL, MHD_HTTP_FORBIDDEN,
	  "You may not release it: a session or process holds it, and releases it itself." },
	{ ECONNREFUSED, MHD_HTTP_SERVICE_UNAVAILABLE, "Releasing does not work now. Try again, or use atlock unlock." },
	{ ETIMEDOUT, MHD_HTTP_GATEWAY_TIMEOUT, "The file system does not answer. Look again whether it is held." },
};

/* Back to the page of the lock, or a page that says why not. */
static void outcome_show(struct serve_request *request, struct serve_reply *reply, const char *lock)
{
	size_t last = sizeof(outcomes) / sizeof(outcomes[0]);
	size_t i = 0;

	if (request->released == 0) {
		reply->status = MHD_HTTP_SEE_OTHER;
		reply->location = "/";
		return;
	}
	while (i < last && outcomes[i].err != -request->released)
		i++;
	reply->status = i < last ? outcomes[i].status : MHD_HTTP_INTERNAL_SERVER_ERROR;
	serve_page_begin(request, reply, "Not released");
	fputs("<p>", reply->out);
	markup_text(reply->out, i < last ? outcomes[i].text : strerror(-request->released));
	fputs("</p>\n<p>", reply->out);
	serve_page_link(reply->out, "/lock", "name", lock, lock);
	fputs("</p>\n", reply->out);
	serve_page_end(request, reply);
}

/* Takes as long for a word that is nearly right as for any other. */
static bool words_equal(const char *a, const char *b)
{
	unsigned char difference = 0;

	for (size_t i = 0; i < SHA256_DIGEST_STRING_LENGTH; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return difference == 0;
}

/* Reads and checks the form; false once it has refused it. */
static bool form_read(struct serve_request *request, struct serve_reply *reply, struct agent_request *out)
{
	char word[SHA256_DIGEST_STRING_LENGTH];
	char given[SHA256_DIGEST_STRING_LENGTH] = "";
	char token[32];

	if (request->form_cut || !serve_form(request, "lock", out->lock, sizeof(out->lock)) ||
	    !serve_form(request, "id", out->id, sizeof(out->id)) ||
	    !serve_form(request, "token", token, sizeof(token)) ||
	    !serve_form(request, "reason", out->reason, sizeof(out->reason)) || out->reason[0] == '\0') {
		refuse(reply, MHD_HTTP_BAD_REQUEST,
		       "The form needs lock, id, token and a reason of at most 255 bytes.\n");
		return false;
	}
	out->token = strtoull(token, NULL, 10);
	word_print(request->serve, out->user, word);
	if (!serve_form(request, "word", given, sizeof(given)) || !words_equal(word, given)) {
		refuse(reply, MHD_HTTP_FORBIDDEN,
		       "The form is not one of this page, or too old. Load the page again.\n");
		return false;
	}
	return true;
}

bool serve_release_take(struct serve_request *request, struct serve_reply *reply)
{
	struct agent_request asked = { .number = 0 };
	struct serve_release *release = request->serve->releaser;

	if (release == NULL || !user_of(request, asked.user)) {
		refuse(reply, MHD_HTTP_FORBIDDEN,
		       "Releasing is off: it needs --allow-release, a UNIX socket and a known user.\n");
		return true;
	}
	if (!form_read(request, reply, &asked))
		return true;
	if (request->releasing != 0) {
		outcome_show(request, reply, asked.lock);
		return true;
	}
	if (!rate_allows(release, asked.user)) {
		refuse(reply, MHD_HTTP_TOO_MANY_REQUESTS, "Too many releases at once. Wait a second.\n");
		return true;
	}
	asked.number = ++release->last;
	serve_http_wait(request, asked.number);
	if (send(release->fd, &asked, sizeof(asked), MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof(asked))
		serve_http_released(request->serve, asked.number, -ECONNREFUSED);
	return false;
}
