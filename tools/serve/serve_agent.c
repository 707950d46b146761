#include "serve_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lockpath.h"

#define PATIENCE 10 /* seconds that one release may take */

/* Becomes a user for good. 0 or a negative errno. */
static int user_become(const char *name)
{
	const struct passwd *user = getpwnam(name);

	if (user == NULL)
		return -ENOENT;
	if (user->pw_uid == geteuid())
		return 0;
	if (geteuid() != 0)
		return -EPERM;
	if (initgroups(name, user->pw_gid) != 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) != 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) != 0)
		return -errno;
	return 0;
}

/* Whether the lock is still the grant that the page showed, and its holder: 0 or a negative errno. */
static int grant_check(const struct mount *mount, const struct agent_request *request, char *who, size_t len)
{
	char id[ATLOCK_ID_MAX];
	char token[32];

	if (!mount_field(mount, request->lock, "id", id, sizeof(id)) ||
	    !mount_field(mount, request->lock, "token", token, sizeof(token)) ||
	    !mount_field(mount, request->lock, "who", who, len))
		return -ENOENT;
	return strcmp(id, request->id) == 0 && strtoull(token, NULL, 10) == request->token ? 0 : -ESTALE;
}

static int lock_release(const struct mount *seen, const struct agent_request *request)
{
	struct mount mount = *seen;
	char who[ATLOCK_WHO_MAX + 1];
	int err;

	mount.fd = -1;
	err = mount_reopen(&mount);
	if (err < 0)
		return err;
	err = grant_check(&mount, request, who, sizeof(who));
	if (err == 0)
		err = lockpath_give_back(&mount, request->lock, who, request->token, request->reason);
	/* A name with "@who" is there for its holder's user and for administrators only. */
	if (err == -ENOENT && grant_check(&mount, request, who, sizeof(who)) == 0)
		err = -EACCES;
	mount_close(&mount);
	return err;
}

/* In a process of its own, so that a mount that hangs and the user's rights end with it. */
static int release_run(const struct mount *mount, const struct agent_request *request)
{
	pid_t child = fork();
	int status;
	int err;

	if (child < 0)
		return -errno;
	if (child == 0) {
		alarm(PATIENCE);
		err = user_become(request->user);
		if (err == 0)
			err = lock_release(mount, request);
		_exit(err < 0 && err > -255 ? -err : err == 0 ? 0 : EIO);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ETIMEDOUT;
}

/* A path below the root that cannot lead out of it. */
static bool is_below(const char *path)
{
	for (; *path != '\0'; path += strcspn(path, "/"), path += *path == '/') {
		size_t len = strcspn(path, "/");

		if (len == 0 || (len == 1 && path[0] == '.') || (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
	}
	return true;
}

static bool is_whole(const struct agent_request *request)
{
	return memchr(request->user, '\0', sizeof(request->user)) != NULL &&
	       memchr(request->lock, '\0', sizeof(request->lock)) != NULL &&
	       memchr(request->id, '\0', sizeof(request->id)) != NULL &&
	       memchr(request->reason, '\0', sizeof(request->reason)) != NULL && is_below(request->lock);
}

_Noreturn void serve_agent_run(int fd, const struct mount *mount)
{
	struct agent_request request;
	struct agent_answer answer;

	(void)prctl(PR_SET_NAME, "atlock-release");
	(void)signal(SIGINT, SIG_IGN);
	while (recv(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request)) {
		answer = (struct agent_answer){ .number = request.number, .outcome = -EINVAL };
		if (is_whole(&request))
			answer.outcome = release_run(mount, &request);
		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != (ssize_t)sizeof(answer))
			break;
	}
	_exit(0);
}
