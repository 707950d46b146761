/*
 * Names of tickets in queue/<lock>/. A ticket is made as "<priority>[@who]" and listed as
 * "<rank>-<priority>-<sequence>-<owner>@<who>", which sorts in service order; both names find it.
 */
#ifndef TICKET_NAME_H
#define TICKET_NAME_H

#include "kind.h"

struct ticket_name {
	enum atlock_priority priority;
	uint64_t sequence;            /* of a listed name; 0: named by priority and holder */
	bool named;                   /* "@who" was given */
	char who[ATLOCK_WHO_MAX + 1]; /* decoded */
};

/* Parses either form. -EINVAL, with the reason. */
int ticket_name_parse(struct call *call, const char *text, struct ticket_name *out);

/* The name that a ticket is listed under, cut at ATLOCK_COMPONENT_MAX bytes: the sequence identifies it. */
void ticket_name_print(const struct atlock_ticket *ticket, char out[ATLOCK_COMPONENT_MAX + 1]);

/* The ticket of that name: 0, 1 if there is none, or a negative errno. Without a who, that of the caller's session. */
int ticket_find(struct call *call, const struct atlock_name *lock, const char *text, struct ticket_name *name,
		struct atlock_ticket *out);

/*
 * The caller as the holder of the ticket that was found by this name, or as an administrator. -EPERM if it can be
 * neither.
 */
int ticket_caller(struct call *call, const struct ticket_name *name, struct atlock_caller *out);

#endif
