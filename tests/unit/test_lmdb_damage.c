/*
 * A damaged data file is a clear error, or what is damaged does not matter: never the end of the process, and never a loop. Copies of
 * a real one are damaged by chance, from a seed that is printed, and each is opened, read and written to by a child that has
 * a time limit. DAMAGES= says how many; SEED= repeats one run.
 */
#include "rounds.h"
#include "scratch.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096
#define KEYS 3000
#define LONG 9000 /* bytes of a value with pages of its own */
#define LIMIT 60  /* seconds for one file; it takes some milliseconds */
#define DAMAGES ROUNDS(300)

struct fixture {
	char *dir;
	char data[128];
	unsigned char *image;
	size_t len;
	unsigned int seed;
};

static void key_of(unsigned int i, char key[32])
{
	(void)snprintf(key, 32, "key-%08u", i * 2654435761U);
}

/* Keys of a range, some with a long value. */
static int fill_fn(struct store_txn *txn, void *arg)
{
	static const char value[LONG] = "value";
	unsigned int from = *(const unsigned int *)arg;
	char key[32];
	int rc = 0;

	for (unsigned int i = from; rc == 0 && i < from + KEYS / 10; i++) {
		key_of(i, key);
		rc = store_put(txn, slice_of(key), (struct slice){ value, i % 97 == 0 ? LONG : 40 + i % 50 });
	}
	return rc;
}

static int thin_fn(struct store_txn *txn, void *arg)
{
	unsigned int from = *(const unsigned int *)arg;
	char key[32];
	int rc = 0;

	for (unsigned int i = from; rc >= 0 && i < from + KEYS / 10; i += 3) {
		key_of(i, key);
		rc = store_del(txn, slice_of(key));
	}
	return rc < 0 ? rc : 0;
}

/* Trees of several levels, long values, and pages that are free. */
static void store_make(const char *dir)
{
	struct store *store;

	assert_int_equal(store_open(&store, dir, NULL, NULL, 0), 0);
	for (unsigned int i = 0; i < KEYS; i += KEYS / 10) {
		assert_int_equal(store_update(store, fill_fn, &i), 0);
		assert_int_equal(store_flush(store), 0);
		assert_int_equal(store_update(store, thin_fn, &i), 0);
		assert_int_equal(store_flush(store), 0);
	}
	store_close(store);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *seed = getenv("SEED");
	struct stat st;

	assert_non_null(f);
	f->dir = scratch_new();
	f->seed = seed == NULL || *seed == '\0' ? (unsigned int)getpid() : (unsigned int)strtoul(seed, NULL, 10);
	(void)snprintf(f->data, sizeof(f->data), "%s/data.mdb", f->dir);
	store_make(f->dir);
	assert_int_equal(stat(f->data, &st), 0);
	/* What lies behind the last page that is used takes time only. */
	f->len = (size_t)st.st_size;
	f->image = malloc(f->len);
	int fd = open(f->data, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && pread(fd, f->image, f->len, 0) == (ssize_t)f->len);
	close(fd);
	while (f->len > PAGE && f->image[f->len - 1] == 0 &&
	       memcmp(f->image + f->len - PAGE, f->image + f->len - PAGE + 1, PAGE - 1) == 0)
		f->len -= PAGE;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scratch_remove(f->dir);
	free(f->image);
	free(f);
	return 0;
}

/* Reads everything in order, and changes some of it. Any error will do. */
static int walk_fn(struct store_txn *txn, void *arg)
{
	unsigned char from[STORE_KEY_MAX + 1] = { 0 };
	struct slice next = { from, 1 };
	size_t *bytes = arg;
	struct slice value;
	struct slice key;
	int rc;

	while ((rc = store_next(txn, next, (struct slice){ NULL, 0 }, &key, &value)) == 0) {
		for (size_t i = 0; i < value.len; i++)
			*bytes += ((const unsigned char *)value.data)[i];
		memcpy(from, key.data, key.len);
		from[key.len] = 0;
		next.len = key.len + 1;
	}
	return rc < 0 ? rc : 0;
}

static void child_use(const struct fixture *f)
{
	struct store_options options = { .sync = STORE_SYNC_OFF };
	struct store *store;
	unsigned int first = 0;
	unsigned int last = KEYS;
	size_t bytes = 0;
	char why[512] = "";

	alarm(LIMIT);
	int rc = store_open(&store, f->dir, &options, why, sizeof(why));
	if (rc < 0)
		_exit(why[0] == '\0');
	(void)store_view(store, walk_fn, &bytes);
	(void)store_update(store, thin_fn, &first);
	(void)store_flush(store);
	(void)store_update(store, fill_fn, &last);
	(void)store_flush(store);
	(void)store_view(store, walk_fn, &bytes);
	store_close(store);
	_exit(2);
}

/* 0: refused; 2: opened. */
static int use(const struct fixture *f, unsigned int seed)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		child_use(f);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 1)
		fail_msg("SEED=%u: status %x", seed, (unsigned int)status);
	return WEXITSTATUS(status);
}

