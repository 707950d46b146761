/* Notifications: the kernel's format, and which process writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "notice.h"

static int device; /* the session's */

int fuse_session_fd(struct fuse_session *session)
{
	(void)session;
	return device;
}

static struct notice notice;

static void compose(void)
{
	notice.len = 0;
	notice_delete(&notice, 7, 9, "production");
	notice_expire(&notice, 7, "staging");
	notice_attr(&notice, 9);
}

/* The next notification that arrives; its arguments and its name follow the header. */
static size_t arrived(int fd, int32_t code, uint8_t *bytes, size_t size)
{
	ssize_t n = read(fd, bytes, size);
	struct fuse_out_header header;

	assert_true(n >= (ssize_t)sizeof(header));
	memcpy(&header, bytes, sizeof(header));
	assert_int_equal(header.len, n);
	assert_int_equal(header.error, code);
	assert_int_equal(header.unique, 0);
	return (size_t)n - sizeof(header);
}

static void expect_all(int fd)
{
	uint8_t bytes[NOTICE_ONE_MAX];
	const uint8_t *args = bytes + sizeof(struct fuse_out_header);
	struct fuse_notify_delete_out gone;
	struct fuse_notify_inval_entry_out entry;
	struct fuse_notify_inval_inode_out inode;

	assert_int_equal(arrived(fd, FUSE_NOTIFY_DELETE, bytes, sizeof(bytes)), sizeof(gone) + sizeof("production"));
	memcpy(&gone, args, sizeof(gone));
	assert_int_equal(gone.parent, 7);
	assert_int_equal(gone.child, 9);
	assert_int_equal(gone.namelen, strlen("production"));
	assert_string_equal((const char *)args + sizeof(gone), "production");

	assert_int_equal(arrived(fd, FUSE_NOTIFY_INVAL_ENTRY, bytes, sizeof(bytes)), sizeof(entry) + sizeof("staging"));
	memcpy(&entry, args, sizeof(entry));
	assert_int_equal(entry.parent, 7);
	assert_int_equal(entry.namelen, strlen("staging"));
	assert_string_equal((const char *)args + sizeof(entry), "staging");

	assert_int_equal(arrived(fd, FUSE_NOTIFY_INVAL_INODE, bytes, sizeof(bytes)), sizeof(inode));
	memcpy(&inode, args, sizeof(inode));
	assert_int_equal(inode.ino, 9);
	assert_int_equal(inode.off, -1);
}

static void each_is_a_write_of_its_own(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	compose();
	notice_write(fds[0], notice.bytes, notice.len);
	expect_all(fds[1]);
	close(fds[0]);
	close(fds[1]);
}

static void the_longest_name_fits(void **state)
{
	char name[ATLOCK_COMPONENT_MAX + 1] = "";

	(void)state;
	memset(name, 'x', ATLOCK_COMPONENT_MAX);
	notice.len = 0;
	for (size_t i = 0; i < NOTICE_MANY; i++)
		notice_delete(&notice, 1, 2, name);
	assert_true(notice.len <= sizeof(notice.bytes));
}

static void *notifier(void *arg)
{
	static uint8_t bytes[NOTICE_MAX];
	const int *fds = arg;
	ssize_t n = recv(fds[0], bytes, sizeof(bytes), 0);

	assert_true(n > 0);
	notice_write(fds[1], bytes, (size_t)n);
	assert_int_equal(send(fds[0], "", 1, 0), 1);
	return NULL;
}

static void the_notifier_writes(void **state)
{
	int link[2];
	int written[2];
	struct fs fs = { .notifier = { .pid = 1 } };
	pthread_t thread;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, link), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, written), 0);
	fs.notifier.socket = link[0];
	device = -1;
	compose();
	assert_int_equal(pthread_create(&thread, NULL, notifier, (int[]){ link[1], written[0] }), 0);
	notice_send(&fs, &notice);
	/* All is done when it returns. */
	assert_int_equal(fcntl(written[1], F_SETFL, O_NONBLOCK), 0);
	expect_all(written[1]);
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++) {
		close(link[i]);
		close(written[i]);
	}
}

/* None was started; it is gone; it goes before it has answered. */
static void without_a_notifier_the_daemon_writes(void **state)
{
	enum { NONE, GONE, SILENT };

	(void)state;
	for (int how = NONE; how <= SILENT; how++) {
		struct fs fs = { .notifier = { .pid = how != NONE } };
		int link[2];
		int written[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, link), 0);
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, written), 0);
		fs.notifier.socket = link[0];
		device = written[0];
		if (how == SILENT)
			shutdown(link[1], SHUT_WR);
		else
			close(link[1]);
		compose();
		notice_send(&fs, &notice);
		expect_all(written[1]);
		if (how == SILENT)
			close(link[1]);
		close(link[0]);
		close(written[0]);
		close(written[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_a_write_of_its_own),
		cmocka_unit_test(the_longest_name_fits),
		cmocka_unit_test(the_notifier_writes),
		cmocka_unit_test(without_a_notifier_the_daemon_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
