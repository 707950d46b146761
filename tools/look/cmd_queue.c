/* atlock queue: who waits, for one lock or for all, in the order in which they will be served. */
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "choice.h"
#include "grid.h"
#include "lockpath.h"
#include "look_commands.h"
#include "moment.h"
#include "source.h"

struct queue {
	struct tool *tool;
	struct source_where where;
	struct source source;
	char path[ATLOCK_PATH_MAX]; /* "": all */
	bool json;
	struct grid grid;
};

static const char *const heading[] = { "LOCK", "POSITION", "PRIORITY", "WAITER", "WAITED", "LEFT", "EXPECTED" };

static int row_add(struct grid *grid, const json_t *waiter)
{
	bool people = isatty(STDOUT_FILENO);
	int64_t until = source_time(waiter, "deadline");
	char who[SOURCE_HOLDER_MAX];
	char position[24];
	char waited[MOMENT_AGE_MAX];
	char left[MOMENT_AGE_MAX];
	const char *const cells[] = {
		source_text(waiter, "lock"),
		position,
		source_text(waiter, "priority"),
		who,
		people ? waited : source_text(waiter, "since"),
		people ? left : source_text(waiter, "deadline"),
		source_text(waiter, "expected_wait"),
	};

	moment_age(moment_wall() - source_time(waiter, "since"), waited);
	moment_age(until == ATLOCK_NEVER ? until : until - moment_wall(), left);
	source_holder(waiter, who);
	(void)snprintf(position, sizeof(position), "%" JSON_INTEGER_FORMAT,
		       json_integer_value(json_object_get(waiter, "position")));
	return grid_row(grid, cells);
}

static int queue_take(void *arg, json_t *object)
{
	struct queue *queue = arg;

	if (!source_is_waiter(object) ||
	    (queue->path[0] != '\0' && strcmp(queue->path, source_text(object, "lock")) != 0))
		return EXIT_DONE;
	if (!queue->json)
		return row_add(&queue->grid, object) < 0 ? tool_no_memory(queue->tool) : EXIT_DONE;
	source_print(object);
	return EXIT_DONE;
}

static int option_take(void *arg, int letter)
{
	struct queue *queue = arg;

	if (letter != 'j')
		return source_option(&queue->where, letter);
	queue->json = true;
	return -1;
}

int cmd_queue(struct tool *tool, int argc, char **argv)
{
	struct queue queue = { .tool = tool, .grid = { .heading = heading, .columns = 7, .front = 1 } };
	int code = choice_words(tool, argc, argv, (struct choice_count){ .most = 1 }, option_take, &queue);

	if (code >= 0)
		return code;
	code = source_open(tool, &queue.where, &queue.source);
	if (code == EXIT_DONE && optind < argc)
		code = lockpath_take(tool, &queue.source.mount, argv[optind], queue.path);
	if (code == EXIT_DONE)
		code = source_each(tool, &queue.source, queue_take, &queue);
	if (code == EXIT_DONE && !queue.json)
		grid_print(&queue.grid, false);
	grid_free(&queue.grid);
	source_close(&queue.source);
	return code;
}
