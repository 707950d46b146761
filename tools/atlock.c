/* The program: the table of commands with their help texts, and main(). */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atlock.h>
#include <atlock/program.h>

#include "atlantis_commands.h"
#include "audit_command.h"
#include "bench_command.h"
#include "choice.h"
#include "help.h"
#include "hold_commands.h"
#include "look_commands.h"
#include "serve_command.h"
#include "shell_commands.h"
#include "store_commands.h"
#include "top_command.h"

#define FOREIGN_OPTIONS                                                                                   \
	"      --older               of a Bolt file whose newest state is damaged, take the one before\n" \
	"      --status-before-0.25  plan statuses are numbered as before Atlantis 0.25\n"

static const struct command commands[] = {
	{ "audit", "verify|show|archive [OPTION...] [FILE...]", "check, search or archive the log of events",
	  "verify finds any event that was changed, removed or moved, and names the first. Prints the last:\n"
	  "      --anchor N:HASH  what it once printed; that event must still be there\n"
	  "archive moves events into a new FILE, checks it, and frees their space:\n"
	  "      --before TIME    events before 2026-11-16, 7d (ago), today, or now (all)\n"
	  "  -S, --store DIR      use this store instead of the mount; verify only reads it\n"
	  "      --key-file FILE  its key, if it is encrypted\n"
	  "show prints time, type, lock, holder, who did it and with what, with tabs between them:\n"
	  "  -l, --lock LOCK      events of this lock; of all locks below, if it ends with /\n"
	  "  -u, --user USER      events of what this user holds or did\n"
	  "      --since TIME     from: 2026-11-16T05:11:02Z, 2026-11-16, or 2h (ago)\n"
	  "      --until TIME     up to, written likewise\n"
	  "      --type TYPE      acquired, released, refused, ...; see atlockfs(5)\n"
	  "  -j, --json           as JSON, an event a line\n"
	  "\n"
	  "verify and show take files that were copied from events/, or - for standard input.\n"
	  "\nExample: atlock audit show --since 2h --lock custom/deploy\n",
	  cmd_audit },
	{ "backup", "[--store DIR|URI] [--key-file FILE] TO", "copy a store while it is in use",
	  "  -S, --store DIR|URI  what atlockfs was given (else the store of the mount)\n"
	  "      --key-file FILE  the key of a store that is encrypted\n"
	  "\n"
	  "TO is a new or empty directory, or for a realm (redis://...) a new file. The copy is of one moment,\n"
	  "compact, and checked.\n"
	  "\nExample: atlock backup /var/backups/locks-$(date +%F)\n",
	  cmd_backup },
	{ "bench", "[--jobs N] [--time TIME] [--json] [cycle|read|handover]...",
	  "measure what this mount can do on this host",
	  "      --jobs N         processes of the second measurement of cycle (8)\n"
	  "      --time TIME      how long each measurement takes (3s)\n"
	  "  -j, --json           a JSON object, with rates a second and microseconds\n"
	  "  -f, --force          even if the option on_event is set, whose command then runs for every lock\n"
	  "\n"
	  "cycle takes a lock and releases it, read is cat of a held lock, handover is the time from a release\n"
	  "until the waiter has the lock. The locks are in a new directory below custom/, or below repos/ where\n"
	  "custom/ is refused. None is left; the event log has two lines for each. Exits with 77 if you may take\n"
	  "no lock at all.\n"
	  "\nExample: atlock bench --time 1s cycle\n",
	  cmd_bench },
	{ "completion", "bash|zsh|fish", "print a completion script for a shell",
	  "Installed with the program.\n"
	  "\nExample: source <(atlock completion bash)\n",
	  cmd_completion },
	{ "doctor", "", "check all that a mount needs, and say what is wrong and what to do",
	  "Example: atlock doctor -m /locks\n", cmd_doctor },
	{ "export", "[--format atlantis|jsonl|enhanced] [--keys 3|4] [--to redis://HOST:PORT/DB|bolt:FILE]",
	  "print what is held, or write it to a Redis or a new Bolt file",
	  "      --format FORMAT    atlantis: its own records, a JSON object a line (default); or\n"
	  "                         jsonl: all locks of the tree, for `atlock import` elsewhere; or\n"
	  "                         enhanced: locks as the enhanced lock manager keeps them in a Redis\n"
	  "      --to redis://...   write Atlantis' records into its Redis; existing ones stay; or\n"
	  "           bolt:FILE     make FILE, with which Atlantis can start\n"
	  "      --keys 3|4         parts of the keys: 3 before Atlantis 0.40 (else as those there, or imported)\n"
	  "\nExample: atlock export --format jsonl > locks.jsonl\n",
	  cmd_export },
	{ "force-unlock", "LOCK|ID...", "release another holder's lock",
	  "Takes a path, or an id as it is shown anywhere. Users can release their own locks of other\n"
	  "sessions if those have a name (@build-17), administrators every lock.\n"
	  "\nExample: atlock force-unlock custom/deploy\n",
	  cmd_force_unlock },
	{ "fsck", "[--repair] [--key-file FILE] DIR", "check a store, and repair it",
	  "      --repair         mend a store that is not mounted: rebuild records, indexes and counts\n"
	  "                       from each other, with a line for each; no lock is released by it\n"
	  "  -S, --store DIR      the same as DIR\n"
	  "      --key-file FILE  the key of a store that is encrypted\n"
	  "\nExample: atlock fsck /var/lib/atlockfs\n",
	  cmd_fsck },
	{ "graph", "[--svg|--dot] [--store DIR]", "who waits for whom",
	  "      --svg            as a picture\n"
	  "      --dot            for dot(1) of Graphviz\n"
	  "  -S, --store DIR      read this store instead of a mount\n"
	  "      --key-file FILE  its key, if it is encrypted\n"
	  "\nExample: atlock graph --svg > waits.svg\n",
	  cmd_graph },
	{ "guard",
	  "RESOURCE --app APP [--probe APP=URL]... [-t TIME] [--retries N] [--dry-run] -- COMMAND [ARGUMENT...]",
	  "run a command that stops a shared resource, if all apps that use it are down",
	  "      --app APP        the app of the resource that wants to stop it\n"
	  "      --probe APP=URL  ask another app first, by HEAD: 200 is UP, another answer DOWN, none UNKNOWN\n"
	  "      --timeout TIME   how long to wait for an answer (3s)\n"
	  "  -t, --ttl TIME       the lease of the lock that is held meanwhile, renewed four times in it (60s)\n"
	  "      --up CODES       answers that are UP (200); as 200,204 or 2xx\n"
	  "      --down CODES     answers that are DOWN; then all others are UNKNOWN\n"
	  "      --retries N      more tries while another is stopping it, with growing pauses (2)\n"
	  "      --dry-run        say what would happen\n"
	  "      --off            guard nothing, as $ATLOCK_GUARD=off: run the command\n"
	  "\n"
	  "Exits as the command does (128 + signal), or with 75: another app is not down, or came up.\n"
	  "\nExample: atlock guard db-1 --app web --probe api=http://localhost:8080/health -- systemctl stop db-1\n",
	  cmd_guard },
	{ "help", "[COMMAND|--all]", "explain a command, or list them all",
	  "      --all            every command, with a line about it\n"
	  "\nExample: atlock help run\n",
	  cmd_help },
	{ "import", "[--dry-run] [--owner USER] [--map FROM=TO]... FILE|redis://[USER:PASSWORD@]HOST:PORT/DB|-",
	  "take over what Atlantis holds",
	  "Reads Atlantis' Bolt file or Redis, its enhanced lock manager's records there, lines of `atlock\n"
	  "export`, or what `aws dynamodb scan` prints of a lease service. What is held here stays.\n"
	  "\n"
	  "      --dry-run             say what would happen, and change nothing\n"
	  "  -o, --owner USER          this user holds the locks (else the users that the records name)\n"
	  "      --map FROM=TO         locks of the user FROM are held by TO here; may be repeated\n" FOREIGN_OPTIONS
	  "\n"
	  "A password for Redis is better given in $ATLOCK_REDIS_PASSWORD.\n"
	  "\nExample: atlock import --dry-run /var/lib/atlantis/atlantis.db\n",
	  cmd_import },
	{ "key", "new|id FILE", "make a key file for the option key_file, or tell which key is in one",
	  "  new  makes the file, readable by its owner alone, and prints the key's id\n"
	  "  id   prints the id, by which refusals and events name a key\n"
	  "\nExample: atlock key new /etc/atlockfs.key\n",
	  cmd_key },
	{ "lock", "[-w TIME] [-p PRIORITY] [-t TIME] [--reason TEXT] [--who NAME] LOCK...",
	  "take locks, all or none, and print their tokens",
	  "  -w, --wait TIME      wait for them, at most this long in all (else not at all)\n"
	  "  -p, --priority WORD  low, normal, high or critical, while waiting\n"
	  "  -t, --ttl TIME       the lease (else as the mount's default_ttl says)\n"
	  "      --reason TEXT    why you hold them\n"
	  "      --key KEY=VALUE  a note in a key of your own; may be repeated\n"
	  "      --who NAME       hold them under this name (else as this session)\n"
	  "      --every TIME     while waiting, say this often for what (1m; on a terminal all the time)\n"
	  "  -q, --quiet          do not say it\n"
	  "      --retries N      further tries where another holds one (0), each with its own --wait\n"
	  "      --backoff A..B   before them, pauses at random up to A, 2A, 4A ... at most B (200ms..10s)\n"
	  "\nExample: atlock lock --wait 10m --ttl 1h --reason release custom/deploy\n",
	  cmd_lock },
	{ "ls", "[PATH] [--owner USER] [--repo REPO] [--pull N] [--older-than TIME] [--json]...",
	  "list what is held, below a path or everywhere",
	  "  -o, --owner USER             held by this user\n"
	  "      --who NAME               held under this name\n"
	  "  -r, --repo REPO              of this repository\n"
	  "      --pull N                 for this pull request\n"
	  "      --older-than TIME        held for this long, or longer\n"
	  "      --expiring-within TIME   lease ends within this time\n"
	  "      --type TYPE              project, custom, global or shared\n"
	  "      --sort FIELD             by lock, owner, who, type, held, left or waiters: oldest, soonest, most first\n"
	  "      --limit N                the first N of them\n"
	  "  -l, --long                   also the id, and nothing is cut to fit the terminal\n"
	  "      --only FIELD             just the values of lock, owner, who, repo or pull, each once\n"
	  "  -j, --json                   a JSON object a line\n"
	  "      --watch                  repeat every second\n"
	  "  -S, --store DIR              read this store instead of a mount\n"
	  "      --key-file FILE          its key, if it is encrypted\n"
	  "\n"
	  "Without a terminal: lock, holder, since, until, waiters, reason and id, with tabs between them.\n"
	  "\nExample: atlock ls --owner alice --older-than 1h\n",
	  cmd_ls },
	{ "migrate", "--from DIR|URI --to DIR|URI", "move a store to several hosts, or back",
	  "      --from DIR|URI   a store that is not mounted: a directory, or a realm (redis://...)\n"
	  "      --to DIR|URI     where to: a new or empty directory, or a realm that is not there\n"
	  "\n"
	  "Copies all and compares it. Run it again if it was interrupted: --to cannot be mounted before it is\n"
	  "whole. --from stays as it is, and must not be mounted any more. Names keep their locks, whose leases\n"
	  "run anew; what processes and sessions hold is released.\n"
	  "\nExample: atlock migrate --from /var/lib/atlockfs --to 'redis://redis.example:6379/0?realm=ci'\n",
	  cmd_migrate },
	{ "mirror",
	  "[--one-way] [--once] [--delete] [--keys 3|4] [--interval TIME] --to redis://HOST:PORT/DB | --from FILE",
	  "keep Atlantis' Redis and this tree equal",
	  "      --to redis://...  Atlantis' Redis\n"
	  "      --from FILE       Atlantis' Bolt file, read while Atlantis has it open, never written\n"
	  "      --once            bring it up to date once, and end\n"
	  "      --delete          at the start, delete what is not held here; --one-way, too\n"
	  "      --one-way         write there alone: take and release nothing here\n"
	  "      --keys 3|4        parts of the keys of new locks there (else as those there have)\n"
	  "      --interval TIME   time between two rounds (500ms)\n"
	  "\n"
	  "Ends with SIGTERM or ^C. A lock that another pull request has there stays.\n"
	  "\nExample: atlock mirror --to redis://localhost:6379/0\n",
	  cmd_mirror },
	{ "policy", "test [--file FILE] USER ACTION LOCK", "which rule of the policy decides",
	  "      --file FILE  ask this file instead of the policy of the mount\n"
	  "\n"
	  "Actions: acquire wait release write read read=KEY transfer force priority=high\n"
	  "priority=critical ttl=never. Administrators are not bound by the policy.\n"
	  "Exits with 1 if a rule denies it.\n"
	  "\nExample: atlock policy test alice acquire repos/acme/infra/-/vpc/-/prod\n",
	  cmd_policy },
	{ "queue", "[--json] [--store DIR] [LOCK]", "list who waits, for one lock or for all",
	  "  -j, --json           a JSON object a line\n"
	  "  -S, --store DIR      read this store instead of a mount\n"
	  "      --key-file FILE  its key, if it is encrypted\n"
	  "\nExample: atlock queue custom/deploy\n",
	  cmd_queue },
	{ "realm", "create|show redis://[USER@]HOST[:PORT][/DB]?realm=NAME",
	  "make a store that several hosts share, or show who uses it",
	  "  create  makes the realm, once; it is refused if it is there\n"
	  "  show    prints its id, epoch, revision and hosts, each with its chain, its incarnation and\n"
	  "          how long ago the server heard of it\n"
	  "\n"
	  "An address has no password: it is in $ATLOCK_REDIS_PASSWORD, or in a file that ?password_file=\n"
	  "names. See atlock(1) for Sentinels, clusters and the other parameters.\n"
	  "\nExample: atlock realm create 'redis://redis.example/0?realm=ci'\n",
	  cmd_realm },
	{ "renew", "[-t TIME|--add TIME] [--if-version N] LOCK|ID|KEY...", "make leases longer",
	  "  -t, --ttl TIME       a lease of this length from now (else of the length it has)\n"
	  "      --add TIME       add to what is left\n"
	  "      --if-version N   only if the lock's version= is this one\n"
	  "\nExample: atlock renew --ttl 1h custom/deploy\n",
	  cmd_renew },
	{ "restore", "--store DIR|URI [--key-file FILE] FROM", "make a store from a copy",
	  "  -S, --store DIR|URI  a new or empty directory for atlockfs, or a realm that is not there\n"
	  "      --key-file FILE  the key of a store that is encrypted\n"
	  "\n"
	  "Checks before and after. No token that the lost store gave out is given out again.\n"
	  "\nExample: atlock restore --store /var/lib/atlockfs /var/backups/locks-2026-11-16\n",
	  cmd_restore },
	{ "run", "[-l LOCK]... [-w TIME] [-p PRIORITY] [-t TIME] [-c COMMAND] -- CMD [ARGUMENT...]",
	  "run a command while locks are held",
	  "  -l, --lock LOCK        hold this lock; all of several or none\n"
	  "  -w, --wait TIME        wait for them, at most this long in all (else not at all)\n"
	  "  -p, --priority WORD    low, normal, high or critical, while waiting\n"
	  "  -t, --ttl TIME         hold them by a lease (else until this process ends)\n"
	  "      --reason TEXT      why (else the command line, without passwords)\n"
	  "      --key KEY=VALUE    a note in a key of your own; may be repeated\n"
	  "      --who NAME         hold them under this name, by a lease\n"
	  "      --every TIME       while waiting, say this often for what (1m)\n"
	  "  -q, --quiet            do not say it\n"
	  "  -c, --command NAME     refuse while another holds global/NAME, such as apply\n"
	  "      --retries N        further tries where another holds one (0)\n"
	  "      --backoff A..B     random pauses before them (200ms..10s)\n"
	  "      --on-lost ACTION   when one is lost: kill (default), warn, or a command\n"
	  "  -k, --kill-after TIME  time from SIGTERM to SIGKILL then (10s)\n"
	  "\n"
	  "CMD finds ATLOCK_LOCK, ATLOCK_TOKEN and ATLOCK_ID of the first lock in its environment, and all\n"
	  "of them, a line each, in ATLOCK_LOCKS, ATLOCK_TOKENS and ATLOCK_IDS; and who in ATLOCK_WHO.\n"
	  "Exits as CMD does (128 + signal), or with 75: timed out, or a lock was lost and CMD was ended.\n"
	  "\nExample: atlock run --wait 10m --lock custom/deploy -- make deploy\n",
	  cmd_run },
	{ "serve", "[--listen ADDRESS:PORT|unix:PATH] [--user NAME] [OPTION...]", "show the locks as a page",
	  "      --listen WHERE     an address and port, or unix:PATH (127.0.0.1:7470)\n"
	  "      --user NAME        run as this user, and show what it may read; needed as root\n"
	  "      --host NAME        a name by which browsers may ask for it, beside localhost\n"
	  "      --allow-remote     listen where other hosts reach it, without TLS and login\n"
	  "      --allow-release    a button releases a lock, as the user who asks; needs unix:PATH\n"
	  "      --proxy NAME       the user of a proxy that names the user who asks in a header\n"
	  "      --identity HEADER  that header (X-Remote-User)\n"
	  "\n"
	  "Ends with SIGTERM or ^C.\n"
	  "\nExample: atlock serve --user nobody\n",
	  cmd_serve },
	{ "show", "[--json] [--store DIR] LOCK|ID|KEY...", "show all about a lock",
	  "  -j, --json           as a JSON object\n"
	  "  -S, --store DIR      read this store instead of a mount\n"
	  "      --key-file FILE  its key, if it is encrypted\n"
	  "\nExample: atlock show custom/deploy\n",
	  cmd_show },
	{ "status", "[--json]", "where the file system is mounted, and whether it is healthy",
	  "  -j, --json  a JSON object, with numbers as such\n"
	  "\n"
	  "Without a terminal: key=value lines, after one that is ok or says what is wrong.\n"
	  "\nExample: atlock status\n",
	  cmd_status },
	{ "top", "[-d SECONDS] [-n N] [-b] [--queue] [-s COLUMN] [FILTER...] [PATH]",
	  "show locks, waiters and rates as they change",
	  "  -d, --delay SECONDS          between two readings (2); longer where reading takes long\n"
	  "  -n, --iterations N           end after so many readings\n"
	  "  -b, --batch                  plain text, as without a terminal\n"
	  "      --queue                  show waiters (else held locks)\n"
	  "  -s, --sort COLUMN            sort by this column\n"
	  "  -R, --reverse                reverse the order\n"
	  "  -o, --owner USER             only locks, and their queues, held by this user\n"
	  "      --who NAME               held under this name\n"
	  "  -r, --repo REPO              of this repository\n"
	  "      --pull N                 for this pull request\n"
	  "      --older-than TIME        held for this long, or longer\n"
	  "      --expiring-within TIME   lease ends within this time\n"
	  "\n"
	  "Keys: arrows, PgUp, PgDn, Home, End move; Tab changes between locks and queues; s sorts, r\n"
	  "reverses, / filters; Enter shows all; d releases, F by force; + and - change a waiter's\n"
	  "priority; space pauses; ? helps; q quits.\n"
	  "\nExample: atlock top --repo acme/infra\n",
	  cmd_top },
	{ "transfer", "--to OWNER[@WHO]|@WHO [--if-version N] LOCK|ID|KEY...", "hand locks over; token and queue stay",
	  "      --to HOLDER      the new holder\n"
	  "      --if-version N   only if the lock's version= is this one\n"
	  "\nExample: atlock transfer --to @build-18 custom/deploy@build-17\n",
	  cmd_transfer },
	{ "unlock", "LOCK|ID|KEY...", "release locks",
	  "A lock that is not held is as it should be: 0. Another's is refused, and its holder named: 1.\n"
	  "\nExample: atlock unlock custom/deploy\n",
	  cmd_unlock },
	{ "verify", "--against FILE|redis://HOST:PORT/DB|-", "compare with what Atlantis has, and list differences",
	  "      --against FROM        what Atlantis has: its Bolt file, its Redis, or lines of `atlock export`\n" FOREIGN_OPTIONS
	  "\nExample: atlock verify --against /var/lib/atlantis/atlantis.db\n",
	  cmd_verify },
	{ "wait", "[--timeout TIME] [-p PRIORITY] [-t TIME] [--free] LOCK", "wait for a lock, take it and print it",
	  "      --timeout TIME   at most this long (else without end)\n"
	  "  -w, --wait TIME      the same\n"
	  "  -p, --priority WORD  low, normal, high or critical\n"
	  "  -t, --ttl TIME       the lease\n"
	  "      --free           only wait until it is free, and do not take it\n"
	  "      --every TIME     say this often what is waited for (1m; on a terminal all the time)\n"
	  "  -q, --quiet          do not say it\n"
	  "\nExample: atlock wait --timeout 10m custom/deploy\n",
	  cmd_wait },
	{ .name = NULL },
};

/* Standard output is written when it is flushed: a full disk must not look like success. */
static int output_finish(const struct tool *tool, int code)
{
	int err = atlock_standard_flush();

	return code == EXIT_DONE && err < 0 ? tool_fail(tool, EXIT_OUTPUT, "standard output: %s", strerror(-err))
					    : code;
}

static int version_print(void *arg, int letter)
{
	(void)arg, (void)letter;
	puts("atlock " ATLOCK_VERSION);
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct tool tool = { .commands = commands };
	int code;

	if (atlock_standard_open() < 0)
		return EXIT_SYSTEM;
	code = choice_read(&tool, argc, argv, CHOICE_FIRST, version_print, NULL);
	if (code >= 0)
		return output_finish(&tool, code);
	if (optind == argc) {
		help_short(stderr, commands);
		return EXIT_USAGE;
	}
	tool.command = command_find(commands, argv[optind]);
	if (tool.command == NULL)
		return help_unknown(commands, argv[optind]);
	code = tool.command->run(&tool, argc - optind, argv + optind);
	return output_finish(&tool, code);
}
