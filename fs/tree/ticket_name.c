#include "ticket_name.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* "<rank>-<priority>-<sequence>-..."; the rest is compared with the ticket itself. */
static bool parse_listed(const char *text, struct ticket_name *out)
{
	char word[16];
	size_t len = strspn(text, "0123456789");
	char *end;

	if (len == 0 || text[len] != '-')
		return false;
	text += len + 1;
	len = strcspn(text, "-");
	if (text[len] != '-' || len >= sizeof(word) || !isdigit((unsigned char)text[len + 1]))
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	if (atlock_priority_parse(word, &out->priority) != 0)
		return false;
	errno = 0;
	out->sequence = strtoull(text + len + 1, &end, 10);
	out->named = true;
	return errno == 0 && *end == '-' && out->sequence != 0;
}

/* A who is spelled as in a lock's name: parse it with the name of any lock. */
static int parse_who(struct call *call, const char *text, struct ticket_name *out)
{
	char path[sizeof("global/x@") + ATLOCK_COMPONENT_MAX];
	struct atlock_name name;
	int err;

	snprintf(path, sizeof(path), "global/x@%s", text);
	err = atlock_name_parse(path, &name, &call->why);
	if (err < 0)
		return err;
	strlcpy(out->who, name.who, sizeof(out->who));
	out->named = true;
	return atlock_who_outer(call->ctx->pid, out->who, &call->why);
}

int ticket_name_parse(struct call *call, const char *text, struct ticket_name *out)
{
	char word[16];
	size_t len = strcspn(text, "@");

	*out = (struct ticket_name){ 0 };
	if (parse_listed(text, out))
		return 0;
	*out = (struct ticket_name){ 0 };
	if (len < sizeof(word)) {
		memcpy(word, text, len);
		word[len] = '\0';
		if (atlock_priority_parse(word, &out->priority) == 0)
			return text[len] == '\0' ? 0 : parse_who(call, text + len + 1, out);
	}
	return call_refuse(call, -EINVAL, ATLOCK_INVALID_REQUEST,
			   "\"%.60s\" is no ticket: its name is low, normal, high or critical, with @who or without",
			   text);
}

/* Appends `text` escaped as in a lock's name, so that a who with a slash stays one component. */
static size_t print_escaped(char *out, const char *text)
{
	size_t len = 0;

	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++)
		if (*p == '%' || *p == '/' || *p < 0x20 || *p == 0x7f)
			len += (size_t)sprintf(out + len, "%%%02X", *p);
		else
			out[len++] = (char)*p;
	out[len] = '\0';
	return len;
}

void ticket_name_print(const struct atlock_ticket *ticket, char out[ATLOCK_COMPONENT_MAX + 1])
{
	char text[80 + 3 * (ATLOCK_OWNER_MAX + ATLOCK_WHO_MAX)];
	size_t len = (size_t)snprintf(text, sizeof(text), "%06" PRIu64 "-%s-%" PRIu64 "-", ticket->position,
				      atlock_priority_name(ticket->priority), ticket->ticket);

	len += print_escaped(text + len, ticket->owner);
	text[len++] = '@';
	print_escaped(text + len, ticket->who);
	strlcpy(out, text, ATLOCK_COMPONENT_MAX + 1);
}

/*
 * The caller's own ticket first. For an administrator then any user's with that who, because the name does not say
 * whose; others name such a ticket as it is listed, and can have one of the same who themselves.
 */
static int find_by_holder(struct call *call, const struct atlock_name *lock, struct ticket_name *name,
			  struct atlock_ticket *out)
{
	struct atlock_caller caller;
	int err;

	err = name->named ? caller_user(call, &caller) : caller_identify(call, "", &caller);
	if (err < 0)
		return err;
	if (!name->named)
		strlcpy(name->who, caller.who, sizeof(name->who));
	err = atlock_ticket_get(call->al, lock, 0, caller.owner, name->who, out);
	if (err < 0 || (err == 0 && out->priority == name->priority))
		return err;
	if (err == 0)
		atlock_ticket_clear(out);
	return caller.admin ? atlock_ticket_find(call->al, lock, name->priority, name->who, out) : 1;
}

int ticket_find(struct call *call, const struct atlock_name *lock, const char *text, struct ticket_name *name,
		struct atlock_ticket *out)
{
	char listed[ATLOCK_COMPONENT_MAX + 1];
	int err = ticket_name_parse(call, text, name);

	if (err < 0)
		return err;
	if (name->sequence == 0)
		return find_by_holder(call, lock, name, out);
	err = atlock_ticket_get(call->al, lock, name->sequence, NULL, NULL, out);
	if (err != 0)
		return err;
	/* The rank changes as tickets come and go; the rest of the name must match. */
	ticket_name_print(out, listed);
	if (strcmp(strchr(listed, '-'), strchr(text, '-')) != 0) {
		atlock_ticket_clear(out);
		return 1;
	}
	strlcpy(name->who, out->who, sizeof(name->who));
	return 0;
}

/* No caller may name a session after '@', but a listed name shows it: there it must be the caller's own. */
static int identify_as(struct call *call, const char *who, struct atlock_caller *out)
{
	int err = caller_identify(call, "", out);

	if (err == 0 && strcmp(out->who, who) == 0)
		return 0;
	call->why.text[0] = '\0';
	return caller_identify(call, who, out);
}

int ticket_caller(struct call *call, const struct ticket_name *name, struct atlock_caller *out)
{
	struct atlock_why why;
	int err = identify_as(call, name->who, out);

	if (err == 0)
		return 0;
	why = call->why;
	if (caller_user(call, out) == 0 && out->admin)
		return 0;
	call->why = why;
	return err == -EINVAL ? -EPERM : err;
}
