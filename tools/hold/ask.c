#include "ask.h"

#include <bsd/stdlib.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int reason_take(const struct tool *tool, struct ask *ask)
{
	ask->reason = optarg;
	if (strchr(optarg, '\n') == NULL && strlen(optarg) <= ASK_REASON_MAX)
		return -1;
	return tool_usage(tool, "--reason is one line of at most %d bytes", ASK_REASON_MAX);
}

static int who_take(const struct tool *tool, struct ask *ask)
{
	(void)snprintf(ask->who, sizeof(ask->who), "@%s", optarg);
	if (optarg[0] != '\0' && strlen(optarg) <= ATLOCK_WHO_MAX)
		return -1;
	return tool_usage(tool, "--who is a name such as build-17, of at most %d bytes", ATLOCK_WHO_MAX);
}

/* What a request understands itself has options of its own, or is not for a command that only asks. */
static bool key_is_taken(const char *text)
{
	static const char *const taken[] = { "ttl",  "renew",  "priority", "owner", "who",
					     "mode", "reason", "timeout",  "note",  "if_version" };
	size_t len = strcspn(text, "=");

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (strlen(taken[i]) == len && strncmp(taken[i], text, len) == 0)
			return true;
	return false;
}

static int key_take(const struct tool *tool, struct ask *ask)
{
	char *keys;

	if (strchr(optarg, '=') == NULL || optarg[0] == '=' || strchr(optarg, '\n') != NULL || key_is_taken(optarg))
		return tool_usage(tool, "--key is a key of your own and its value, such as build=17, not \"%s\"",
				  optarg);
	if (asprintf(&keys, "%s%s\n", ask->keys == NULL ? "" : ask->keys, optarg) < 0)
		return tool_no_memory(tool);
	free(ask->keys);
	ask->keys = keys;
	return -1;
}

static int retries_take(const struct tool *tool, struct ask_again *again)
{
	const char *bad = NULL;

	again->retries = strtonum(optarg, 0, 1000000, &bad);
	return bad == NULL ? -1 : tool_usage(tool, "--retries is a number up to 1000000");
}

static int backoff_take(const struct tool *tool, struct ask_again *again)
{
	char *most = strstr(optarg, "..");

	if (most != NULL) {
		*most = '\0';
		most += 2;
	}
	if (most != NULL && atlock_duration_parse(optarg, false, &again->least) == 0 &&
	    atlock_duration_parse(most, false, &again->most) == 0 && again->least > 0 && again->most >= again->least)
		return -1;
	return tool_usage(tool, "--backoff is a shortest and a longest pause, as 200ms..10s");
}

int ask_option(const struct tool *tool, struct ask *ask, int letter)
{
	enum atlock_priority priority;
	int64_t ttl;

	switch (letter) {
	case 'w': return tool_duration(tool, "wait", true, &ask->wait);
	case 't': ask->ttl = optarg; return tool_duration(tool, "ttl", true, &ttl);
	case 'E': return tool_duration(tool, "every", false, &ask->every);
	case 'T': return retries_take(tool, &ask->again);
	case 'B': return backoff_take(tool, &ask->again);
	case 'q': ask->every = ATLOCK_NEVER; return -1;
	case 'R': return reason_take(tool, ask);
	case 'W': return who_take(tool, ask);
	case 'K': return key_take(tool, ask);
	case 'p':
		ask->priority = optarg;
		if (atlock_priority_parse(optarg, &priority) == 0)
			return -1;
		return tool_usage(tool, "--priority is low, normal, high or critical, not \"%s\"", optarg);
	default: return CHOICE_UNKNOWN;
	}
}

static void line_print(FILE *out, const char *key, const char *value)
{
	if (value != NULL)
		fprintf(out, "%s=%s\n", key, value);
}

char *ask_text(const struct ask *ask)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	line_print(out, "ttl", ask->ttl);
	line_print(out, "priority", ask->priority);
	line_print(out, "reason", ask->reason);
	if (ask->keys != NULL)
		fputs(ask->keys, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

void ask_free(struct ask *ask)
{
	free(ask->keys);
	ask->keys = NULL;
}
