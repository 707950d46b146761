/* Connects holder.c, which needs no manager, with the manager's users and options. */
#include <errno.h>

#include "comm.h"
#include "holder.h"
#include "manager.h"
#include "process.h"

int atlock_identify(struct atlock *al, pid_t tid, uid_t uid, gid_t gid, const char *who_text, struct atlock_caller *out,
		    struct atlock_why *why)
{
	if (al == NULL || out == NULL)
		return -EINVAL;
	return holder_identify(manager_users(al), al->sessions, manager_options(al), tid, uid, gid, who_text, out, why);
}

void atlock_caller_look(struct atlock *al, struct atlock_caller *caller)
{
	if (al == NULL || caller == NULL)
		return;
	if (caller->session == 0 && process_session(caller->pid, &caller->session) < 0)
		caller->session = 0;
	if (!al->sees_processes || comms_read(al->comms, caller->pid, caller->comm) < 0)
		caller->comm[0] = '\0';
}
