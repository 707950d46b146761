/* atlock export: what the tree holds, as Atlantis' records or as lines that another tree can import. */
#include <atlock/import.h>
#include <bsd/string.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "atlantis_commands.h"
#include "choice.h"
#include "snapshot.h"
#include "term.h"

#define SCORE_STEP 0.001 /* between two waiters that the enhanced manager's own scores would not tell apart */
#define BOLT "bolt:"     /* before the name of a file to be made */

struct export
{
	struct sides sides;
	const char *format;
	const char *to; /* or NULL: standard output */
	int parts;      /* --keys; 0: as the records there, or as the lock was imported */
	bool native;
	bool enhanced;
	uint64_t written;
	uint64_t there;
	uint64_t conflicts;
	uint64_t unknown;
};

static int print_one(struct export *export, struct snapshot_entry *entry)
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
	if (export->parts != 0)
		entry->record.form = export->parts;
	line = atlock_foreign_line(&entry->record);
	if (line == NULL)
		return tool_no_memory(export->sides.tool);
	puts(line);
	free(line);
	export->written++;
	return EXIT_DONE;
}

/* The same for the enhanced manager's records, which are made of the lock's line. */
static int enhanced_one(struct export *export, struct snapshot_entry *entry)
{
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why = { .text = "" };
	int err = entry->line == NULL ? 1 : atlock_foreign_enhanced(entry->line, strlen(entry->line), &record, &why);

	if (err == 1)
		export->unknown++;
	if (err == 0) {
		err = atlock_foreign_change(export->sides.theirs, &record, NULL, record.value, &why);
		*(err == 1 ? &export->there : &export->written) += err >= 0;
	}
	atlock_foreign_clear(&record);
	return err < 0 ? tool_fail_why(export->sides.tool, err, &why) : EXIT_DONE;
}

struct queues {
	struct export *export;
	char path[ATLOCK_PATH_MAX]; /* of the waiter before */
	double score;               /* and its place */
};

/* One line of locks.jsonl: a waiter goes into the queue of its lock there, behind the one before it. */
static int waiter_one(void *arg, char *line, size_t len)
{
	struct queues *queues = arg;
	struct export *export = queues->export;
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why = { .text = "" };
	int err = 1;

	if (strstr(line, "\"kind\":\"waiter\"") == NULL)
		return EXIT_DONE;
	err = atlock_foreign_enhanced(line, len, &record, &why);
	if (err == 1)
		export->unknown++;
	if (err == 0) {
		if (strcmp(queues->path, record.path) == 0 && record.score <= queues->score)
			record.score = queues->score + SCORE_STEP;
		strlcpy(queues->path, record.path, sizeof(queues->path));
		queues->score = record.score;
		err = atlock_foreign_enqueue(export->sides.theirs, &record, &why);
		*(err == 1 ? &export->there : &export->written) += err >= 0;
	}
	atlock_foreign_clear(&record);
	return err < 0 ? tool_fail_why(export->sides.tool, err, &why) : EXIT_DONE;
}

/* The file lists the waiters of a lock in their order. */
static int queues_all(struct export *export)
{
	struct queues queues = { .export = export };
	int rc = mount_lines(&export->sides.mount, "locks.jsonl", waiter_one, &queues);

	return rc >= 0 ? rc : tool_fail(export->sides.tool, tool_exit_code(-rc), "locks.jsonl: %s", strerror(-rc));
}

/* Writes one record. A record that Atlantis has already stays. */
static int put_one(struct export *export, struct snapshot_entry *entry)
{
	struct atlock_foreign *to = export->sides.theirs;
	struct atlock_foreign_record *record = &entry->record;
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

static int summary(const struct export *export, int code)
{
	fprintf(export->to == NULL ? stderr : stdout,
		"exported %" PRIu64 " record%s; %" PRIu64 " %s there already, %" PRIu64 " conflict%s, %" PRIu64
		" that %s has no form for\n",
		export->written, TOOL_S(export->written), export->there, export->there == 1 ? "was" : "were",
		export->conflicts, TOOL_S(export->conflicts), export->unknown,
		export->enhanced ? "the enhanced manager" : "Atlantis");
	return code == EXIT_DONE && export->conflicts > 0 ? EXIT_REFUSED : code;
}

static int export_all(struct export *export)
{
	struct snapshot *tree = &export->sides.tree;
	int code = EXIT_DONE;

	for (size_t i = 0; code == EXIT_DONE && i < tree->count; i++)
		code = (export->to == NULL ? print_one
			: export->enhanced ? enhanced_one
					   : put_one)(export, &tree->entries[i]);
	if (code == EXIT_DONE && export->enhanced)
		code = queues_all(export);
	return summary(export, code);
}

/* Makes a file of all records at once: it is there whole, or not at all. */
static int bolt_all(struct export *export)
{
	struct snapshot *tree = &export->sides.tree;
	struct atlock_foreign_record **records = calloc(tree->count + 1, sizeof(struct atlock_foreign_record *));
	struct atlock_why why;
	int err;

	if (records == NULL)
		return tool_no_memory(export->sides.tool);
	for (size_t i = 0; i < tree->count; i++) {
		records[i] = &tree->entries[i].record;
		*(records[i]->key == NULL ? &export->unknown : &export->written) += 1;
		/* An Atlantis has keys of one form. */
		records[i]->form = export->parts == 3 ? 3 : 4;
	}
	err = atlock_foreign_bolt(export->to + strlen(BOLT), records, tree->count, &why);
	free(records);
	if (err == -EEXIST)
		return tool_fail(export->sides.tool, EXIT_REFUSED, "%s", why.text);
	if (err < 0)
		return tool_fail_why(export->sides.tool, err, &why);
	return summary(export, EXIT_DONE);
}

static int option_take(void *arg, int letter)
{
	struct export *export = arg;

	if (letter == 'K')
		return sides_keys(export->sides.tool, &export->parts);
	*(letter == 'F' ? &export->format : &export->to) = optarg;
	return -1;
}

int cmd_export(struct tool *tool, int argc, char **argv)
{
	struct export export = { .sides = { .tool = tool }, .format = "atlantis" };
	bool bolt;
	int code = choice_words(tool, argc, argv, (struct choice_count){ .most = 0 }, option_take, &export);

	if (code >= 0)
		return code;
	export.native = strcmp(export.format, "jsonl") == 0;
	export.enhanced = strcmp(export.format, "enhanced") == 0;
	if (!export.native && !export.enhanced && strcmp(export.format, "atlantis") != 0)
		return tool_usage(tool, "the format is atlantis, jsonl or enhanced, not \"%s\"", export.format);
	if (export.enhanced && (export.to == NULL || strncmp(export.to, "redis://", strlen("redis://")) != 0))
		return tool_usage(tool, "the enhanced manager's records are in a Redis: --to redis://host:port/db");
	bolt = export.to != NULL && strncmp(export.to, BOLT, strlen(BOLT)) == 0;
	if (export.to != NULL && !bolt && (export.native || strncmp(export.to, "redis://", strlen("redis://")) != 0))
		return tool_usage(tool, "write Atlantis' records to redis://host:port/db or to bolt:FILE");
	code = sides_open(&export.sides, bolt ? NULL : export.to);
	if (code == EXIT_DONE && export.to != NULL && !bolt)
		code = sides_learn(tool, export.sides.theirs, export.parts);
	if (code == EXIT_DONE && export.to != NULL && !bolt)
		sides_remember(export.sides.theirs, &export.sides.tree, export.parts);
	if (code == EXIT_DONE)
		code = (bolt ? bolt_all : export_all)(&export);
	sides_close(&export.sides);
	return code;
}
