#include "tape.h"

#include <bsd/stdlib.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOMENT 400                             /* us, at most */
#define TAPE_SIZE ((size_t)1024 * 1024 * 1024) /* of address space; memory is taken as it is used */

struct tape {
	ino_t inodes[TAPE_FILES];
	size_t count;
	size_t used;
	_Alignas(struct tape_op) unsigned char bytes[];
};

const char *const tape_names[TAPE_FILES] = { "data.mdb", "commit.log" };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the tape */
static struct tape *recording;
static _Atomic enum tape_fault failing;
static _Atomic unsigned int failed;
static _Atomic unsigned int aside; /* operations of other threads than the first */

struct tape *tape_new(const char *directory)
{
	struct tape *tape = mmap(NULL, TAPE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
				 -1, 0);
	struct stat st;
	char path[256];

	if (tape == MAP_FAILED)
		err(1, "tape");
	for (size_t i = 0; i < TAPE_FILES; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", directory, tape_names[i]);
		if (stat(path, &st) < 0)
			err(1, "%s", path);
		tape->inodes[i] = st.st_ino;
	}
	return tape;
}

void tape_free(struct tape *tape)
{
	munmap(tape, TAPE_SIZE);
}

void tape_start(struct tape *tape)
{
	recording = tape;
}

void tape_fail(enum tape_fault fault)
{
	failing = fault;
}

unsigned int tape_failed(void)
{
	return failed;
}

unsigned int tape_aside(void)
{
	return aside;
}

size_t tape_count(const struct tape *tape)
{
	return tape->count;
}

static size_t op_size(size_t len)
{
	size_t align = _Alignof(struct tape_op);

	return (sizeof(struct tape_op) + len + align - 1) / align * align;
}

/* Adds an operation; it counts when it is whole, because the process may end at any moment. */
static void op_add(const struct tape_op *what, const void *data)
{
	pthread_mutex_lock(&lock);
	struct tape_op *op = (void *)(recording->bytes + recording->used);

	if (op_size(what->len) > TAPE_SIZE - sizeof(*recording) - recording->used)
		errx(1, "the tape is full");
	*op = *what;
	if (what->len != 0)
		memcpy(op->bytes, data, what->len);
	recording->count++;
	atomic_thread_fence(memory_order_release);
	recording->used += op_size(what->len);
	pthread_mutex_unlock(&lock);
}

const struct tape_op *tape_next(const struct tape *tape, const struct tape_op *op)
{
	const unsigned char *next = op == NULL ? tape->bytes : (const unsigned char *)op + op_size(op->len);

	return next < tape->bytes + tape->used ? (const void *)next : NULL;
}

void tape_note(uint64_t number, bool durable)
{
	op_add(&(struct tape_op){ .kind = TAPE_NOTE, .at = number, .durable = durable }, NULL);
}

/* Which of the store's files a descriptor is; TAPE_FILES: none. */
static enum tape_file file_of(int fd)
{
	enum tape_file file = TAPE_DATA;
	struct stat st;

	if (recording == NULL || fstat(fd, &st) < 0)
		return TAPE_FILES;
	while (file < TAPE_FILES && recording->inodes[file] != st.st_ino)
		file++;
	return file;
}

/* Only LMDB's page that makes a transaction current is written like that. */
static bool is_through(int fd)
{
	return (fcntl(fd, F_GETFL) & O_DSYNC) != 0;
}

static bool fault_met(enum tape_fault fault, int fd)
{
	if (failing != fault || file_of(fd) != TAPE_DATA)
		return false;
	failed++;
	errno = EIO;
	return true;
}

static void write_record(int fd, uint64_t at, const void *data, size_t len)
{
	enum tape_file file = file_of(fd);

	if (file == TAPE_FILES)
		return;
	op_add(&(struct tape_op){ .kind = TAPE_WRITE,
				  .file = file,
				  .at = at,
				  .len = len,
				  .through = failing != TAPE_META && is_through(fd) },
	       data);
}

static void moment_take(void)
{
	if (recording == NULL || gettid() == getpid())
		return;
	aside++;
	(void)usleep(arc4random_uniform(MOMENT));
}

/* Nobody cuts the real power, so nobody has to wait for the real disk. */
static int sync_record(int fd)
{
	enum tape_file file = file_of(fd);

	moment_take();
	if (fault_met(TAPE_PAGES, fd))
		return -1;
	if (file != TAPE_FILES)
		op_add(&(struct tape_op){ .kind = TAPE_SYNC, .file = file }, NULL);
	return 0;
}

/* Both names: which one a caller means depends on its flags, and LMDB's are not ours. */
ssize_t tape_pwrite(int fd, const void *data, size_t len, off_t at) __asm__("pwrite");
ssize_t tape_pwrite64(int fd, const void *data, size_t len, off_t at) __asm__("pwrite64");
int tape_fallocate(int fd, int mode, off_t at, off_t len) __asm__("fallocate");
int tape_fallocate64(int fd, int mode, off_t at, off_t len) __asm__("fallocate64");

ssize_t tape_pwrite(int fd, const void *data, size_t len, off_t at)
{
	moment_take();
	ssize_t n = syscall(SYS_pwrite64, fd, data, len, at);

	if (n > 0)
		write_record(fd, (uint64_t)at, data, (size_t)n);
	return is_through(fd) && fault_met(TAPE_META, fd) ? -1 : n;
}

ssize_t tape_pwrite64(int fd, const void *data, size_t len, off_t at)
{
	return tape_pwrite(fd, data, len, at);
}

int tape_fallocate(int fd, int mode, off_t at, off_t len)
{
	int rc = (int)syscall(SYS_fallocate, fd, mode, at, len);

	if (rc == 0)
		write_record(fd, (uint64_t)(at + len), NULL, 0);
	return rc;
}

int tape_fallocate64(int fd, int mode, off_t at, off_t len)
{
	return tape_fallocate(fd, mode, at, len);
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the headers' names are reserved. */
ssize_t writev(int fd, const struct iovec *parts, int count)
{
	off_t at = file_of(fd) == TAPE_FILES ? 0 : lseek(fd, 0, SEEK_CUR);
	ssize_t n = syscall(SYS_writev, fd, parts, count);

	for (ssize_t left = n; left > 0; parts++) {
		size_t len = parts->iov_len < (size_t)left ? parts->iov_len : (size_t)left;

		write_record(fd, (uint64_t)at, parts->iov_base, len);
		at += (off_t)len;
		left -= (ssize_t)len;
	}
	return n;
}

int fdatasync(int fd)
{
	return sync_record(fd);
}

int fsync(int fd)
{
	return sync_record(fd);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
