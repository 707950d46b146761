#include "child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void child_main(int ready, int tell, void (*prepare)(int tell, void *arg), void *arg)
{
	if (prepare != NULL)
		prepare(tell, arg);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nothing behind */
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

struct child child_start(void (*prepare)(int tell, void *arg), void *arg)
{
	struct child child;
	int ready[2];
	int told[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(told), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0)
		child_main(ready[1], told[1], prepare, arg);
	close(ready[1]);
	close(told[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	child.told = told[0];
	return child;
}

void child_kill(struct child *child)
{
	siginfo_t info;

	assert_int_equal(kill(child->pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT), 0);
}

void child_wait(struct child *child)
{
	close(child->told);
	assert_int_equal(kill(child->pid, SIGKILL), 0); /* a zombie does not mind */
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

void child_session(void)
{
	pid_t pid;
	int status;

	if (getsid(0) != 0 || setsid() >= 0)
		return;
	pid = fork(); /* the leader of a process group cannot begin a session */
	if (pid == 0) {
		setsid();
		return;
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		exit(1);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}
