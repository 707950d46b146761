#include "step.h"

#include <bsd/string.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cast.h"

const char *const step_ops[STEP_OPS] = {
	[STEP_ACQUIRE] = "acquire",
	[STEP_ACQUIRE_ALL] = "acquire_all",
	[STEP_RELEASE] = "release",
	[STEP_RENEW] = "renew",
	[STEP_TRANSFER] = "transfer",
	[STEP_WRITE] = "write",
	[STEP_CHMOD] = "chmod",
	[STEP_CLAIM] = "claim",
	[STEP_WAIT] = "wait",
	[STEP_WAIT_CANCEL] = "wait_cancel",
	[STEP_ENQUEUE] = "enqueue",
	[STEP_CANCEL] = "cancel",
	[STEP_REPRIORITISE] = "reprioritise",
	[STEP_RELEASE_PULL] = "release_pull",
	[STEP_RELEASE_HOLDER] = "release_holder",
	[STEP_RUN_DUE] = "run_due",
	[STEP_RUN_DEADLOCK] = "run_deadlock",
	[STEP_LIST] = "list",
	[STEP_CONFIGURE] = "configure",
	[STEP_ADVANCE] = "advance",
	[STEP_WALL] = "wall",
	[STEP_REOPEN] = "reopen",
};

const char *const step_keys[STEP_KEYS] = { "alpha", "beta", "gamma", "note" };

const char *const step_faults[] = {
	[FAULT_NONE] = "",
	[FAULT_TWICE] = "run-twice",
	[FAULT_FAIL] = "commit-fails",
	[FAULT_CRASH_BEFORE] = "crash-before-commit",
	[FAULT_CRASH_AFTER] = "crash-after-commit",
};

static const char *const bad_lines[] = { "ttl=banana\n", "=x\n", "renew=-5s\n", "ttl=\n", "priority=urgent\n" };

__attribute__((format(printf, 3, 4))) static void append(char *out, size_t len, const char *format, ...)
{
	size_t used = strlen(out);
	va_list args;
	va_start(args, format);
	(void)vsnprintf(out + used, len - used, format, args);
	va_end(args);
}

static void append_duration(char *out, size_t len, const char *label, int64_t duration)
{
	if (duration == ATLOCK_NEVER)
		append(out, len, "%snever", label);
	else if (duration % ATLOCK_SECOND == 0)
		append(out, len, "%s%" PRId64 "s", label, duration / ATLOCK_SECOND);
	else
		append(out, len, "%s%" PRId64 "ns", label, duration);
}

size_t step_text(const struct step *step, char *out, size_t len)
{
	out[0] = '\0';
	for (int key = 0; key < STEP_KEYS; key++) {
		if (!(step->keys & 1U << key))
			continue;
		if (key == STEP_KEYS - 1)
			append(out, len, "v%d\n", step->value);
		else
			append(out, len, "%s=v%d\n", step_keys[key], step->value);
	}
	if (step->line == LINE_TTL || step->line == LINE_RENEW) {
		append_duration(out, len, step->line == LINE_TTL ? "ttl=" : "renew=", step->ttl);
		strlcat(out, "\n", len);
	} else if (step->line == LINE_WHO) {
		append(out, len, "who=%s\n", cast_actors[step->to].who);
	} else if (step->line == LINE_BAD) {
		strlcat(out, bad_lines[(size_t)step->bad % (sizeof bad_lines / sizeof bad_lines[0])], len);
	}
	return strlen(out);
}

const char *step_option_name(const struct step *step)
{
	static const char *const names[] = { "deadlock_policy", "lock_delay", "max_queue" };
	return names[step->option];
}

void step_option_value(const struct step *step, char *out, size_t len)
{
	static const char *const policies[] = { "lifo", "fifo", "lowest_priority", "random", "off" };
	out[0] = '\0';
	if (step->option == OPTION_POLICY)
		strlcpy(out, policies[step->setting], len);
	else if (step->option == OPTION_LOCK_DELAY)
		append_duration(out, len, "", step->setting);
	else
		append(out, len, "%" PRId64, step->setting);
}

const char *step_prefix(const struct step *step)
{
	static const char *const prefixes[] = { "repos/acme/infra/", "repos/acme/", "global/", "custom/" };
	return prefixes[step->repo];
}

static void print_request(const struct step *step, char *out, size_t len)
{
	append_duration(out, len, " ttl=", step->ttl);
	if (step->version)
		append(out, len, " version=%" PRIu64, step->version);
	append(out, len, "%s%s%s%s", step->exclusive ? " exclusive" : "", step->add ? " add" : "",
	       step->force ? " force" : "", step->replace ? " replace" : "");
	if (step->named)
		append(out, len, " named=%s", cast_actors[step->named - 1].who);
	if (step->op == STEP_WAIT || step->op == STEP_ENQUEUE || step->op == STEP_REPRIORITISE)
		append(out, len, " priority=%d", step->priority);
	if (step->op == STEP_WAIT || step->op == STEP_ENQUEUE)
		append_duration(out, len, " timeout=", step->timeout);
	if (step->op == STEP_WAIT || step->op == STEP_WAIT_CANCEL)
		append(out, len, " waiter=%d", step->waiter);
	if (step->op == STEP_WAIT && step->self >= 0)
		append(out, len, " self=%s", cast_actors[step->self].who);
	if (step->op == STEP_CANCEL || step->op == STEP_REPRIORITISE)
		append(out, len, " ticket=%" PRIu64, step->ticket);
	if (step->op == STEP_TRANSFER)
		append(out, len, " to=%s@%s", cast_actors[step->to].owner, cast_actors[step->to].who);
	if (step->op == STEP_CHMOD)
		append(out, len, " mode=%o", (unsigned)step->mode);
	char text[256];
	if (step_text(step, text, sizeof text) == 0)
		return;
	for (char *c = text; *c; c++) {
		if (*c == '\n')
			*c = '|';
	}
	append(out, len, " text=%s", text);
}

void step_print(const struct step *step, char *out, size_t len)
{
	out[0] = '\0';
	append(out, len, "%s", step_ops[step->op]);
	if (step->op < STEP_RUN_DUE && step->op != STEP_WAIT_CANCEL)
		append(out, len, " %s@%s", cast_actors[step->actor].owner, cast_actors[step->actor].who);
	if (step->op == STEP_ACQUIRE_ALL) {
		for (int i = 0; i < step->locks_len; i++)
			append(out, len, " %s", cast_locks[step->locks[i]].path);
	} else if (step->op < STEP_RELEASE_PULL && step->op != STEP_WAIT_CANCEL) {
		append(out, len, " %s", cast_locks[step->lock].path);
	}
	if (step->op < STEP_RELEASE_PULL)
		print_request(step, out, len);
	if (step->op == STEP_RELEASE_PULL)
		append(out, len, " %s #%" PRIu64, cast_repos[step->repo], step->pull);
	if (step->op == STEP_LIST)
		append(out, len, " query=%d limit=%zu", (int)step->query, step->limit);
	if (step->op == STEP_CONFIGURE) {
		char value[32];
		step_option_value(step, value, sizeof value);
		append(out, len, " %s=%s", step_option_name(step), value);
	}
	if (step->op == STEP_ADVANCE || step->op == STEP_REOPEN)
		append_duration(out, len, " by ", step->advance);
	if (step->op == STEP_WALL || step->op == STEP_REOPEN)
		append_duration(out, len, " wall ", step->wall);
	if (step->fault)
		append(out, len, " [%s]", step_faults[step->fault]);
}
