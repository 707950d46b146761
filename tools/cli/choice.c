#include "choice.h"

#include <assert.h>
#include <bsd/string.h>
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "help.h"

#define CHOICES_MAX 32 /* of one command */

const char choice_common[] = "  -h, --help       how to use it\n"
			     "  -m, --mount DIR  the mount to use\n";

static const char program[] = "  -V, --version\n";

bool choice_next(const char **text, struct choice *out)
{
	while (**text != '\0') {
		const char *line = *text;
		const char *end = line + strcspn(line, "\n");
		const char *name = line + strspn(line, " ");
		const char *word;
		size_t len;

		*text = *end == '\0' ? end : end + 1;
		*out = (struct choice){ .letter = '\0' };
		if (name == line)
			continue;
		if (name[0] == '-' && isalnum((unsigned char)name[1]) && strncmp(name + 2, ", ", 2) == 0) {
			out->letter = name[1];
			name += 4;
		}
		if (strncmp(name, "--", 2) != 0)
			continue;
		name += 2;
		len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-");
		word = name + len;
		out->value = word[0] == ' ' && word[1] != ' ';
		if (out->value)
			word += 1 + strcspn(word + 1, " \n");
		word += strspn(word, " ");
		(void)snprintf(out->name, sizeof(out->name), "%.*s", (int)len, name);
		(void)snprintf(out->help, sizeof(out->help), "%.*s", word < end ? (int)(end - word) : 0, word);
		return true;
	}
	return false;
}

/* Calls `fn` with each option there is. */
typedef void each_fn(void *arg, const struct choice *choice);
static void choices_each(const struct tool *tool, each_fn *fn, void *arg)
{
	const char *texts[] = { tool->command == NULL ? program : tool->command->more, choice_common };
	struct choice choice;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		while (choice_next(&texts[i], &choice))
			fn(arg, &choice);
}

/* --- Options that are wrong --- */

static void choice_near(void *arg, const struct choice *choice)
{
	nearest_try(arg, choice->name);
}

/* The options that begin with a word. */
struct beginnings {
	const char *word;
	size_t count;
	char names[256]; /* "--store or --status" */
};

static void choice_begins(void *arg, const struct choice *choice)
{
	struct beginnings *it = arg;

	if (strncmp(choice->name, it->word, strlen(it->word)) != 0)
		return;
	strlcat(it->names, it->count++ == 0 ? "--" : " or --", sizeof(it->names));
	strlcat(it->names, choice->name, sizeof(it->names));
}

static int option_unknown(const struct tool *tool, const char *word)
{
	struct beginnings beginnings = { .word = word };
	struct nearest nearest;

	choices_each(tool, choice_begins, &beginnings);
	if (beginnings.count > 1)
		return tool_usage(tool, "\"--%s\" may be %s", word, beginnings.names);
	nearest_begin(&nearest, word);
	choices_each(tool, choice_near, &nearest);
	if (nearest.found[0] == '\0')
		return tool_usage(tool, "there is no option \"--%s\"", word);
	return tool_fail(tool, EXIT_USAGE, "there is no option \"--%s\": did you mean \"--%s\"?", word, nearest.found);
}

/* Whether a word is a long option with one dash, which getopt_long() reads as letters. */
static bool is_long(const struct tool *tool, const char *word)
{
	struct beginnings beginnings = { .word = word == NULL || word[0] != '-' ? "-" : word + 1 };

	choices_each(tool, choice_begins, &beginnings);
	return beginnings.count == 1 && strlen(beginnings.word) > 1;
}

static int option_wrong(const struct tool *tool, char *const *argv, int option)
{
	const char *last = argv[optind - 1];
	char word[NEAREST_MAX + 1];

	if (strncmp(last, "--", 2) == 0) {
		(void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(last + 2, "="), last + 2);
		if (option != ':' && optopt == 0)
			return option_unknown(tool, word);
		return tool_usage(tool, "--%s %s", word, option == ':' ? "lacks its value" : "takes no value");
	}
	if (is_long(tool, argv[optind]))
		last = argv[optind];
	if (is_long(tool, last))
		return tool_fail(tool, EXIT_USAGE, "there is no option \"%s\": did you mean \"-%s\"?", last, last);
	return tool_usage(tool, option == ':' ? "-%c lacks its value" : "there is no option \"-%c\"", optopt);
}

