#include "source.h"

#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choice.h"
#include "moment.h"

int source_option(struct source_where *where, int letter)
{
	switch (letter) {
	case 'S': where->store = optarg; return -1;
	case 'K': where->key_file = optarg; return -1;
	default: return CHOICE_UNKNOWN;
	}
}

static int where_take(void *arg, int letter)
{
	return source_option(arg, letter);
}

int source_words(struct tool *tool, int argc, char **argv, struct source_where *where, const char *which_store,
		 const char *which_word)
{
	int code;

	*where = (struct source_where){ .store = NULL };
	code = choice_read(tool, argc, argv, CHOICE_ANYWHERE, where_take, where);
	if (code >= 0)
		return code;
	if (where->store == NULL && which_store != NULL)
		return tool_usage(tool, "%s", which_store);
	return optind + 1 == argc ? -1 : tool_usage(tool, "%s", which_word);
}

static const struct tool_code codes[] = {
	{ EUCLEAN, EXIT_DATA },
	{ EPROTO, EXIT_DATA },
	{ EPROTONOSUPPORT, EXIT_DATA },
	{ EKEYREJECTED, EXIT_PERMISSION },
	{ ENOKEY, EXIT_PERMISSION },
	{ EROFS, EXIT_DATA },
	{ .err = 0 },
};

/* For root: the user that the package's service runs as, who is trusted with a store. 0 if there is none. */
static uid_t service_user(void)
{
	const struct passwd *user = geteuid() == 0 ? getpwnam("atlockfs") : NULL;

	return user == NULL ? 0 : user->pw_uid;
}

static int source_open_setup(const struct tool *tool, const struct source_where *where, struct atlock_setup setup,
			     struct atlock **out)
{
	struct atlock_why why = { .text = "" };
	struct atlock_options options;
	int err;

	*out = NULL;
	atlock_options_init(&options);
	setup.options = &options;
	setup.store_owner = service_user();
	err = where->key_file == NULL ? 0 : atlock_option_set(&options, "key_file", where->key_file, &why);
	if (err == 0)
		err = atlock_open(out, where->store, &setup, &why);
	if (err == 0)
		return EXIT_DONE;
	*out = NULL;
	return tool_fail(tool, tool_exit_code_in(codes, -err), "%s", why.text);
}

int source_open_store(struct tool *tool, const struct source_where *where, bool readonly, struct atlock **out)
{
	return source_open_setup(tool, where, (struct atlock_setup){ .readonly = readonly, .manual = true }, out);
}

int source_open_damaged(struct tool *tool, const struct source_where *where, bool readonly, struct atlock **out)
{
	return source_open_setup(tool, where, (struct atlock_setup){ .readonly = readonly, .repair = true }, out);
}

int source_open(struct tool *tool, const struct source_where *where, struct source *out)
{
	*out = (struct source){ .mount = { .fd = -1 } };
	if (where->store == NULL)
		return mount_open(tool, &out->mount);
	return source_open_store(tool, where, true, &out->al);
}

void source_close(struct source *source)
{
	atlock_close(source->al);
	source->al = NULL;
	mount_close(&source->mount);
}

/* --- Reading --- */

struct reading {
	const struct tool *tool;
	struct atlock *al;
	source_fn *fn;
	void *arg;
	const struct atlock_name *lock;
	int code;
};

/* Says what is wrong, and sets reading->code. */
static int object_take(void *arg, char *line, size_t len)
{
	struct reading *reading = arg;
	json_error_t error;
	json_t *object = json_loadb(line, len, 0, &error);

	if (object == NULL)
		reading->code = tool_fail(reading->tool, EXIT_DATA, "what is held cannot be read: %s", error.text);
	else
		reading->code = reading->fn(reading->arg, object);
	json_decref(object);
	return reading->code;
}

static void mount_each(struct reading *reading, const struct mount *mount)
{
	int rc = mount_lines(mount, "locks.jsonl", object_take, reading);

	if (rc < 0)
		reading->code = tool_fail(reading->tool, tool_exit_code(-rc), "%s/locks.jsonl: %s", mount->path,
					  strerror(-rc));
}

static int text_take(struct reading *reading, char *text, size_t len)
{
	if (text == NULL)
		reading->code = tool_no_memory(reading->tool);
	else
		(void)object_take(reading, text, len);
	free(text);
	return reading->code;
}

static int view_take(void *arg, const struct atlock_view *view)
{
	struct reading *reading = arg;
	size_t len = 0;
	char *text = atlock_view_json(reading->al, view, &len);

	return text_take(reading, text, len);
}

static int ticket_take(void *arg, const struct atlock_ticket *ticket)
{
	struct reading *reading = arg;
	size_t len = 0;
	char *text = atlock_ticket_json(reading->al, reading->lock, ticket, &len);

	return text_take(reading, text, len);
}

static int queue_each(void *arg, const struct atlock_name *name, uint64_t waiters)
{
	struct reading *reading = arg;

	(void)waiters;
	reading->lock = name;
	return atlock_queue_list(reading->al, name, NULL, ticket_take, reading);
}

static void store_each(struct reading *reading)
{
	struct atlock_query query = { .limit = 0 };
	int err = atlock_list(reading->al, &query, view_take, reading);

	if (err >= 0 && reading->code == EXIT_DONE)
		err = atlock_queues(reading->al, NULL, queue_each, reading);
	if (err < 0 && reading->code == EXIT_DONE)
		reading->code = tool_fail(reading->tool, EXIT_DATA, "the store cannot be read: %s", strerror(-err));
}

int source_each(const struct tool *tool, struct source *source, source_fn *fn, void *arg)
{
	struct reading reading = { .tool = tool, .al = source->al, .fn = fn, .arg = arg };

	if (source->al != NULL)
		store_each(&reading);
	else
		mount_each(&reading, &source->mount);
	return reading.code;
}

/* --- An object --- */

const char *source_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text == NULL ? "" : text;
}

void source_print(const json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
}

void source_holder(const json_t *object, char out[SOURCE_HOLDER_MAX])
{
	(void)snprintf(out, SOURCE_HOLDER_MAX, "%s@%s", source_text(object, "owner"), source_text(object, "who"));
}

bool source_is_waiter(const json_t *object)
{
	return strcmp(source_text(object, "kind"), "waiter") == 0;
}

int64_t source_time(const json_t *object, const char *key)
{
	return moment_parse(source_text(object, key));
}
