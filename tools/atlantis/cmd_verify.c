/* atlock verify: compares the tree with what Atlantis has, and lists every difference. */
#include <atlock/import.h>
#include <getopt.h>
#include <inttypes.h>

#include "atlantis_commands.h"
#include "choice.h"
#include "snapshot.h"
#include "term.h"

struct verify {
	struct sides sides;
	const char *against;
	uint64_t same;
	uint64_t differences;
};

static void difference_print(struct verify *verify, const char *word, const char *path, const char *text)
{
	term_item(TERM_YELLOW, word, path, text);
	verify->differences++;
}

static void verify_record(struct verify *verify, const struct atlock_foreign_record *record)
{
	struct snapshot_entry *here = snapshot_find(&verify->sides.tree, record->path);
	char difference[400];
	bool twice;

	if (here == NULL) {
		difference_print(verify, "only there", record->path, "");
		return;
	}
	/* Atlantis may have a lock under its old key as well as under its new one: that is one lock. */
	twice = here->seen;
	here->seen = true;
	if (here->record.value == NULL || record->value == NULL)
		difference_print(verify, "differs", record->path, "Atlantis cannot have what is here");
	else if (atlock_foreign_compare(here->record.value, record->value, difference, sizeof(difference)) != 0)
		difference_print(verify, "differs", record->path, difference);
	else if (!twice)
		verify->same++;
}

/* Other systems' records have no form that could be compared. */
static void verify_one(struct verify *verify, const struct atlock_foreign_record *record)
{
	if (record->kind >= ATLOCK_FOREIGN_KINDS)
		return;
	verify_record(verify, record);
}

static int verify_all(struct verify *verify)
{
	const struct snapshot *tree = &verify->sides.tree;
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why;
	int rc;

	while ((rc = atlock_foreign_next(verify->sides.theirs, &record, &why)) != 1 && rc >= 0) {
		if (rc == 2)
			difference_print(verify, "unreadable there", why.text, "");
		else
			verify_one(verify, &record);
	}
	atlock_foreign_clear(&record);
	if (rc < 0)
		return tool_fail_why(verify->sides.tool, rc, &why);
	for (size_t i = 0; i < tree->count; i++)
		if (!tree->entries[i].seen && tree->entries[i].record.key != NULL)
			difference_print(verify, "only here", tree->entries[i].record.path, "");
	printf("%" PRIu64 " record%s the same, %" PRIu64 " difference%s\n", verify->same,
	       verify->same == 1 ? " is" : "s are", verify->differences, TOOL_S(verify->differences));
	return verify->differences > 0 ? EXIT_REFUSED : EXIT_DONE;
}

static int option_take(void *arg, int letter)
{
	struct verify *verify = arg;

	if (letter != 'A')
		return sides_option(&verify->sides, letter);
	verify->against = optarg;
	return -1;
}

int cmd_verify(struct tool *tool, int argc, char **argv)
{
	struct verify verify = { .sides = { .tool = tool } };
	int code = choice_words(tool, argc, argv, (struct choice_count){ .most = 1 }, option_take, &verify);

	if (code >= 0)
		return code;
	if (verify.against == NULL && optind < argc)
		verify.against = argv[optind++];
	if (verify.against == NULL || optind != argc)
		return tool_usage(tool, "against what? --against FILE, redis://host:port/db, or -");
	code = sides_open(&verify.sides, verify.against);
	if (code == EXIT_DONE)
		code = verify_all(&verify);
	sides_close(&verify.sides);
	return code;
}
