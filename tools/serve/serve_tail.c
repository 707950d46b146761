#include "serve_tail.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atlock/check.h>

#define MOST (2 * 1024 * 1024) /* bytes of one reading: of a longer piece the last */

/* --- Reading --- */

static int line_add(struct serve_tail *tail, const char *text, size_t len)
{
	char **lines = tool_grow(tail->lines, tail->count, &tail->room, sizeof(*lines));

	if (lines == NULL)
		return -ENOMEM;
	tail->lines = lines;
	lines[tail->count] = strndup(text, len);
	return lines[tail->count] == NULL ? -ENOMEM : (tail->count++, 0);
}

/* Takes the whole lines of a piece; returns how many bytes they are, or a negative errno. `cut`: the piece begins within a line. */
static ssize_t piece_take(struct serve_tail *tail, const char *piece, size_t len, bool cut)
{
	const char *at = piece;
	const char *end;

	for (; (end = memchr(at, '\n', len - (size_t)(at - piece))) != NULL; at = end + 1) {
		if (!cut && line_add(tail, at, (size_t)(end - at)) < 0)
			return -ENOMEM;
		cut = false;
	}
	return at - piece;
}

/* Reads a file of events/ from tail->offset to its end. */
static int file_read(struct serve_tail *tail, const struct mount *mount)
{
	char path[sizeof("events/") + sizeof(tail->file)];
	char *piece = NULL;
	struct stat st;
	bool cut = false;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "events/%s", tail->file);
	fd = openat(mount->fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == ENOENT ? 0 : -errno;
	n = fstat(fd, &st) == 0 ? 0 : -errno;
	if (n == 0 && st.st_size < tail->offset)
		tail->offset = 0;
	if (n == 0 && st.st_size - tail->offset > MOST) {
		tail->offset = st.st_size - MOST;
		cut = true;
	}
	if (n == 0 && st.st_size > tail->offset) {
		size_t len = (size_t)(st.st_size - tail->offset);

		piece = malloc(len);
		n = piece == NULL ? -ENOMEM : pread(fd, piece, len, tail->offset);
		n = n < 0 && piece != NULL ? -errno : n;
	}
	close(fd);
	if (n > 0 && piece != NULL)
		n = piece_take(tail, piece, (size_t)n, cut);
	free(piece);
	if (n < 0)
		return (int)n;
	tail->offset += n;
	return 0;
}

int serve_tail_read(struct serve_tail *tail, const struct mount *mount)
{
	char file[sizeof(tail->file)];
	ssize_t n = readlinkat(mount->fd, "events/live", file, sizeof(file) - 1);
	int err = 0;

	if (n < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	file[n] = '\0';
	if (tail->file[0] != '\0')
		err = file_read(tail, mount);
	if (err < 0 || strcmp(file, tail->file) == 0)
		return err;
	(void)strlcpy(tail->file, file, sizeof(tail->file));
	tail->offset = 0;
	return file_read(tail, mount);
}

void serve_tail_free(struct serve_tail *tail)
{
	for (size_t i = 0; i < tail->count; i++)
		free(tail->lines[i]);
	free(tail->lines);
}

/* --- The ring --- */

static void ring_drop(struct serve_ring *ring)
{
	free(ring->slots[(ring->end - ring->count) % SERVE_RING].line);
	ring->count--;
}

/*
 * The number of a line among those of several hosts, which each have numbers of their own: as they come. It begins with the time, so that a
 * browser that was here before this program was started again finds that it has missed something.
 */
static uint64_t number_next(const struct serve_ring *ring)
{
	return ring->count > 0 ? ring->slots[(ring->end - 1) % SERVE_RING].seq + 1 : (uint64_t)time(NULL) * 1000000;
}

/* Takes over the line. A number of 0 or one that does not rise is of another log. */
static void ring_add(struct serve_ring *ring, char *line)
{
	static const char start[] = "{\"seq\":";
	uint64_t seq = strncmp(line, start, sizeof(start) - 1) == 0 ? strtoull(line + sizeof(start) - 1, NULL, 10) : 0;

	if (seq == 0) {
		free(line);
		return;
	}
	if (atlock_audit_chain(line) != 0)
		seq = number_next(ring);
	while (ring->count > 0 && (ring->count == SERVE_RING || ring->slots[(ring->end - 1) % SERVE_RING].seq >= seq))
		ring_drop(ring);
	ring->slots[ring->end % SERVE_RING].seq = seq;
	ring->slots[ring->end % SERVE_RING].line = line;
	ring->end++;
	ring->count++;
}

void serve_ring_take(struct serve_ring *ring, struct serve_tail *tail)
{
	for (size_t i = 0; i < tail->count; i++)
		ring_add(ring, tail->lines[i]);
	tail->count = 0;
}

char *serve_ring_next(const struct serve_ring *ring, uint64_t *seq, bool *lost)
{
	uint64_t low = ring->end - ring->count;
	uint64_t high = ring->end;

	if (lost != NULL)
		*lost = ring->count > 0 && *seq != 0 && ring->slots[low % SERVE_RING].seq > *seq + 1;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (ring->slots[middle % SERVE_RING].seq > *seq)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == ring->end)
		return NULL;
	*seq = ring->slots[low % SERVE_RING].seq;
	return strdup(ring->slots[low % SERVE_RING].line);
}

void serve_ring_range(const struct serve_ring *ring, uint64_t *first, uint64_t *last)
{
	*first = ring->count == 0 ? 0 : ring->slots[(ring->end - ring->count) % SERVE_RING].seq;
	*last = ring->count == 0 ? 0 : ring->slots[(ring->end - 1) % SERVE_RING].seq;
}

void serve_ring_free(struct serve_ring *ring)
{
	while (ring->count > 0)
		ring_drop(ring);
}
