/* atlock show: all about some locks, by path or by id. */
#include <bsd/string.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "lockpath.h"
#include "look_commands.h"
#include "source.h"
#include "term.h"

struct show {
	struct tool *tool;
	struct source_where where;
	struct source source;
	bool json;
	/* What is looked for: */
	const char *id; /* or NULL */
	char path[ATLOCK_PATH_MAX];
	char who[ATLOCK_WHO_MAX + 1]; /* of a path with "@who", else "" */
	bool found;
	char other[SOURCE_HOLDER_MAX]; /* the holder, if it is another than `who` */
};

/* The lines of `cat`, made from what both a mount and a store give. */
static void fields_print(const json_t *lock)
{
	const char *key;
	json_t *value;

	/* jansson's loop casts away the const of what it only reads. */
	json_object_foreach((json_t *)lock, key, value) {
		if (json_is_string(value) && strcmp(key, "kind") != 0)
			printf("%s=%s\n", key, term_text(json_string_value(value)));
		else if (json_is_integer(value))
			printf("%s=%" JSON_INTEGER_FORMAT "\n", key, json_integer_value(value));
	}
	json_object_foreach(json_object_get(lock, "meta"), key, value) {
		printf("%s=%s\n", term_text(key), term_text(json_string_value(value)));
	}
}

static int show_take(void *arg, json_t *object)
{
	struct show *show = arg;

	if (source_is_waiter(object) || show->found)
		return EXIT_DONE;
	if (strcmp(show->id != NULL ? show->id : show->path, source_text(object, show->id != NULL ? "id" : "lock")) !=
	    0)
		return EXIT_DONE;
	if (show->who[0] != '\0' && strcmp(show->who, source_text(object, "who")) != 0) {
		source_holder(object, show->other);
		return EXIT_DONE;
	}
	show->found = true;
	(show->json ? source_print : fields_print)(object);
	return EXIT_DONE;
}

/* Through a mount the lock's own file has all of it; other locks are not read. */
static int file_print(const struct show *show)
{
	const char *path = show->path;
	FILE *file = mount_read(&show->source.mount, path);
	char other[ATLOCK_PATH_MAX + 512];
	char lock[ATLOCK_PATH_MAX];

	if (file == NULL && errno == ENOENT && lockpath_other(&show->source.mount, path, other, sizeof(other)))
		return tool_fail(show->tool, EXIT_TRY_AGAIN, "%s", other);
	if (file == NULL)
		return lockpath_refused(show->tool, &show->source.mount, path, errno, NULL);
	(void)snprintf(lock, sizeof(lock), "%.*s", (int)strcspn(path, "@"), path);
	printf("lock=%s\n", term_text(lock));
	term_copy(file, stdout);
	fclose(file);
	return EXIT_DONE;
}

/* Takes "@who" off the path: the lists have it apart. */
static void who_take(struct show *show)
{
	char *at = strrchr(show->path, '@');

	show->who[0] = '\0';
	if (at == NULL)
		return;
	*at = '\0';
	(void)strlcpy(show->who, at + 1, sizeof(show->who));
}

static int show_one(struct show *show, const char *word)
{
	int code = EXIT_DONE;

	show->found = false;
	show->who[0] = '\0';
	show->other[0] = '\0';
	show->id = show->source.al != NULL && lockpath_is_id(word) ? word : NULL;
	if (show->id == NULL)
		code = lockpath_find(show->tool, &show->source.mount, word, show->path);
	if (code != EXIT_DONE)
		return code;
	if (show->source.al == NULL && !show->json)
		return file_print(show);
	if (show->id == NULL)
		who_take(show);
	code = source_each(show->tool, &show->source, show_take, show);
	if (code == EXIT_DONE && !show->found && show->other[0] != '\0')
		return tool_fail(show->tool, EXIT_TRY_AGAIN, "%s is held by %s, not by you as @%s", show->path,
				 show->other, show->who);
	return code != EXIT_DONE || show->found ? code
						: tool_fail(show->tool, EXIT_REFUSED, "%s: it is not held", word);
}

static int option_take(void *arg, int letter)
{
	struct show *show = arg;

	if (letter != 'j')
		return source_option(&show->where, letter);
	show->json = true;
	return -1;
}

int cmd_show(struct tool *tool, int argc, char **argv)
{
	const struct choice_count words = { 1, INT_MAX, "which lock? A path, or an id" };
	struct show show = { .tool = tool };
	int first = EXIT_DONE;
	int code = choice_words(tool, argc, argv, words, option_take, &show);

	if (code >= 0)
		return code;
	code = source_open(tool, &show.where, &show.source);
	if (code != EXIT_DONE)
		return code;
	for (; optind < argc; optind++) {
		code = show_one(&show, argv[optind]);
		first = first == EXIT_DONE ? code : first;
	}
	source_close(&show.source);
	return first;
}
