/* atlock top: what is held, who waits and how fast it goes, as it changes, with keys to do something about it. */
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choice.h"
#include "moment.h"
#include "top.h"
#include "top_batch.h"
#include "top_command.h"
#include "top_keys.h"
#include "top_reader.h"
#include "top_screen.h"

#define DELAY_USUAL (2 * ATLOCK_SECOND)
#define DELAY_LEAST (ATLOCK_SECOND / 10)
#define DELAY_MOST (86400 * ATLOCK_SECOND)
#define SUSPICIOUS (3 * ATLOCK_SECOND) /* a reading that takes longer is mentioned */

/* --- Signals --- */

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static volatile sig_atomic_t ended_by;

static void end(int number)
{
	ended_by = number;
}

/* Signals are blocked except in ppoll(), so that none is missed between the check of the flag and the wait. */
static void signals_take(sigset_t *waiting)
{
	struct sigaction action = { .sa_handler = end };
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGWINCH);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		sigaction(ending[i], &action, NULL);
		sigaddset(&held, ending[i]);
	}
	pthread_sigmask(SIG_BLOCK, &held, waiting);
	sigdelset(waiting, SIGWINCH);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		sigdelset(waiting, ending[i]);
}

/* Ends by the signal that came, so that the parent process sees it. */
static void signals_pass_on(const sigset_t *waiting)
{
	if (ended_by == 0)
		return;
	signal(ended_by, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, waiting, NULL);
	(void)raise(ended_by);
}

/* --- On a terminal --- */

struct loop {
	struct top *top;
	struct top_reader *reader;
	sigset_t waiting; /* the signal mask in ppoll() */
	int64_t began;    /* the last look; 0: there was none */
	bool looking;     /* it is not over */
	long count;       /* of looks that are */
};

/* Waits for a key, a reading or a signal, and at most a second, after which ages must be redrawn. False if the terminal is gone. */
static bool loop_wait(const struct loop *loop)
{
	struct pollfd fds[] = {
		{ .fd = top_screen_fd(), .events = POLLIN },
		{ .fd = top_reader_fd(loop->reader), .events = POLLIN },
	};
	int64_t left = ATLOCK_SECOND;
	struct timespec timeout;

	if (!loop->looking && !loop->top->paused)
		left = loop->began + loop->top->every - moment_steady();
	left = left < 0 ? 0 : left > ATLOCK_SECOND ? ATLOCK_SECOND : left;
	timeout = moment_timespec(left);
	return ppoll(fds, 2, &timeout, &loop->waiting) <= 0 || (fds[0].revents & ~POLLIN) == 0;
}

static void loop_look(struct loop *loop)
{
	struct top *top = loop->top;

	if (!top->again && (loop->looking || top->paused || moment_steady() < loop->began + top->every))
		return;
	top_reader_ask(loop->reader);
	loop->began = moment_steady();
	loop->looking = true;
	top->again = false;
}

static int loop_take(struct loop *loop)
{
	struct top *top = loop->top;
	bool last;
	struct top_model *model = top_reader_take(loop->reader, &last);
	int64_t busy = top_reader_busy(loop->reader);

	top->reading = busy > SUSPICIOUS && busy > top->every ? busy : 0;
	/* A key may have asked for another reading meanwhile. */
	loop->looking = !last;
	if (model == NULL)
		return 0;
	loop->count++;
	if (loop->count == top->iterations)
		top->quit = true;
	return top_take(top, model);
}

static int screen_loop(struct loop *loop)
{
	struct top *top = loop->top;
	int err = 0;
	wint_t key;
	bool code;

	while (!top->quit && ended_by == 0 && err == 0) {
		loop_look(loop);
		top_screen_draw(top);
		if (!loop_wait(loop))
			break;
		while (!top->quit && top_screen_key(&key, &code))
			top_key(top, key, code);
		err = loop_take(loop);
	}
	return err;
}

