/*
 * atlock completion: what bash, zsh and fish need to complete the words of this program, made from the table of commands and
 * the options in their help.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "choice.h"
#include "shell_commands.h"

/* The field of held locks that the value of an option is likely to be of, or NULL. */
static const char *field_of(const char *option)
{
	static const char *const fields[][2] = { { "owner", "owner" }, { "user", "owner" }, { "who", "who" },
						 { "repo", "repo" },   { "pull", "pull" },  { "lock", "lock" } };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(fields[i][0], option) == 0)
			return fields[i][1];
	return NULL;
}

/* --- bash --- */

static void bash_options(const char *text)
{
	struct choice choice;

	while (choice_next(&text, &choice))
		printf(" --%s", choice.name);
}

static void bash_commands(const struct command *commands)
{
	for (size_t i = 0; commands[i].name != NULL; i++)
		printf("%s%s", i == 0 ? "" : " ", commands[i].name);
}

/* compgen -W expands its words as a shell does: names of locks, which others choose, must not be among them. */
static void print_bash(const struct command *commands)
{
	puts("# bash completion for atlock(1)\n"
	     "# Values of a field of the locks that are held, from the mount.\n"
	     "_atlock_ask()\n"
	     "{\n"
	     "\tlocal value\n"
	     "\twhile read -r value; do\n"
	     "\t\t[[ $value != \"$cur\"* ]] || COMPREPLY+=(\"$value\")\n"
	     "\tdone < <(atlock ls \"${mount[@]}\" --only \"$1\" 2>/dev/null)\n"
	     "}\n"
	     "_atlock()\n"
	     "{\n"
	     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= words= mount=() i\n"
	     "\tCOMPREPLY=()\n"
	     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	     "\t\tcase ${COMP_WORDS[i]} in\n"
	     "\t\t-m | --mount) mount=(-m \"${COMP_WORDS[++i]}\") ;;\n"
	     "\t\t-*) ;;\n"
	     "\t\t*) [ -n \"$command\" ] || command=${COMP_WORDS[i]} ;;\n"
	     "\t\tesac\n"
	     "\tdone\n"
	     "\tcase $prev in\n"
	     "\t-m | --mount | -S | --store) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); return ;;\n"
	     "\t--key-file | --file) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n"
	     "\t-p | --priority) words='low normal high critical' ;;\n"
	     "\t-o | --owner | --user | -u) _atlock_ask owner; return ;;\n"
	     "\t--who) _atlock_ask who; return ;;\n"
	     "\t-r | --repo) _atlock_ask repo; return ;;\n"
	     "\t--pull) _atlock_ask pull; return ;;\n"
	     "\t-l | --lock) _atlock_ask lock; return ;;\n"
	     "\tesac\n"
	     "\t[ -n \"$words\" ] || case $command:$cur in");
	printf("\t:*) words='");
	bash_commands(commands);
	puts(" --help --mount --version' ;;");
	for (const struct command *command = commands; command->name != NULL; command++) {
		printf("\t%s:-*) words='", command->name);
		bash_options(command->more);
		bash_options(choice_common);
		puts("' ;;");
	}
	printf("\thelp:*) words='");
	bash_commands(commands);
	puts("' ;;\n"
	     "\tbench:*) words='cycle read handover' ;;\n"
	     "\tforce-unlock:* | lock:* | ls:* | queue:* | renew:* | show:* | top:* | transfer:* | unlock:* | wait:*)\n"
	     "\t\t_atlock_ask lock; return ;;\n"
	     "\t*) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n"
	     "\tesac\n"
	     "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	     "}\n"
	     "complete -o filenames -F _atlock atlock");
}

/* --- zsh --- */

/* Text between single quotes, with ':' and brackets escaped as _describe and _arguments want them. */
static void quoted(const char *text, const char *escaped)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (strchr(escaped, *text) != NULL)
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void zsh_options(const char *text)
{
	struct choice choice;

	while (choice_next(&text, &choice)) {
		printf(" \\\n\t\t\t'--%s%s[", choice.name, choice.value ? "=" : "");
		quoted(choice.help, ":[]\\");
		printf("]%s%s%s'", choice.value ? ":value:" : "",
		       choice.value && field_of(choice.name) != NULL ? "_atlock_"
		       : choice.value                                ? "_files"
								     : "",
		       choice.value && field_of(choice.name) != NULL ? field_of(choice.name) : "");
	}
}

