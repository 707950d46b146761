/* atlock verify: compares the tree with what Atlantis has, and lists every difference. */
#include <atlock/import.h>
#include <getopt.h>
#include <inttypes.h>

#include "atlantis_commands.h"
#include "choice.h"
#include "snapshot.h"
#include "term.h"

struct verify {
	struct tool *tool;
	const char *against;
	unsigned int flags; /* of atlock_foreign_open() */
	struct snapshot tree;
	uint64_t same;
	uint64_t differences;
};

static void difference_print(struct verify *verify, const char *word, const char *path, const char *text)
{
	printf("%s%s%s %s%s%s\n", term_color(stdout, TERM_YELLOW), word, term_color(stdout, TERM_PLAIN),
	       term_text(path), text[0] == '\0' ? "" : ": ", term_text(text));
	verify->differences++;
}

static void verify_one(struct verify *verify, const struct atlock_foreign_record *record)
{
	struct snapshot_entry *here = snapshot_find(&verify->tree, record->path);
	char difference[400];

	if (here == NULL) {
		difference_print(verify, "only there", record->path, "");
		return;
	}
	here->seen = true;
	if (here->record.value == NULL || record->value == NULL)
		difference_print(verify, "differs", record->path, "Atlantis cannot have what is here");
	else if (atlock_foreign_compare(here->record.value, record->value, difference, sizeof(difference)) != 0)
		difference_print(verify, "differs", record->path, difference);
	else
		verify->same++;
}

static int verify_all(struct verify *verify, struct atlock_foreign *from)
{
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why;
	int rc;

	while ((rc = atlock_foreign_next(from, &record, &why)) != 1 && rc >= 0) {
		if (rc == 2)
			difference_print(verify, "unreadable there", why.text, "");
		else
			verify_one(verify, &record);
	}
	atlock_foreign_clear(&record);
	if (rc < 0)
		return tool_fail(verify->tool, tool_exit_code(-rc), "%s", why.text);
	for (size_t i = 0; i < verify->tree.count; i++)
		if (!verify->tree.entries[i].seen && verify->tree.entries[i].record.key != NULL)
			difference_print(verify, "only here", verify->tree.entries[i].record.path, "");
	printf("%" PRIu64 " record%s the same, %" PRIu64 " difference%s\n", verify->same,
	       verify->same == 1 ? " is" : "s are", verify->differences, TOOL_S(verify->differences));
	return verify->differences > 0 ? EXIT_REFUSED : EXIT_DONE;
}

static int verify_run(struct verify *verify)
{
	struct atlock_foreign *from;
	struct atlock_why why = { .text = "" };
	struct mount mount;
	int code;
	int err = atlock_foreign_open(&from, verify->against, verify->flags, &why);

	if (err < 0)
		return tool_fail(verify->tool, tool_exit_code(-err), "%s", why.text);
	code = mount_open(verify->tool, &mount);
	if (code == EXIT_DONE) {
		code = snapshot_read(verify->tool, &mount, &verify->tree);
		if (code == EXIT_DONE)
			code = verify_all(verify, from);
		snapshot_free(&verify->tree);
		mount_close(&mount);
	}
	atlock_foreign_close(from);
	return code;
}

static int option_take(void *arg, int letter)
{
	struct verify *verify = arg;

	switch (letter) {
	case 'a': verify->against = optarg; return -1;
	case 'O': verify->flags |= ATLOCK_FOREIGN_OLDER; return -1;
	case 'S': verify->flags |= ATLOCK_FOREIGN_BEFORE_0_25; return -1;
	default: return CHOICE_UNKNOWN;
	}
}

int cmd_verify(struct tool *tool, int argc, char **argv)
{
	struct verify verify = { .tool = tool };
	int code;

	code = choice_read(tool, argc, argv, CHOICE_FIRST, option_take, &verify);
	if (code >= 0)
		return code;
	if (verify.against == NULL && argc - optind == 1)
		verify.against = argv[optind++];
	if (verify.against == NULL || optind != argc)
		return tool_usage(tool, "against what? --against FILE, redis://host:port/db, or -");
	return verify_run(&verify);
}
