/*
 * Runs a target without libFuzzer: replay SEED ROUNDS FOLDER gives it every file of the folder, then that many changed copies of
 * each. The same seed makes the same copies. A target that fails ends the program; the input is then in fuzz-failed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_MAX ((size_t)1024 * 1024)

static uint64_t state;
static uint8_t input[INPUT_MAX];
static size_t input_len;

/* splitmix64 */
static uint64_t next_random(void)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static size_t below(size_t n)
{
	return n == 0 ? 0 : (size_t)(next_random() % n);
}

/* Bytes that parsers treat specially. */
static const char special[] = "\0\n\r\t %/:@=-.,;\"'\\{}[]#?*&+~0129afAFzZ\x7f\x80\x85\xc2\xe2\xff";

static void change_once(void)
{
	size_t at = below(input_len);
	size_t n = 1 + below(8);

	switch (below(6)) {
	case 0:
		if (input_len > 0)
			input[at] = (uint8_t)next_random();
		break;
	case 1:
		if (input_len > 0)
			input[at] = (uint8_t)special[below(sizeof(special) - 1)];
		break;
	case 2:
		if (input_len > 0)
			input[at] = (uint8_t)(input[at] ^ (1U << below(8)));
		break;
	case 3: /* insert */
		if (input_len + n <= INPUT_MAX) {
			memmove(input + at + n, input + at, input_len - at);
			for (size_t i = 0; i < n; i++)
				input[at + i] = (uint8_t)special[below(sizeof(special) - 1)];
			input_len += n;
		}
		break;
	case 4: /* remove */
		if (at + n <= input_len) {
			memmove(input + at, input + at + n, input_len - at - n);
			input_len -= n;
		}
		break;
	default: /* repeat a part of it */
		if (at + n <= input_len && input_len + n <= INPUT_MAX) {
			memmove(input + at + n, input + at, input_len - at);
			input_len += n;
		}
		break;
	}
}

/* Writes the input that led here, with calls that a signal handler may make. */
static void failed(int sig)
{
	int fd = open("fuzz-failed", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd >= 0 && write(fd, input, input_len) >= 0)
		close(fd);
	signal(sig, SIG_DFL);
	raise(sig);
}

static int seed_read(int folder, const char *name, uint8_t *out, size_t *len)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, INPUT_MAX);

	if (fd >= 0)
		close(fd);
	*len = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -1 : 0;
}

static int seed_play(int folder, const char *name, uint64_t rounds)
{
	static uint8_t seed[INPUT_MAX];
	size_t len;

	if (seed_read(folder, name, seed, &len) < 0)
		return -1;
	for (uint64_t round = 0; round <= rounds; round++) {
		memcpy(input, seed, len);
		input_len = len;
		for (size_t n = round == 0 ? 0 : 1 + below(4); n > 0; n--)
			change_once();
		LLVMFuzzerTestOneInput(input, input_len);
	}
	return 0;
}

int main(int argc, char **argv)
{
	DIR *dir = argc == 4 ? opendir(argv[3]) : NULL;
	const struct dirent *entry;
	unsigned int seeds = 0;

	if (dir == NULL) {
		fprintf(stderr, "usage: %s SEED ROUNDS FOLDER\n", argv[0]);
		return 2;
	}
	signal(SIGABRT, failed);
	signal(SIGSEGV, failed);
	state = strtoull(argv[1], NULL, 10);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (seed_play(dirfd(dir), entry->d_name, strtoull(argv[2], NULL, 10)) < 0) {
			fprintf(stderr, "%s/%s: %s\n", argv[3], entry->d_name, strerror(errno));
			return 2;
		}
		seeds++;
	}
	closedir(dir);
	if (seeds == 0) {
		fprintf(stderr, "%s: no seeds\n", argv[3]);
		return 2;
	}
	return 0;
}
