/* atlock export: what the tree holds, as Atlantis' records or as lines that another tree can import. */
#include <atlock/import.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "atlantis_commands.h"
#include "choice.h"
#include "snapshot.h"
#include "term.h"

struct export
{
	struct sides sides;
	const char *format;
	const char *to; /* or NULL: standard output */
	bool native;
	uint64_t written;
	uint64_t there;
	uint64_t conflicts;
	uint64_t unknown;
};

static int print_one(struct export *export, const struct snapshot_entry *entry)
{
	char *line;

	if (export->native && entry->line != NULL) {
		puts(entry->line);
		export->written++;
		return EXIT_DONE;
	}
	if (entry->record.key == NULL) {
		export->unknown++;
		return EXIT_DONE;
	}
	line = atlock_foreign_line(&entry->record);
	if (line == NULL)
		return tool_no_memory(export->sides.tool);
	puts(line);
	free(line);
	export->written++;
	return EXIT_DONE;
}

/* Writes one record. A record that Atlantis has already stays. */
static int put_one(struct export *export, const struct snapshot_entry *entry)
{
	struct atlock_foreign *to = export->sides.theirs;
	const struct atlock_foreign_record *record = &entry->record;
	struct atlock_why why;
	char difference[400];
	char *value = NULL;
	int err;

	if (record->key == NULL) {
		export->unknown++;
		return EXIT_DONE;
	}
	err = atlock_foreign_change(to, record, NULL, record->value, &why);
	if (err == 0)
		export->written++;
	if (err == 1)
		err = atlock_foreign_get(to, record, &value, &why);
	if (err < 0)
		return tool_fail_why(export->sides.tool, err, &why);
	if (value != NULL && atlock_foreign_compare(record->value, value, difference, sizeof(difference)) == 0) {
		export->there++;
	} else if (value != NULL) {
		term_item(TERM_RED, "conflict", record->path, difference);
		export->conflicts++;
	}
	free(value);
	return EXIT_DONE;
}

static int export_all(struct export *export)
{
	const struct snapshot *tree = &export->sides.tree;
	int code = EXIT_DONE;

	for (size_t i = 0; code == EXIT_DONE && i < tree->count; i++)
		code = (export->to == NULL ? print_one : put_one)(export, &tree->entries[i]);
	fprintf(export->to == NULL ? stderr : stdout,
		"exported %" PRIu64 " record%s; %" PRIu64 " %s there already, %" PRIu64 " conflict%s, %" PRIu64
		" that Atlantis has no form for\n",
		export->written, TOOL_S(export->written), export->there, export->there == 1 ? "was" : "were",
		export->conflicts, TOOL_S(export->conflicts), export->unknown);
	return code == EXIT_DONE && export->conflicts > 0 ? EXIT_REFUSED : code;
}

static int option_take(void *arg, int letter)
{
	struct export *export = arg;

	*(letter == 'F' ? &export->format : &export->to) = optarg;
	return -1;
}

int cmd_export(struct tool *tool, int argc, char **argv)
{
	struct export export = { .sides = { .tool = tool }, .format = "atlantis" };
	int code = choice_words(tool, argc, argv, (struct choice_count){ .most = 0 }, option_take, &export);

	if (code >= 0)
		return code;
	export.native = strcmp(export.format, "jsonl") == 0;
	if (!export.native && strcmp(export.format, "atlantis") != 0)
		return tool_usage(tool, "the format is atlantis or jsonl, not \"%s\"", export.format);
	if (export.to != NULL && (export.native || strncmp(export.to, "redis://", strlen("redis://")) != 0))
		return tool_usage(tool, "only Atlantis' records, and only a redis://host:port/db can be written to");
	code = sides_open(&export.sides, export.to);
	if (code == EXIT_DONE)
		code = export_all(&export);
	sides_close(&export.sides);
	return code;
}