/* --- Reading them --- */

/* What getopt_long(3) wants to know. */
struct known {
	struct choice choices[CHOICES_MAX];
	struct option longs[CHOICES_MAX + 1];
	char shorts[2 * CHOICES_MAX + sizeof("+:")];
	size_t count;
};

static void known_add(void *arg, const struct choice *choice)
{
	struct known *known = arg;

	if (known->count < CHOICES_MAX)
		known->choices[known->count++] = *choice;
}

static bool letter_is_known(const struct known *known, char letter)
{
	for (size_t i = 0; i < known->count; i++)
		if (known->choices[i].letter == letter)
			return true;
	return false;
}

static char letter_choose(const struct known *known, const char *name)
{
	char letter = (char)toupper((unsigned char)*name);

	while (*name != '\0' && (!isupper((unsigned char)letter) || letter_is_known(known, letter)))
		letter = (char)toupper((unsigned char)*++name);
	assert(letter != '\0'); /* else an option of a help text could not be told from another */
	return letter;
}

/* Letters that the help gives come first: an option without one takes none of them. */
static void known_finish(struct known *known)
{
	for (size_t i = 0; i < known->count; i++) {
		const struct choice *choice = &known->choices[i];
		const char letter[] = { choice->letter, '\0' };

		strlcat(known->shorts, letter, sizeof(known->shorts));
		if (choice->letter != '\0' && choice->value)
			strlcat(known->shorts, ":", sizeof(known->shorts));
	}
	for (size_t i = 0; i < known->count; i++) {
		struct choice *choice = &known->choices[i];

		if (choice->letter == '\0')
			choice->letter = letter_choose(known, choice->name);
		known->longs[i] = (struct option){
			.name = choice->name,
			.has_arg = choice->value ? required_argument : no_argument,
			.val = choice->letter,
		};
	}
}

/* The help has this option, but for another action of the command. */
static int option_misplaced(const struct tool *tool, const struct known *known, char *const *argv, int letter)
{
	size_t i = 0;

	while (known->longs[i].val != letter)
		i++;
	return tool_usage(tool, "--%s is not for %s", known->longs[i].name, argv[0]);
}

static int option_take(struct tool *tool, char *const *argv, int letter)
{
	switch (letter) {
	case 'm': tool->mount = optarg; return -1;
	case '?':
	case ':': return option_wrong(tool, argv, letter);
	case 'h':
		if (tool->command == NULL)
			help_short(stdout, tool->commands);
		else
			help_one(stdout, tool->command);
		return EXIT_DONE;
	default: return CHOICE_UNKNOWN;
	}
}

int choice_read(struct tool *tool, int argc, char **argv, enum choice_order order, choice_fn *fn, void *arg)
{
	struct known known = { .count = 0 };
	int code = -1;
	int letter;

	strlcpy(known.shorts, order == CHOICE_FIRST ? "+:" : ":", sizeof(known.shorts));
	choices_each(tool, known_add, &known);
	known_finish(&known);
	optind = 0; /* glibc: begin anew */
	while (code < 0 && (letter = getopt_long(argc, argv, known.shorts, known.longs, NULL)) != -1) {
		code = option_take(tool, argv, letter);
		if (code == CHOICE_UNKNOWN && fn != NULL)
			code = fn(arg, letter);
		if (code == CHOICE_UNKNOWN)
			code = option_misplaced(tool, &known, argv, letter);
	}
	return code;
}

int choice_words(struct tool *tool, int argc, char **argv, struct choice_count count, choice_fn *fn, void *arg)
{
	int code = choice_read(tool, argc, argv, CHOICE_ANYWHERE, fn, arg);

	if (code >= 0)
		return code;
	if (argc - optind < count.least)
		return tool_usage(tool, "%s", count.question);
	if (argc - optind > count.most)
		return tool_usage(tool, "\"%s\" is one word too many", argv[optind + count.most]);
	return -1;
}