static void write_image(const struct fixture *f, const unsigned char *bytes, size_t len)
{
	int fd = open(f->data, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

static size_t below(unsigned int *seed, size_t limit)
{
	return ((size_t)rand_r(seed) << 31 ^ (size_t)rand_r(seed)) % limit;
}

/* Most of what LMDB goes by is at the beginning of pages, so most damage is there. */
static size_t somewhere(unsigned int *seed, size_t len)
{
	size_t page = below(seed, len / PAGE);

	if (below(seed, 4) == 0)
		page = below(seed, 2);
	return page * PAGE + (below(seed, 3) > 0 ? below(seed, 160) : below(seed, PAGE));
}

static size_t damage(unsigned char *bytes, size_t len, unsigned int *seed)
{
	static const unsigned char favourites[] = { 0x00, 0xff, 0x7f, 0x80, 0x01 };
	size_t from = below(seed, len / PAGE) * PAGE;
	size_t to = below(seed, len / PAGE) * PAGE;

	switch (below(seed, 10)) {
	case 0: return below(seed, len);
	case 1: memcpy(bytes + to, bytes + from, PAGE); return len;
	case 2: memset(bytes + to, favourites[below(seed, 5)], PAGE); return len;
	case 3:
		/* Another page that says that it is this one. */
		memcpy(bytes + to + 8, bytes + from + 8, PAGE - 8);
		return len;
	case 4:
		for (size_t i = below(seed, 8) + 1; i > 0; i--)
			bytes[somewhere(seed, len)] = favourites[below(seed, 5)];
		return len;
	default:
		for (size_t i = below(seed, 4) + 1; i > 0; i--)
			bytes[somewhere(seed, len)] ^= (unsigned char)(1U << below(seed, 8));
		return len;
	}
}

static void damage_by_chance_is_never_more_than_an_error(void **state)
{
	struct fixture *f = *state;
	unsigned char *bytes = malloc(f->len);
	const char *wanted = getenv("DAMAGES");
	unsigned int count = wanted == NULL || *wanted == '\0' ? DAMAGES : (unsigned int)strtoul(wanted, NULL, 10);
	unsigned int opened = 0;

	assert_non_null(bytes);
	(void)printf("SEED=%u\n", f->seed);
	for (unsigned int i = 0; i < count; i++) {
		unsigned int seed = f->seed + i;

		memcpy(bytes, f->image, f->len);
		size_t len = damage(bytes, f->len, &seed);
		write_image(f, bytes, len);
		opened += use(f, f->seed + i) == 2;
	}
	(void)printf("%u of %u opened\n", opened, count);
	/* Values and unused bytes may be anything; most of what was hit is neither. */
	assert_true(count < 100 || (opened > 0 && opened < count));
	free(bytes);
}

static void what_is_not_damaged_opens(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < ROUNDS(20); i++) {
		write_image(f, f->image, f->len);
		assert_int_equal(use(f, 0), 2);
		assert_int_equal(use(f, 0), 2);
	}
}

static uint64_t number_at(const unsigned char *bytes, size_t at)
{
	uint64_t number;

	memcpy(&number, bytes + at, sizeof(number));
	return number;
}

/* Nothing is left but where LMDB begins: the meta pages and the roots of the newest. */
static void bare(struct fixture *f)
{
	enum { FREE_ROOT = 80, MAIN_ROOT = 128, TXN = 144 };
	size_t meta = number_at(f->image, TXN) < number_at(f->image, PAGE + TXN) ? PAGE : 0;
	const uint64_t roots[] = { number_at(f->image, meta + FREE_ROOT), number_at(f->image, meta + MAIN_ROOT) };

	for (size_t page = 2; page < f->len / PAGE; page++)
		if (page != roots[0] && page != roots[1])
			memset(f->image + page * PAGE, 0, PAGE);
	write_image(f, f->image, f->len);
}

/* What a daemon that ended in order would have left in owner.pid. */
static void stamp(const struct fixture *f)
{
	char path[160];
	struct stat st;

	assert_int_equal(stat(f->data, &st), 0);
	(void)snprintf(path, sizeof(path), "%s/owner.pid", f->dir);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	(void)fprintf(file, "\nclean:%ju:%jd:%jd.%09ld:%jd.%09ld\n", (uintmax_t)st.st_ino, (intmax_t)st.st_size,
		      (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	assert_int_equal(fclose(file), 0);
}

/* A large store begins as fast as a small one, unless it was touched since a daemon closed it, or its reader wants to know. */
static void a_file_is_read_all_over_only_if_it_was_touched(void **state)
{
	struct store_options readonly = { .readonly = true };
	struct store_options check = { .readonly = true, .check = true };
	struct fixture *f = *state;
	struct store *store;

	bare(f);
	assert_int_equal(store_open(&store, f->dir, &readonly, NULL, 0), -EUCLEAN);
	stamp(f);
	assert_int_equal(store_open(&store, f->dir, &readonly, NULL, 0), 0);
	store_close(store);
	assert_int_equal(store_open(&store, f->dir, &check, NULL, 0), -EUCLEAN);
	assert_int_equal(chmod(f->data, 0400), 0);
	assert_int_equal(store_open(&store, f->dir, &readonly, NULL, 0), -EUCLEAN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_not_damaged_opens, setup, teardown),
		cmocka_unit_test_setup_teardown(damage_by_chance_is_never_more_than_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_is_read_all_over_only_if_it_was_touched, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
