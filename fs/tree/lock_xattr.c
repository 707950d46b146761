/*
 * The fields of a lock as extended attributes: all can be read, and the user's own keys can be set and removed. Setting user.state
 * releases the lock with a reason, for which unlink(2) has no place.
 */
#include <bsd/stdlib.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "call_user.h"
#include "lock_file.h"
#include "path.h"
#include "permit.h"

/*
 * Reads the lock that a node names, if the caller may; -ENODATA while it is free. The caller clears the view in any
 * case.
 */
static int xattr_view(struct call *call, struct node *node, int want, struct atlock_name *name,
		      struct atlock_view *view)
{
	int err = path_node_lock(call, node, name);

	if (err == 0)
		err = atlock_get(call->al, name, view);
	if (err == 0)
		err = lock_may(call, node, view, want);
	return err == 1 ? -ENODATA : err;
}

int lock_xattr_list(struct call *call, struct node *node, FILE *names)
{
	struct atlock_view view = { 0 };
	struct atlock_name name;
	size_t len = 0;
	char *text;
	int err = xattr_view(call, node, 0, &name, &view);

	if (err < 0) {
		atlock_view_clear(&view);
		return err == -ENODATA ? 0 : err;
	}
	/* The names of the holder's keys are part of the text. */
	if (lock_may(call, node, &view, R_OK) < 0)
		view.meta_len = 0;
	text = atlock_view_text(call->al, &view, &len);
	atlock_view_clear(&view);
	if (text == NULL)
		return -ENOMEM;
	for (const char *line = text, *end; (end = memchr(line, '\n', len - (size_t)(line - text))) != NULL;
	     line = end + 1) {
		const char *equals = memchr(line, '=', (size_t)(end - line));

		if (equals != NULL)
			fprintf(names, "user.%.*s%c", (int)(equals - line), line, '\0');
	}
	free(text);
	return 0;
}

int lock_xattr_get(struct call *call, struct node *node, const char *key, char *value, size_t len)
{
	struct atlock_view view = { 0 };
	struct atlock_view shown;
	struct atlock_name name;
	char *own = NULL;
	int err = xattr_view(call, node, R_OK, &name, &view);

	if (err == 0)
		err = caller_view(call, &view, &shown, &own);
	if (err == 0)
		err = atlock_view_field(call->al, &shown, key, value, len);
	free(own);
	atlock_view_clear(&view);
	return err == 1 ? -ENODATA : err;
}

/* The line "key=..." among the user's keys, or NULL; `*len` is its length with the newline. */
static const char *meta_line(const struct atlock_view *view, const char *key, size_t *len)
{
	size_t key_len = strlen(key);
	const char *meta = view->meta == NULL ? "" : view->meta;
	const char *end;

	for (const char *line = meta; *line != '\0'; line = end + 1) {
		end = strchr(line, '\n');
		*len = end == NULL ? strlen(line) : (size_t)(end + 1 - line);
		if (strncmp(line, key, key_len) == 0 && line[key_len] == '=')
			return line;
		if (end == NULL)
			break;
	}
	return NULL;
}

/* Whether the attribute may be set with these flags; -EPERM for a field that the manager keeps. */
static int xattr_may_set(struct call *call, const struct atlock_view *view, const char *key, int flags)
{
	char value[ATLOCK_META_BYTES];
	size_t len;
	bool own = meta_line(view, key, &len) != NULL;
	bool exists = own || atlock_view_field(call->al, view, key, value, sizeof(value)) == 0;

	if (exists && !own)
		return call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
				   "\"%s\" is kept by the lock manager; only your own keys are set as attributes", key);
	if (exists && (flags & XATTR_CREATE))
		return -EEXIST;
	return !exists && (flags & XATTR_REPLACE) ? -ENODATA : 0;
}

static const char released[] = "released";

/* What follows `name` in the text, or NULL; what stands before it ends there. */
static char *word_take(char *text, const char *name)
{
	char *at = strstr(text, name);

	if (at == NULL)
		return NULL;
	*at = '\0';
	return at + strlen(name);
}

