#include "notifier.h"

#include <atlock/program.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.h"
#include "notice.h"

/* The descriptors of the notifier, which closes all others. */
#define NOTIFIER_DEVICE 3
#define NOTIFIER_SOCKET 4

/* The kernel refuses to hand out requests to a reader with less. */
#define NOTIFIER_REQUEST (FS_WRITE_MAX + 4096U)

/* --- The notifier --- */

/* A reply to a request that wants none is ignored. */
static void request_refuse(const uint8_t *bytes)
{
	struct fuse_in_header request;
	struct fuse_out_header reply = { .len = sizeof(reply), .error = -ENOTCONN };

	memcpy(&request, bytes, sizeof(request));
	reply.unique = request.unique;
	(void)!write(NOTIFIER_DEVICE, &reply, sizeof(reply));
}

static void *orphan_run(void *arg)
{
	static uint8_t bytes[NOTIFIER_REQUEST];
	struct pollfd daemon = { .fd = NOTIFIER_SOCKET }; /* POLLHUP */
	ssize_t n;

	(void)arg;
	while (poll(&daemon, 1, -1) <= 0)
		;
	do {
		n = read(NOTIFIER_DEVICE, bytes, sizeof(bytes));
		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			request_refuse(bytes);
	} while (n > 0 || errno == EINTR || errno == EAGAIN || errno == ENOENT); /* ENOENT: the caller was killed */
	return NULL;
}

static void notifier_run(void)
{
	static struct notice notice;
	pthread_t thread;
	uint8_t done = 0;
	ssize_t n;

	if (pthread_create(&thread, NULL, orphan_run, NULL) != 0)
		return;
	/* It ends with the process. */
	(void)pthread_detach(thread);
	while ((n = recv(NOTIFIER_SOCKET, notice.bytes, sizeof(notice.bytes), 0)) > 0 || (n < 0 && errno == EINTR)) {
		if (n < 0)
			continue;
		notice_write(NOTIFIER_DEVICE, notice.bytes, (size_t)n);
		if (send(NOTIFIER_SOCKET, &done, sizeof(done), MSG_NOSIGNAL) < 0)
			return;
	}
}

/*
 * Under this name ps shows it. It is not that of the daemon, so that `pkill -9 atlockfs`, by name or by command line, does not end this
 * process in the sleep that keeps /dev/fuse open, with no thread left to answer the callers.
 */
static void notifier_rename(void)
{
	static const char name[] = "locks-notify";
	char line[ATLOCK_PATH_MAX * 2];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, line, sizeof(line));

	if (fd >= 0)
		close(fd);
	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
	/* The kernel shows the memory of the arguments, of which this is the first. */
	if (len > (ssize_t)sizeof(name)) {
		memset(program_invocation_name, 0, (size_t)len);
		memcpy(program_invocation_name, name, sizeof(name));
	}
}

/* The child has what the daemon had open so far, and must keep none of it. Nothing it has is removed by exit handlers. */
static _Noreturn void notifier_main(int device, int socket, bool keep_stderr)
{
	int fds[2] = { fcntl(device, F_DUPFD_CLOEXEC, NOTIFIER_SOCKET + 1),
		       fcntl(socket, F_DUPFD_CLOEXEC, NOTIFIER_SOCKET + 1) };

	daemon_detach(keep_stderr);
	notifier_rename();
	if (dup3(fds[0], NOTIFIER_DEVICE, O_CLOEXEC) >= 0 && dup3(fds[1], NOTIFIER_SOCKET, O_CLOEXEC) >= 0 &&
	    chdir("/") == 0) {
		closefrom(NOTIFIER_SOCKET + 1);
		notifier_run();
	}
	_exit(0);
}

/* --- The daemon --- */

void notifier_start(struct fs *fs, bool keep_stderr)
{
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	int sockets[2] = { -1, -1 };
	pid_t pid = -1;

	if (device >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0)
		pid = fork();
	if (pid == 0)
		notifier_main(device, sockets[1], keep_stderr);
	if (sockets[1] >= 0)
		close(sockets[1]);
	if (pid > 0) {
		fs->notifier = (struct notifier){ .pid = pid, .socket = sockets[0], .device = device };
		return;
	}
	atlock_log(ATLOCK_LOG_WARNING, "no process for notifications: %s; if this one is killed, its callers may hang",
		   strerror(errno));
	if (sockets[0] >= 0)
		close(sockets[0]);
	if (device >= 0)
		close(device);
}

/* The notifier's descriptor is the same open file. */
void notifier_attach(struct fs *fs)
{
	uint32_t session = (uint32_t)fuse_session_fd(fs->session);
	int err;

	if (fs->notifier.pid == 0)
		return;
	err = ioctl(fs->notifier.device, FUSE_DEV_IOC_CLONE, &session);
	close(fs->notifier.device);
	fs->notifier.device = -1;
	if (err != 0)
		notifier_stop(fs);
}

void notifier_stop(struct fs *fs)
{
	if (fs->notifier.pid == 0)
		return;
	close(fs->notifier.socket);
	if (fs->notifier.device >= 0)
		close(fs->notifier.device);
	while (waitpid(fs->notifier.pid, NULL, 0) < 0 && errno == EINTR)
		;
	fs->notifier.pid = 0;
}
