/* atlock audit verify: whether the event log is unchanged, and if not, which event is the first that differs. */
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <atlock.h>
#include <atlock/check.h>

#include "audit.h"
#include "chains.h"
#include "choice.h"
#include "events.h"
#include "source.h"
#include "term.h"

void audit_file(void *arg, const char *name)
{
	atlock_audit_file(arg, name);
}

int audit_line(void *arg, char *text, size_t len, bool whole)
{
	return atlock_audit_line(arg, text, len, whole) < 0 ? EXIT_SYSTEM : EXIT_DONE;
}

/* A chain of events, checked by itself; 0 is that of a store with one host. */
struct checked {
	struct checked *next;
	unsigned int chain;
	struct atlock_audit *audit;
	uint64_t must;   /* events up to this one must be there */
	char begin[512]; /* after which event it is known to begin; "": after none, or nothing says so */
	char host[65];
};

struct verify {
	struct tool *tool;
	struct checked *all; /* by number */
	struct checked *now; /* whose line was the last; NULL: of none yet */
	const char *file;
	uint64_t line; /* of the file */
	struct source_where where;
};

static struct checked *checked_get(struct verify *verify, unsigned int chain)
{
	struct checked **at = &verify->all;
	struct checked *added;

	while (*at != NULL && (*at)->chain < chain)
		at = &(*at)->next;
	if (*at != NULL && (*at)->chain == chain)
		return *at;
	added = calloc(1, sizeof(*added));
	if (added == NULL || (added->audit = atlock_audit_new()) == NULL) {
		free(added);
		return NULL;
	}
	added->chain = chain;
	added->next = *at;
	*at = added;
	if (verify->file != NULL)
		atlock_audit_file(added->audit, verify->file);
	return added;
}

static void checked_free(struct verify *verify)
{
	while (verify->all != NULL) {
		struct checked *checked = verify->all;

		verify->all = checked->next;
		atlock_audit_free(checked->audit);
		free(checked);
	}
}

static void verify_file(void *arg, const char *name)
{
	struct verify *verify = arg;

	verify->file = name;
	verify->line = 0;
	verify->now = NULL;
	for (struct checked *checked = verify->all; checked != NULL; checked = checked->next)
		atlock_audit_file(checked->audit, name);
}

/* A line that is no event, as the end of an archive or one that was changed, belongs to the chain of the one before it. */
static int verify_line(void *arg, char *text, size_t len, bool whole)
{
	struct verify *verify = arg;
	static const char event[] = "{\"seq\":";

	if (verify->now == NULL || strncmp(text, event, strlen(event)) == 0)
		verify->now = checked_get(verify, atlock_audit_chain(text));
	if (verify->now == NULL)
		return tool_no_memory(verify->tool);
	atlock_audit_at(verify->now->audit, ++verify->line);
	return audit_line(verify->now->audit, text, len, whole);
}

/* --- What the mount says --- */

/* Where its log begins. */
static int mount_begin(struct verify *verify, const struct mount *mount)
{
	struct checked *checked = checked_get(verify, 0);
	struct atlock_why why;
	char anchor[128];

	if (checked == NULL)
		return -ENOMEM;
	/* All events that there are now must be found. */
	checked->must = mount_events(mount);
	mount_line(mount, "events/anchor", checked->begin, sizeof(checked->begin));
	(void)snprintf(anchor, sizeof(anchor), "%.*s", (int)strcspn(checked->begin, " "), checked->begin);
	if (checked->begin[0] != '\0' && atlock_audit_begin(checked->audit, anchor, &why) < 0)
		checked->begin[0] = '\0';
	return 0;
}

static int chain_begin(void *arg, const struct chain *chain)
{
	struct checked *checked = checked_get(arg, chain->chain);
	struct atlock_why why;

	if (checked == NULL)
		return -ENOMEM;
	checked->must = chain->last;
	(void)strlcpy(checked->host, chain->host, sizeof(checked->host));
	if (chain->anchor[0] != '\0' && atlock_audit_begin(checked->audit, chain->anchor, &why) == 0)
		(void)strlcpy(checked->begin, chain->anchor, sizeof(checked->begin));
	return 0;
}

static int verify_begin(struct verify *verify, const struct mount *mount)
{
	int err = chains_each(mount, chain_begin, verify);

	if (err == 1)
		err = mount_begin(verify, mount);
	return err == 0 ? EXIT_DONE
			: tool_fail(verify->tool, tool_exit_code(-err), "%s/events: %s", mount->path, strerror(-err));
}

/* --- The result --- */

/* "chain 2 (build-2): " */
static const char *chain_name(const struct checked *checked, char out[128])
{
	out[0] = '\0';
	if (checked->chain != 0)
		(void)snprintf(out, 128, "chain %u%s%s%s: ", checked->chain, checked->host[0] != '\0' ? " (" : "",
			       term_text(checked->host), checked->host[0] != '\0' ? ")" : "");
	return out;
}

/* An event as --anchor takes it. */
static const char *last_name(const struct checked *checked, const struct atlock_audit_result *result, char out[128])
{
	if (checked->chain != 0)
		(void)snprintf(out, 128, "%u/%" PRIu64 ":%s", checked->chain, result->last, result->hash);
	else
		(void)snprintf(out, 128, "%" PRIu64 ":%s", result->last, result->hash);
	return out;
}

static void print_archives(const struct atlock_audit *audit)
{
	struct atlock_audit_archive archive;

	for (size_t i = 0; atlock_audit_archive(audit, i, &archive); i++)
		printf("%s is an archive, as it was made: events %" PRIu64 " to %" PRIu64 "; %s\n", archive.file,
		       archive.first, archive.last,
		       archive.joined ? "what follows joins it" : "what follows on it is not among these files");
}

