#include "gate.h"

#include <bsd/string.h>
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096
#define TXN_AT 144 /* in each of the two pages that make a transaction current */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool shut; /* lock, as the next two */
static bool blocks_shut;
static unsigned int waiting; /* who is at the gate */
static _Atomic bool failing;
static ino_t inode;
static char file[256];

void gate_set(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || strlcpy(file, path, sizeof(file)) >= sizeof(file))
		err(1, "%s", path);
	inode = st.st_ino;
	failing = false;
	gate_open();
}

static void gate_pass(const bool *is_shut)
{
	pthread_mutex_lock(&lock);
	bool waits = *is_shut;
	waiting += waits;
	pthread_cond_broadcast(&changed);
	while (*is_shut)
		pthread_cond_wait(&changed, &lock);
	waiting -= waits;
	pthread_mutex_unlock(&lock);
}

void gate_shut(void)
{
	pthread_mutex_lock(&lock);
	shut = true;
	pthread_mutex_unlock(&lock);
}

void gate_shut_blocks(void)
{
	pthread_mutex_lock(&lock);
	blocks_shut = true;
	pthread_mutex_unlock(&lock);
}

void gate_open(void)
{
	pthread_mutex_lock(&lock);
	shut = false;
	blocks_shut = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void gate_await(void)
{
	pthread_mutex_lock(&lock);
	while (waiting == 0)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

bool gate_is_waited_at(void)
{
	pthread_mutex_lock(&lock);
	bool is = waiting > 0;
	pthread_mutex_unlock(&lock);
	return is;
}

void gate_fail(bool fail)
{
	failing = fail;
}

uint64_t gate_newest(void)
{
	uint64_t numbers[2] = { 0, 0 };
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	for (int i = 0; i < 2; i++) {
		if (pread(fd, &numbers[i], sizeof(numbers[i]), (off_t)i * PAGE + TXN_AT) != sizeof(numbers[i]))
			err(1, "%s", file);
	}
	close(fd);
	return numbers[0] > numbers[1] ? numbers[0] : numbers[1];
}

void gate_await_newer(uint64_t than)
{
	while (gate_newest() <= than)
		(void)sched_yield();
}

static bool is_before(int fd)
{
	struct stat st;

	return inode != 0 && fstat(fd, &st) == 0 && st.st_ino == inode;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the headers' names are reserved. */
int fallocate(int fd, int mode, off_t at, off_t len)
{
	if (is_before(fd) && gettid() != getpid())
		gate_pass(&blocks_shut);
	return (int)syscall(SYS_fallocate, fd, mode, at, len);
}

int fdatasync(int fd)
{
	if (is_before(fd)) {
		if (gettid() != getpid())
			gate_pass(&shut);
		if (failing) {
			errno = EIO;
			return -1;
		}
	}
	return (int)syscall(SYS_fdatasync, fd);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
