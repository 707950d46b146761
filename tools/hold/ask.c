#include "ask.h"

#include <getopt.h>
#include <stdio.h>

int ask_option(const struct tool *tool, struct ask *ask, int letter)
{
	enum atlock_priority priority;
	int64_t ttl;

	switch (letter) {
	case 'w': return tool_duration(tool, "wait", true, &ask->wait);
	case 't': ask->ttl = optarg; return tool_duration(tool, "ttl", true, &ttl);
	case 'p':
		ask->priority = optarg;
		if (atlock_priority_parse(optarg, &priority) == 0)
			return -1;
		return tool_usage(tool, "--priority is low, normal, high or critical, not \"%s\"", optarg);
	default: return CHOICE_UNKNOWN;
	}
}

void ask_text(const struct ask *ask, const char *more, char *out, size_t len)
{
	bool ttl = ask->ttl != NULL;
	bool priority = ask->priority != NULL;

	(void)snprintf(out, len, "%s%s%s%s%s%s%s", ttl ? "ttl=" : "", ttl ? ask->ttl : "", ttl ? "\n" : "",
		       priority ? "priority=" : "", priority ? ask->priority : "", priority ? "\n" : "", more);
}
