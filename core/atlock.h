/*
 * The lock manager: who holds which lock, who waits for it, until when, and what has happened. A library that knows neither
 * FUSE nor LMDB; atlockfs is one front end of it.
 *
 * Calling sequence
 *
 *	struct atlock *al;
 *	struct atlock_name name;
 *	struct atlock_caller caller;
 *	struct atlock_grant grant;
 *	struct atlock_why why;
 *
 *	atlock_open(&al, "/var/lib/atlockfs", &(struct atlock_setup){ .host = "build-17" }, &why);
 *	atlock_name_parse("repos/acme/infra/-/modules/vpc/-/production", &name, &why);
 *	atlock_caller_init(&caller, "alice", "pipeline-7", 1000);
 *	atlock_acquire(al, &(struct atlock_request){ .name = &name, .caller = &caller }, &grant, &why);
 *	... work, and hand grant.token to what must not be changed by a holder whose lease is over ...
 *	atlock_release(al, &(struct atlock_request){ .name = &name, .caller = &caller }, NULL, &why);
 *	atlock_close(al);
 *
 * tests/install/embed.c is this as a whole program; `pkg-config --cflags --libs atlock` builds it.
 *
 * Errors
 *
 * A call returns a negative errno if it was refused or failed, 0 if done, and a positive outcome where its page names one. A
 * refused call has changed nothing. It fills `why` (may be NULL) with a code for programs and one line for people.
 *
 * Threads
 *
 * Any call may come from any thread unless its page says otherwise. A call that changes something returns when the change is
 * durable (option `sync`). Callbacks run on the thread whose call caused them or on a thread of the manager, after the commit
 * and with no mutex of the manager held: they may call back in. Callbacks of listings run in the middle of a read: they may
 * read, not change.
 *
 * Ownership
 *
 * Arguments stay the caller's and are copied or used during the call. Texts that a call returns are malloc'ed and the
 * caller's. Structs with strings of their own have a _clear() function.
 *
 * Time
 *
 * Durations and instants are nanoseconds. Instants are lease time, which never steps; atlock_wall() makes wall time of one.
 *
 * Pages
 *
 *	base.h		the handle, limits, refusals		list.h		what is held, by path, owner, who, host
 *	options.h	options, durations			dir.h		directories of custom/
 *	open.h		opening, closing, clocks, callbacks	owners.h	owners of Git repositories
 *	name.h		the spelling of a lock's path		shared.h	shared resources and their apps
 *	caller.h	owner and who				pull.h		pull requests and their projects
 *	lock.h		taking, renewing, releasing, reading	policy.h	rules that say who may do what
 *	wait.h		waiting, tickets, queues		event.h		the event log and its files
 *							admin.h		counts, health, metrics, keys
 *
 * The promise
 *
 * This header and the pages above are the library's promise to other programs: what is declared here keeps its meaning, and
 * the number in the shared library's name grows when a program must be compiled again. Fields may be added to structs that the
 * caller fills in: use designated initialisers. Fields under "For tests" are not part of it.
 *
 * Four more pages are for the programs of this repository only, may change in any version, and are included by name:
 *
 *	program.h	safe text, log, standard streams	for atlockfs and atlock
 *	check.h		checking, repair, copies, audit		for atlock
 *	import.h	Atlantis' records			for atlock
 *	manual.h	time driven by hand			for tests
 */
#ifndef ATLOCK_H
#define ATLOCK_H

#ifndef ATLOCK_VERSION
#define ATLOCK_VERSION "0.1"
#endif

#include "atlock/admin.h"
#include "atlock/base.h"
#include "atlock/caller.h"
#include "atlock/dir.h"
#include "atlock/event.h"
#include "atlock/list.h"
#include "atlock/lock.h"
#include "atlock/name.h"
#include "atlock/open.h"
#include "atlock/options.h"
#include "atlock/owners.h"
#include "atlock/policy.h"
#include "atlock/pull.h"
#include "atlock/shared.h"
#include "atlock/wait.h"

#endif
