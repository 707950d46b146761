/*
 * Records which functions a program enters and leaves, for tests/trace/run. Linked into a build with -finstrument-functions.
 *
 * With TRACE_FILE set, SIGRTMIN begins a recording and the next one ends it and writes the file: pairs of thread and address, the
 * address relative to the program's start, 0 in place of it for a return. TRACE_ALL records from start to exit instead.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define UNTRACED __attribute__((no_instrument_function))
#define EVENTS_MAX (4U << 20)

struct event {
	uint64_t thread;
	uint64_t address;
};

extern const char __executable_start[];

static struct event *events;
static atomic_uint count;
static atomic_uint recording;
static const char *file;
static _Thread_local pid_t self;

UNTRACED static void dump(void)
{
	unsigned int n = atomic_exchange(&count, 0);
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	const char *data = (const char *)events;
	size_t left = (n < EVENTS_MAX ? n : EVENTS_MAX) * sizeof(*events);

	while (fd >= 0 && left > 0) {
		ssize_t done = write(fd, data, left);

		if (done <= 0)
			break;
		data += done;
		left -= (size_t)done;
	}
	if (fd >= 0)
		close(fd);
}

UNTRACED static void toggle(int number)
{
	(void)number;
	if (atomic_fetch_xor(&recording, 1U) != 0)
		dump();
}

UNTRACED static void stop_at_exit(void)
{
	if (atomic_exchange(&recording, 0) != 0)
		dump();
}

UNTRACED __attribute__((constructor)) static void start(void)
{
	struct sigaction action = { .sa_handler = toggle, .sa_flags = SA_RESTART };

	file = getenv("TRACE_FILE");
	if (file == NULL)
		return;
	events = calloc(EVENTS_MAX, sizeof(*events));
	if (events == NULL)
		abort();
	sigaction(SIGRTMIN, &action, NULL);
	if (getenv("TRACE_ALL") != NULL) {
		atomic_store(&recording, 1);
		atexit(stop_at_exit);
	}
}

UNTRACED static void record(uint64_t address)
{
	unsigned int at;

	if (atomic_load_explicit(&recording, memory_order_relaxed) == 0)
		return;
	if (self == 0)
		self = gettid();
	at = atomic_fetch_add(&count, 1);
	if (at < EVENTS_MAX)
		events[at] = (struct event){ (uint64_t)self, address };
}

UNTRACED void __cyg_profile_func_enter(void *fn, void *site);
UNTRACED void __cyg_profile_func_exit(void *fn, void *site);

void __cyg_profile_func_enter(void *fn, void *site)
{
	(void)site;
	record((uint64_t)((const char *)fn - __executable_start));
}

void __cyg_profile_func_exit(void *fn, void *site)
{
	(void)fn, (void)site;
	record(0);
}
