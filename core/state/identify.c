/* Connects holder.c, which needs no manager, with the manager's users and options. */
#include <errno.h>
#include <string.h>

#include "comm.h"
#include "holder.h"
#include "process.h"
#include "state.h"

int atlock_identify(struct atlock *al, pid_t tid, uid_t uid, gid_t gid, const char *who_text, struct atlock_caller *out,
		    struct atlock_why *why)
{
	struct session_id known = { 0 };
	struct session_id before;
	char comm[sizeof(out->comm)];
	int rc;

	if (al == NULL || out == NULL)
		return -EINVAL;
	if (!al->sees_processes || comms_read(al->comms, tid, comm, &known) < 0)
		comm[0] = '\0';
	before = known;
	rc = holder_identify(al->users, al->sessions, state_options(al), tid, uid, gid, who_text, &known, out, why);
	if (known.number != before.number || known.start != before.start)
		comms_remember(al->comms, tid, &known);
	memcpy(out->comm, comm, sizeof(comm));
	return rc;
}

void atlock_caller_look(struct atlock *al, struct atlock_caller *caller)
{
	struct session_id ignored;

	if (al == NULL || caller == NULL)
		return;
	if (caller->session == 0 && process_session(caller->pid, &caller->session) < 0)
		caller->session = 0;
	if (caller->comm[0] == '\0' &&
	    (!al->sees_processes || comms_read(al->comms, caller->pid, caller->comm, &ignored) < 0))
		caller->comm[0] = '\0';
}

bool atlock_is_removing(struct atlock *al, pid_t tid)
{
	struct atlock_caller caller = { .pid = tid, .session = 1 };

	atlock_caller_look(al, &caller);
	return strcmp(caller.comm, "unlink") == 0 ||
	       (strcmp(caller.comm, "rm") == 0 && !process_has_option(tid, 'f', "--force"));
}