static void print_zsh(const struct command *commands)
{
	puts("#compdef atlock\n"
	     "_atlock() {\n"
	     "\tlocal -a commands held\n"
	     "\tlocal command\n"
	     "\tcommands=(");
	for (const struct command *command = commands; command->name != NULL; command++) {
		printf("\t\t'%s:", command->name);
		quoted(command->help, ":\\");
		puts("'");
	}
	puts("\t)\n"
	     "\tif ((CURRENT == 2)); then\n"
	     "\t\t_describe command commands\n"
	     "\t\treturn\n"
	     "\tfi\n"
	     "\tcommand=$words[2]\n"
	     "\tcase $command in");
	for (const struct command *command = commands; command->name != NULL; command++) {
		printf("\t%s) _arguments", command->name);
		zsh_options(command->more);
		zsh_options(choice_common);
		puts(" \\\n\t\t\t'*:word:_atlock_words' ;;");
	}
	puts("\tesac\n"
	     "}\n"
	     "_atlock_ask() {\n"
	     "\tlocal -a held\n"
	     "\theld=(${(f)\"$(atlock ls --only $1 2>/dev/null)\"})\n"
	     "\tcompadd -a held\n"
	     "}\n"
	     "_atlock_owner() { _atlock_ask owner }\n"
	     "_atlock_who() { _atlock_ask who }\n"
	     "_atlock_repo() { _atlock_ask repo }\n"
	     "_atlock_pull() { _atlock_ask pull }\n"
	     "_atlock_lock() { _atlock_ask lock }\n"
	     "_atlock_words() { _atlock_ask lock; _files }\n"
	     "if [ \"$funcstack[1]\" = _atlock ]; then _atlock \"$@\"; else compdef _atlock atlock; fi");
}

/* --- fish --- */

static void fish_options(const char *name, const char *text)
{
	struct choice choice;

	while (choice_next(&text, &choice)) {
		printf("complete -c atlock -n '__fish_seen_subcommand_from %s' -l %s", name, choice.name);
		if (choice.letter != '\0')
			printf(" -s %c", choice.letter);
		printf("%s", choice.value ? " -r" : "");
		if (choice.value && field_of(choice.name) != NULL)
			printf(" -f -a '(atlock ls --only %s 2>/dev/null)'", field_of(choice.name));
		fputs(" -d '", stdout);
		for (const char *p = choice.help; *p != '\0'; p++)
			printf(*p == '\'' || *p == '\\' ? "\\%c" : "%c", *p);
		puts("'");
	}
}

static void print_fish(const struct command *commands)
{
	puts("# fish completion for atlock(1)");
	for (const struct command *command = commands; command->name != NULL; command++) {
		printf("complete -c atlock -n __fish_use_subcommand -f -a %s -d '", command->name);
		for (const char *p = command->help; *p != '\0'; p++)
			printf(*p == '\'' || *p == '\\' ? "\\%c" : "%c", *p);
		puts("'");
		fish_options(command->name, command->more);
		fish_options(command->name, choice_common);
	}
	puts("complete -c atlock -n '__fish_seen_subcommand_from bench' -f -a 'cycle read handover'");
	puts("complete -c atlock -n '__fish_seen_subcommand_from force-unlock lock ls queue renew show top transfer unlock wait' "
	     "-f \\\n"
	     "\t-a '(atlock ls --only lock 2>/dev/null)'");
}

static const struct {
	const char *name;
	void (*print)(const struct command *commands);
} shells[] = {
	{ "bash", print_bash },
	{ "zsh", print_zsh },
	{ "fish", print_fish },
};

int cmd_completion(struct tool *tool, int argc, char **argv)
{
	/* A script is written in one piece, so that it is known at the end why it could not be written. */
	static char output[65536];
	static const char question[] = "for which shell? bash, zsh or fish";
	int code = choice_words(tool, argc, argv, (struct choice_count){ 1, 1, question }, NULL, NULL);

	if (code >= 0)
		return code;
	(void)setvbuf(stdout, output, _IOFBF, sizeof(output));
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (strcmp(shells[i].name, argv[optind]) == 0) {
			shells[i].print(tool->commands);
			return EXIT_DONE;
		}
	return tool_usage(tool, "%s", question);
}
