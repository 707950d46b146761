/* atlock realm: makes a realm, the store that several hosts share, and shows who uses it. */
#include <atlock.h>
#include <atlock/realm.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "choice.h"
#include "grid.h"
#include "store_commands.h"
#include "term.h"

static int fail(const struct tool *tool, int err, const struct atlock_why *why)
{
	static const struct tool_code codes[] = {
		{ EEXIST, EXIT_REFUSED },
		{ ENOENT, EXIT_NO_INPUT },
		{ EINVAL, EXIT_USAGE },
		{ EPROTONOSUPPORT, EXIT_UNAVAILABLE },
		{ EBADMSG, EXIT_DATA },
		{ EAGAIN, EXIT_TRY_AGAIN },
		{ 0, 0 },
	};

	return tool_fail(tool, tool_exit_code_in(codes, -err), "%s", why->text);
}

static int realm_create(const struct tool *tool, const char *uri)
{
	struct atlock_why why = { .text = "" };
	int err = atlock_realm_create(uri, &why);

	if (err < 0)
		return fail(tool, err, &why);
	printf("The realm is made. On each host:\n\n    atlockfs --store '%s' MOUNTPOINT\n\n", uri);
	printf("What to set in the Redis, and what it promises: docs/HOSTS.md\n");
	return EXIT_DONE;
}

static int host_row(struct grid *grid, const struct atlock_realm_host *host)
{
	char chain[8];
	char incarnation[24];
	char heard[40] = "-";
	char timeout[32];

	(void)snprintf(chain, sizeof(chain), "%u", host->chain);
	(void)snprintf(incarnation, sizeof(incarnation), "%" PRIu64, host->incarnation);
	if (host->heard != ATLOCK_NEVER)
		atlock_duration_print(host->heard, heard, sizeof(heard));
	atlock_duration_print(host->timeout, timeout, sizeof(timeout));
	return grid_row(grid, (const char *const[]){ host->name, chain, incarnation, heard, timeout,
						     host->gone ? "gone" : "alive" });
}

static int hosts_print(const struct tool *tool, const struct atlock_realm *realm)
{
	static const char *const heading[] = { "HOST", "CHAIN", "INCARNATION", "HEARD", "TIMEOUT", "STATE" };
	struct grid grid = { .heading = heading, .columns = sizeof(heading) / sizeof(heading[0]), .right = 6 };
	int err = 0;

	for (size_t i = 0; i < realm->count && err == 0; i++)
		err = host_row(&grid, &realm->hosts[i]);
	if (err == 0)
		grid_table(&grid);
	grid_free(&grid);
	return err == 0 ? EXIT_DONE : tool_no_memory(tool);
}

static int realm_show(const struct tool *tool, const char *uri)
{
	struct atlock_why why = { .text = "" };
	struct atlock_realm realm;
	int err = atlock_realm_read(&realm, uri, &why);

	if (err < 0)
		return fail(tool, err, &why);
	printf("id        %s\nepoch     %" PRIu64 "%s\nrevision  %" PRIu64 "\n", realm.id, realm.epoch,
	       realm.opened ? "" : "  not open: the server was started anew, and waits for the hosts to report",
	       realm.revision);
	int code = realm.count > 0 ? hosts_print(tool, &realm) : EXIT_DONE;
	if (realm.count == 0)
		printf("hosts     none yet\n");
	atlock_realm_clear(&realm);
	return code;
}

int realm_backup(const struct tool *tool, const char *uri, const char *to)
{
	struct atlock_why why = { .text = "" };
	uint64_t keys = 0;
	int err = atlock_realm_backup(uri, to, &keys, &why);

	if (err < 0)
		return fail(tool, err, &why);
	printf("%s: %" PRIu64 " record%s\n", term_text(to), keys, TOOL_S(keys));
	return EXIT_DONE;
}

int realm_restore(const struct tool *tool, const char *uri, const char *from)
{
	struct atlock_why why = { .text = "" };
	uint64_t keys = 0;
	int err = atlock_realm_restore(uri, from, &keys, &why);

	if (err < 0)
		return fail(tool, err, &why);
	printf("%s: %" PRIu64 " record%s; mount it with atlockfs --store\n", uri, keys, TOOL_S(keys));
	return EXIT_DONE;
}

static const struct {
	const char *name;
	int (*run)(const struct tool *tool, const char *uri);
} actions[] = { { "create", realm_create }, { "show", realm_show } };

int cmd_realm(struct tool *tool, int argc, char **argv)
{
	const struct choice_count words = { 2, 2, "say create or show, and the address of the realm" };
	int code = choice_words(tool, argc, argv, words, NULL, NULL);

	if (code >= 0)
		return code;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(actions[i].name, argv[optind]) == 0)
			return actions[i].run(tool, argv[optind + 1]);
	return tool_usage(tool, "\"%s\" is neither create nor show", argv[optind]);
}