static int on_terminal(struct top *top)
{
	struct loop loop = { .top = top };
	bool ended;
	int err;

	top->again = true;
	signals_take(&loop.waiting);
	err = top_reader_start(&loop.reader, &top->mount, &top->filter);
	if (err < 0)
		return tool_fail(top->tool, EXIT_SYSTEM, "%s", strerror(-err));
	err = top_screen_open();
	if (err == 0)
		err = screen_loop(&loop);
	top_screen_close();
	ended = top_reader_stop(loop.reader);
	signals_pass_on(&loop.waiting);
	/* The thread may still use `top`: leave without freeing it. */
	if (!ended)
		_exit(EXIT_UNAVAILABLE);
	if (err == -ENOTSUP)
		return tool_fail(top->tool, EXIT_UNAVAILABLE,
				 "nothing is known of the terminal \"%s\": set TERM, or use --batch",
				 getenv("TERM") == NULL ? "" : getenv("TERM"));
	if (err == -ENOTTY)
		return tool_fail(top->tool, EXIT_UNAVAILABLE, "there is no terminal to type on: use --batch");
	return err < 0 ? tool_no_memory(top->tool) : EXIT_DONE;
}

/* --- The words --- */

/* "2", "0.5", and durations as everywhere else. */
static int delay_take(struct top *top)
{
	char *end_of = NULL;
	double seconds = strtod(optarg, &end_of);
	int64_t delay = 0;

	if (end_of != optarg && *end_of == '\0' && seconds > 0 && seconds * (double)ATLOCK_SECOND <= (double)DELAY_MOST)
		delay = (int64_t)(seconds * (double)ATLOCK_SECOND);
	else if (atlock_duration_parse(optarg, false, &delay) != 0)
		delay = 0;
	if (delay <= 0 || delay > DELAY_MOST)
		return tool_usage(top->tool, "--delay is a number of seconds such as 2 or 0.5, not \"%s\"", optarg);
	top->delay = delay < DELAY_LEAST ? DELAY_LEAST : delay;
	return -1;
}

struct words {
	struct top *top;
	const char *sort;
	bool reverse;
};

static int option_take(void *arg, int letter)
{
	struct words *words = arg;
	struct top *top = words->top;

	switch (letter) {
	case 'd': return delay_take(top);
	case 'b': top->batch = true; return -1;
	case 'Q': top->view = TOP_QUEUE; return -1;
	case 's': words->sort = optarg; return -1;
	case 'R': words->reverse = true; return -1;
	case 'n':
		top->iterations = (long)strtonum(optarg, 1, INT32_MAX, NULL);
		return top->iterations > 0
			       ? -1
			       : tool_usage(top->tool, "--iterations is how often to look, not \"%s\"", optarg);
	default: return filter_option(top->tool, &top->filter, letter);
	}
}

static int sort_take(struct top *top, const char *sort, bool reverse)
{
	struct top_list *list = &top->lists[top->view];
	const struct top_column *column;
	char names[128] = "";

	list->reverse = reverse;
	if (sort == NULL)
		return EXIT_DONE;
	list->column = top_column_find(top->view, sort);
	if (list->column < TOP_COLUMNS)
		return EXIT_DONE;
	for (size_t i = 0; (column = top_column(top->view, i)) != NULL; i++) {
		(void)strlcat(names, i == 0 ? "" : " ", sizeof(names));
		(void)strlcat(names, column->name, sizeof(names));
	}
	return tool_usage(top->tool, "there is no column \"%s\" but %s", sort, names);
}

/* Without a terminal, or on one that cannot move its cursor. */
static bool wants_plain(const struct top *top)
{
	const char *term = getenv("TERM");

	return top->batch || !isatty(STDOUT_FILENO) || (term != NULL && strcmp(term, "dumb") == 0);
}

int cmd_top(struct tool *tool, int argc, char **argv)
{
	struct top top = { .tool = tool, .delay = DELAY_USUAL, .every = DELAY_USUAL, .mount = { .fd = -1 } };
	struct words words = { .top = &top };
	int code = choice_words(tool, argc, argv, (struct choice_count){ .most = 1 }, option_take, &words);

	if (code >= 0)
		return code;
	for (size_t view = 0; view < TOP_VIEWS; view++)
		top_list_init(&top.lists[view], (enum top_view)view);
	code = sort_take(&top, words.sort, words.reverse);
	if (code == EXIT_DONE)
		code = mount_open(tool, &top.mount);
	if (code != EXIT_DONE)
		return code;
	mount_close(&top.mount);
	code = filter_prefix(tool, &top.filter, &top.mount, argv[optind]);
	(void)setlocale(LC_CTYPE, "");
	if (code == EXIT_DONE)
		code = wants_plain(&top) ? top_batch(&top) : on_terminal(&top);
	top_clear(&top);
	return code;
}