/* The events that are there are unchanged; those before them are missing and cannot be checked. */
static int verify_cut(const struct tool *tool, const struct checked *checked, const struct atlock_audit_result *result)
{
	char name[128];
	char last[128];

	printf("%sevents %" PRIu64 " to %" PRIu64 " follow on each other; the last is\n%s\n", chain_name(checked, name),
	       result->first, result->last, last_name(checked, result, last));
	return tool_fail(
		tool, EXIT_DATA,
		"%sthe log is CUT in front of event %" PRIu64 ": the %" PRIu64
		" before it are not here, and nothing shows what they were. What is left proves nothing about them, and "
		"may have been written anew: add the archive, or --anchor %" PRIu64
		":HASH if you have it from elsewhere",
		name, result->cut, result->cut - 1, result->cut - 1);
}

static int verify_end(const struct verify *verify, const struct checked *checked)
{
	const struct tool *tool = verify->tool;
	struct atlock_audit_result result;
	char name[128];
	char last[128];

	chain_name(checked, name);
	if (atlock_audit_end(checked->audit, &result) < 0)
		return tool_fail(tool, EXIT_REFUSED, "%s%s", name, result.text);
	if (result.last < checked->must)
		return tool_fail(tool, EXIT_REFUSED, "%sevent %" PRIu64 " is missing", name, result.last + 1);
	if (result.events == 0)
		return verify->all->next != NULL ? EXIT_DONE : tool_fail(tool, EXIT_NO_INPUT, "there is no event");
	print_archives(checked->audit);
	if (result.cut != 0)
		return verify_cut(tool, checked, &result);
	if (checked->begin[0] != '\0')
		printf("%sthe log begins behind event %s\n", name, checked->begin);
	printf("%sevents %" PRIu64 " to %" PRIu64 " are as they were written; the last is\n%s\n", name, result.first,
	       result.last, last_name(checked, &result, last));
	return EXIT_DONE;
}

/* Says what is wrong with each chain; the first that is decides. */
static int verify_all(struct verify *verify)
{
	int code = EXIT_DONE;

	if (verify->all == NULL)
		return tool_fail(verify->tool, EXIT_NO_INPUT, "there is no event");
	for (const struct checked *checked = verify->all; checked != NULL; checked = checked->next) {
		int one = verify_end(verify, checked);

		code = code == EXIT_DONE ? one : code;
	}
	return code;
}

static int verify_files(struct verify *verify, char **files, int count)
{
	struct events events = {
		.tool = verify->tool,
		.files = files,
		.count = count,
		.file = verify_file,
		.line = verify_line,
		.arg = verify,
	};
	struct mount mount = { .fd = -1 };
	int code = count == 0 ? mount_open(verify->tool, &mount) : EXIT_DONE;

	if (code != EXIT_DONE)
		return code;
	if (count == 0)
		code = verify_begin(verify, &mount);
	events.mount = &mount;
	if (code == EXIT_DONE)
		code = events_each(&events);
	if (count == 0)
		mount_close(&mount);
	return code == EXIT_DONE ? verify_all(verify) : code;
}

static int verify_store(struct tool *tool, const struct source_where *where)
{
	struct atlock_anchor anchor;
	struct atlock_status status;
	struct atlock_why why;
	struct atlock *al;
	int code = source_open_store(tool, where, true, &al);
	int err;

	if (code != EXIT_DONE)
		return code;
	err = atlock_events_verify(al, NULL, &why);
	if (err != 0)
		code = tool_fail(tool, err < 0 ? EXIT_REFUSED : EXIT_DATA, "%s", why.text);
	if (err == 0 && atlock_anchor(al, &anchor) == 0)
		printf("the log begins behind event %" PRIu64 ":%s %s %s %s\n", anchor.seq, anchor.hash,
		       anchor.archived ? "archived" : "events_keep", anchor.time, anchor.by);
	if (err == 0 && atlock_status(al, &status) == 0)
		printf("the events up to %" PRIu64 " are as they were written\n", status.events);
	atlock_close(al);
	return code;
}

/* NUMBER:HASH, and CHAIN/ before it if that is not 0. */
static int anchor_take(struct verify *verify, const char *text)
{
	const char *slash = strchr(text, '/');
	const char *wrong = NULL;
	struct checked *checked;
	struct atlock_why why;
	char number[8] = "0";

	if (slash != NULL && (size_t)(slash - text) < sizeof(number))
		(void)strlcpy(number, text, (size_t)(slash - text) + 1);
	checked = checked_get(verify, (unsigned int)strtonum(number, 0, UINT16_MAX, &wrong));
	if (wrong != NULL)
		return tool_usage(verify->tool, "\"%s\" begins with no chain", text);
	if (checked == NULL)
		return tool_no_memory(verify->tool);
	return atlock_audit_anchor(checked->audit, slash != NULL ? slash + 1 : text, &why) < 0
		       ? tool_usage(verify->tool, "%s", why.text)
		       : -1;
}

static int option_take(void *arg, int letter)
{
	struct verify *verify = arg;

	return letter == 'A' ? anchor_take(verify, optarg) : source_option(&verify->where, letter);
}

int audit_verify(struct tool *tool, int argc, char **argv)
{
	struct verify verify = { .tool = tool };
	int code = choice_read(tool, argc, argv, CHOICE_ANYWHERE, option_take, &verify);

	if (code < 0 && verify.where.store != NULL && optind < argc)
		code = tool_usage(tool, "a store or files, not both");
	if (code < 0)
		code = verify.where.store != NULL ? verify_store(tool, &verify.where)
						  : verify_files(&verify, argv + optind, argc - optind);
	checked_free(&verify);
	return code;
}
