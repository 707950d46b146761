#include "help.h"

#include <bsd/string.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "term.h"

#define COLUMNS 80
#define DEEP 8 /* a line indented this far continues the line before it */

/* --- Wrapping lines --- */

struct page {
	FILE *out;
	size_t column;  /* 0: at the beginning of a line */
	size_t hang;    /* where lines go on */
	bool paragraph; /* that the next line belongs to */
};

static void line_end(struct page *page)
{
	if (page->column > 0)
		fputc('\n', page->out);
	page->column = 0;
	page->paragraph = false;
}

static void word_put(struct page *page, const char *word, size_t len)
{
	bool first = page->column <= page->hang;

	if (!first && page->column + 1 + len > COLUMNS) {
		fprintf(page->out, "\n%*s", (int)page->hang, "");
		page->column = page->hang;
	} else if (!first) {
		fputc(' ', page->out);
		page->column++;
	}
	fprintf(page->out, "%.*s", (int)len, word);
	page->column += len;
}

/* Puts words, which blanks separate; text in brackets stays together. */
static void words_put(struct page *page, const char *text, size_t len)
{
	size_t begin = 0;
	int depth = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && (text[i] == '[' || text[i] == ']'))
			depth += text[i] == '[' ? 1 : -1;
		if (i < len && (text[i] != ' ' || depth > 0))
			continue;
		if (i > begin)
			word_put(page, text + begin, i - begin);
		begin = i + 1;
	}
}

/* "  -w, --wait TIME      wait for them": the option as it is, its text wrapped in a column. */
static void item_begin(struct page *page, const char *line, size_t len)
{
	size_t at = strspn(line, " ");

	while (at + 1 < len && strncmp(line + at, "  ", 2) != 0)
		at++;
	if (at + 1 >= len)
		at = 0;
	at += strspn(line + at, " ");
	fprintf(page->out, "%.*s", (int)at, line);
	page->column = page->hang = at;
	words_put(page, line + at, len - at);
}

/* A command's text, whose lines may be of any length. */
static void text_put(struct page *page, const char *text)
{
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");
		size_t blanks = strspn(text, " ");

		if (len == 0) {
			line_end(page);
			fputc('\n', page->out);
		} else if (blanks > 0 && (blanks < DEEP || page->column == 0)) {
			line_end(page);
			item_begin(page, text, len);
		} else {
			if (blanks == 0 && !page->paragraph) {
				line_end(page);
				page->hang = 0;
				page->paragraph = true;
			}
			words_put(page, text, len);
		}
		text += len + (text[len] == '\n');
	}
	line_end(page);
}

/* --- All commands --- */

/* Commands in none of the groups come last. */
static const struct {
	const char *title;
	const char *names;
} groups[] = {
	{ "hold locks", "lock run wait renew transfer unlock force-unlock guard" },
	{ "look", "ls show queue graph top status" },
	{ "check", "doctor bench policy audit" },
	{ "store", "backup restore fsck key" },
	{ "Atlantis", "import verify mirror export" },
	{ "shell", "completion help" },
};

#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static bool is_named(const char *names, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = names; (at = strstr(at, name)) != NULL; at++)
		if ((at == names || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
			return true;
	return false;
}

static bool is_grouped(const char *name)
{
	for (size_t i = 0; i < GROUPS; i++)
		if (is_named(groups[i].names, name))
			return true;
	return false;
}

static void group_begin(struct page *page, const char *title)
{
	char line[32];

	(void)snprintf(line, sizeof(line), "  %-12s", title);
	fputs(line, page->out);
	page->column = page->hang = strlen(line);
}

static void groups_put(struct page *page, const struct command *commands)
{
	for (size_t i = 0; i < GROUPS; i++) {
		group_begin(page, groups[i].title);
		for (const char *at = groups[i].names; *at != '\0'; at += strspn(at, " ")) {
			size_t len = strcspn(at, " ");
			char name[32];

			(void)snprintf(name, sizeof(name), "%.*s", (int)len, at);
			if (command_find(commands, name) != NULL)
				word_put(page, name, len);
			at += len;
		}
		line_end(page);
	}
	for (const struct command *command = commands; command->name != NULL; command++) {
		if (is_grouped(command->name))
			continue;
		if (page->column == 0)
			group_begin(page, "more");
		word_put(page, command->name, strlen(command->name));
	}
	line_end(page);
}

static const char usage[] = "usage: atlock [-m DIR] COMMAND [ARGUMENT...]\n"
			    "\n"
			    "Works on a mounted atlockfs, a file system whose files are locks.\n"
			    "\n";

void help_short(FILE *out, const struct command *commands)
{
	struct page page = { .out = out };

	fputs(usage, out);
	groups_put(&page, commands);
	fputs("\n"
	      "  atlock help COMMAND   how to use it, as does atlock COMMAND --help\n"
	      "  atlock help --all     every command, with a line about it\n"
	      "\n"
	      "  -m, --mount DIR  the mount to use (else $ATLOCKFS, else the one you are in,\n"
	      "                   else the only one there is)\n"
	      "  -h, --help       this text; after a command, how to use that\n"
	      "  -V, --version\n"
	      "\n"
	      "Exits with 0: done, 1: refused, 64: usage, 65: bad data, 69: unavailable,\n"
	      "75: try again later, 77: for administrators, 126, 127: no such\n"
	      "command to run; atlock(1) has them all.\n",
	      out);
}

void help_all(FILE *out, const struct command *commands)
{
	struct page page = { .out = out };

	fputs(usage, out);
	for (const struct command *command = commands; command->name != NULL; command++) {
		char line[256];

		(void)snprintf(line, sizeof(line), "  %-13s  %s\n", command->name, command->help);
		text_put(&page, line);
	}
}

void help_one(FILE *out, const struct command *command)
{
	struct page page = { .out = out };

	page.column = page.hang = (size_t)fprintf(out, "usage: atlock %s%s", command->name,
						  command->usage[0] == '\0' ? "" : " ");
	words_put(&page, command->usage, strlen(command->usage));
	line_end(&page);
	fprintf(out, "\n%c%s.\n%s", toupper((unsigned char)command->help[0]), command->help + 1,
		command->more[0] == '\0' ? "" : "\n");
	text_put(&page, command->more);
}

/* --- Mistyped words --- */

void nearest_begin(struct nearest *nearest, const char *word)
{
	/* A word may be off by a third of its letters: more would be a guess. */
	*nearest = (struct nearest){ .word = word, .distance = strnlen(word, NEAREST_MAX) / 3 + 1 };
}

void nearest_try(struct nearest *nearest, const char *known)
{
	size_t distance = atlock_word_distance(nearest->word, known);

	/* A word with no letter in common is not near. */
	if (distance >= nearest->distance || distance >= strlen(known))
		return;
	nearest->distance = distance;
	strlcpy(nearest->found, known, sizeof(nearest->found));
}

int help_unknown(const struct command *commands, const char *name)
{
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (; commands->name != NULL; commands++)
		nearest_try(&nearest, commands->name);
	fprintf(stderr, "atlock: there is no command \"%s\"", term_text(name));
	if (nearest.found[0] != '\0')
		fprintf(stderr, ": did you mean \"%s\"?\n", nearest.found);
	else
		fputs("; try 'atlock help'\n", stderr);
	return EXIT_USAGE;
}