/*
 * "released[ token=N][ reason=TEXT]": gives the lock back as unlink(2) does, only if it is still that grant, with a reason for the
 * event log.
 */
static int state_set(struct call *call, struct node *node, const char *value, size_t len)
{
	char text[sizeof("released token=18446744073709551615 reason=") + ATLOCK_REASON_MAX];
	struct atlock_caller caller;
	struct atlock_name name;
	struct atlock_request req = { .name = &name, .caller = &caller, .force = true };
	const char *token;
	const char *bad = NULL;
	int err = path_node_lock(call, node, &name);

	if (err < 0)
		return err;
	(void)snprintf(text, sizeof(text), "%.*s", (int)(len < sizeof(text) ? len : sizeof(text)), value);
	req.reason = word_take(text, " reason=");
	token = word_take(text, " token=");
	req.token = token == NULL ? 0 : (uint64_t)strtonum(token, 1, INT64_MAX, &bad);
	if (len >= sizeof(text) || bad != NULL || strcmp(text, released) != 0)
		return call_refuse(
			call, -EINVAL, ATLOCK_INVALID_REQUEST,
			"a lock's state can be set to \"released[ token=N][ reason=TEXT]\" and nothing else");
	err = permit_change(call, node->parent);
	if (err == 0)
		err = caller_naming(call, &name, &caller);
	if (err == 0)
		err = atlock_release(call->al, &req, NULL, &call->why);
	return err == 1 ? -ENOENT : err;
}

/* A value is one line: a newline in it would smuggle in another key. */
int lock_xattr_set(struct call *call, struct node *node, const char *key, const char *value, size_t len, int flags)
{
	struct atlock_view view = { 0 };
	struct atlock_caller caller;
	struct atlock_name name;
	char *line = NULL;
	int n;
	int err;

	if (strcmp(key, "state") == 0 && len >= strlen(released) && memcmp(value, released, strlen(released)) == 0)
		return state_set(call, node, value, len);
	err = xattr_view(call, node, W_OK, &name, &view);
	if (err == 0 &&
	    (memchr(value, '\n', len) != NULL || memchr(value, '\0', len) != NULL || strpbrk(key, "=\n") != NULL))
		err = call_refuse(call, -EINVAL, ATLOCK_INVALID_REQUEST, "an attribute of a lock is one line of text");
	if (err == 0)
		err = caller_identify(call, name.who, &caller);
	if (err == 0)
		err = xattr_may_set(call, &view, key, flags);
	if (err == 0) {
		n = asprintf(&line, "%s=%.*s\n", key, (int)len, value);
		err = n < 0 ? -ENOMEM
			    : atlock_write(call->al,
					   &(struct atlock_request){
						   .name = &name,
						   .caller = &caller,
						   .text = line,
						   .text_len = (size_t)n,
					   },
					   &call->why);
		free(line);
	}
	atlock_view_clear(&view);
	return err;
}

/* Writes the user's keys back without one of them; tries again if they changed in between. */
int lock_xattr_remove(struct call *call, struct node *node, const char *key)
{
	struct atlock_caller caller;
	struct atlock_name name;
	int err;

	do {
		struct atlock_view view = { 0 };
		const char *line;
		char *text = NULL;
		size_t len;

		err = xattr_view(call, node, W_OK, &name, &view);
		if (err == 0)
			err = caller_identify(call, name.who, &caller);
		line = err < 0 ? NULL : meta_line(&view, key, &len);
		if (err == 0 && line == NULL)
			err = -ENODATA;
		if (err == 0 && asprintf(&text, "%.*s%s", (int)(line - view.meta), view.meta, line + len) < 0)
			err = -ENOMEM;
		if (err == 0)
			err = atlock_write(call->al,
					   &(struct atlock_request){
						   .name = &name,
						   .caller = &caller,
						   .version = view.version,
						   .replace = true,
						   .text = text,
						   .text_len = strlen(text),
					   },
					   &call->why);
		free(text);
		atlock_view_clear(&view);
	} while (err == -EAGAIN && call->why.code == ATLOCK_VERSION_CONFLICT);
	return err;
}
