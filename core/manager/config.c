#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "background.h"
#include "disable.h"
#include "event_log.h"
#include "hook.h"
#include "log.h"
#include "scan.h"
#include "why.h"

#define VALUE_MAX 256 /* of the longest option, with its NUL */

static void config_replace(struct atlock *al, struct config *config)
{
	config->older = atomic_load(&al->config);
	atomic_store_explicit(&al->config, config, memory_order_release);
	if (al->log == NULL)
		log_level_set((enum atlock_log_level)config->options.log_level);
}

static struct config *config_new(const struct atlock_options *options, struct policy *policy)
{
	struct config *config = calloc(1, sizeof(*config));

	if (config != NULL)
		*config = (struct config){ .options = *options, .policy = policy };
	return config;
}

/* Frees a config that did not come into force. */
static void config_drop(struct atlock *al, struct config *config)
{
	if (config != NULL && config->policy != state_config(al)->policy)
		policy_free(config->policy);
	free(config);
}

/* Loads the policy's rules again; after an error the old rules are kept. */
static int config_load_policy(struct config *config, struct atlock_why *why)
{
	struct policy *policy = NULL;
	int rc = config->options.policy[0] != '\0' ? policy_load(config->options.policy, &policy, why) : 0;

	if (rc == 0)
		config->policy = policy;
	return rc;
}

int config_start(struct atlock *al, const struct atlock_options *options)
{
	struct config *config = config_new(options, NULL);

	if (config == NULL)
		return -ENOMEM;
	config_replace(al, config);
	return 0;
}

void config_free(struct atlock *al)
{
	struct config *config = atomic_load(&al->config);

	while (config != NULL) {
		struct config *older = config->older;

		if (older == NULL || older->policy != config->policy)
			policy_free(config->policy);
		free(config);
		config = older;
	}
}

/* --- What the store remembers --- */

/*
 * In a store that several hosts share, a command would be run by the daemons of all of them: who can write to the store, or is root on
 * one host, would be root on the others.
 */
static bool is_for_one_host(const struct atlock *al, const char *name)
{
	return al->shared && option_is_root(name);
}

/* Applies one stored option, unless it was given at the open. An option that this version does not know is left alone. */
static int setting_take(struct op *op, struct slice key, struct slice value, struct atlock_options *options)
{
	struct record_setting record;
	char name[64] = "";
	char text[VALUE_MAX] = "";
	int rc = record_decode(RECORD_SETTING, value, &record);

	if (rc < 0 || record.value.len >= sizeof(text) || key.len > sizeof(name))
		return op_corrupt(op, key, rc < 0 ? rc : -EBADMSG);
	memcpy(name, (const char *)key.data + 1, key.len - 1);
	memcpy(text, record.value.data, record.value.len);
	if (option_is_given(options, name) || option_is_fixed(name) || is_for_one_host(op->al, name))
		return 0;
	rc = atlock_option_set(options, name, text, op->why);
	return rc == -ENOENT ? 0 : rc;
}

static int resume_in_txn(struct op *op)
{
	struct scan scan = scan_table(TABLE_SETTING);
	struct config *config = op->arg;
	int rc;

	config->options = *op->options;
	while ((rc = scan_next(op, &scan)) == 0) {
		rc = setting_take(op, scan.key, scan.value, &config->options);
		if (rc < 0)
			return rc;
	}
	why_clear(op->why);
	return rc < 0 ? rc : 0;
}

int config_resume(struct atlock *al, struct atlock_why *why)
{
	struct config *config = config_new(state_options(al), NULL);
	struct atlock_why reason = { .text = "" };
	int rc;

	if (config == NULL)
		return why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory");
	rc = op_look(al, resume_in_txn, config, why);
	if (rc == 0 && (rc = atlock_options_check(&config->options, &reason)) < 0)
		why_set(why, rc, reason.code, "%s (with what config/ was set to before: give both with -o)",
			reason.text);
	if (rc == 0 && !al->readonly)
		rc = config_load_policy(config, why);
	if (rc < 0) {
		config_drop(al, config);
		return rc;
	}
	config_replace(al, config);
	return 0;
}

/* --- Changing --- */

void atlock_options_read(struct atlock *al, struct atlock_options *out)
{
	if (out == NULL)
		return;
	if (al == NULL)
		atlock_options_init(out);
	else
		*out = *state_options(al);
}

struct configure {
	const char *name;
	const struct atlock_options *options; /* as they will be */
	char old[VALUE_MAX];
	char new[VALUE_MAX];
};

/* Every user may read events: a value that only administrators may read is not in them. */
static const char *value_shown(const char *name, const char *value)
{
	return option_is_root(name) && value[0] != '\0' ? "hidden" : value;
}

static int configure_in_txn(struct op *op)
{
	const struct configure *configure = op->arg;
	struct record_key key = record_key_of(TABLE_SETTING, slice_of(configure->name));
	struct record_setting record = { slice_of(configure->new) };
	int rc = op_put(op, RECORD_SETTING, &key, &record);

	if (rc == 0)
		rc = event_configured(op, configure->name, value_shown(configure->name, configure->old),
				      value_shown(configure->name, configure->new));
	if (rc < 0 || configure->options->disable_apply == op->options->disable_apply)
		return rc;
	return disable_apply_set(op, configure->options->disable_apply != 0);
}

/* The value of an option that only root may change is not logged: it is a command, which may contain a password. */
static void log_change(struct atlock *al, const struct atlock_caller *caller, const struct configure *configure)
{
	const char *by = caller != NULL ? caller->owner : "the daemon";

	if (option_is_root(configure->name))
		log_write(al, ATLOCK_LOG_INFO, "config/%s was changed by %s", configure->name, by);
	else
		log_write(al, ATLOCK_LOG_INFO, "config/%s is %s now, it was %s; by %s", configure->name, configure->new,
			  configure->old, by);
}

/* Puts `config` in force, once the store has it. */
static int config_commit(struct atlock *al, const struct atlock_caller *caller, const char *name, struct config *config,
			 struct atlock_why *why)
{
	struct configure configure = { .name = name, .options = &config->options };
	int rc;

	rc = atlock_option_get(state_options(al), name, configure.old, sizeof(configure.old));
	if (rc == 0)
		rc = atlock_option_get(&config->options, name, configure.new, sizeof(configure.new));
	if (rc < 0)
		return why_set(why, rc, ATLOCK_INVALID_REQUEST, "%s cannot be read", name);
	rc = op_call(al, caller, METRICS_NONE, configure_in_txn, &configure, why);
	if (rc < 0)
		return rc;
	config_replace(al, config);
	background_configured(al);
	if (hook_configured(al) < 0)
		log_write(al, ATLOCK_LOG_ERROR, "no thread could be started for on_event: set it again");
	log_change(al, caller, &configure);
	return 0;
}

int atlock_may_configure(const struct atlock *al, const struct atlock_caller *caller, const char *name,
			 struct atlock_why *why)
{
	if (al == NULL || name == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no option given");
	if (caller != NULL && !caller->admin)
		return why_set(why, -EPERM, ATLOCK_PERMISSION_DENIED,
			       "options are changed by administrators: root, and the members of admin_group");
	if (caller != NULL && caller->uid != 0 && option_is_root(name))
		return why_set(why, -EPERM, ATLOCK_PERMISSION_DENIED,
			       "%s is changed by root alone: the daemon runs it as the user it is itself", name);
	if (is_for_one_host(al, name))
		return why_set(
			why, -EPERM, ATLOCK_PERMISSION_DENIED,
			"%s is not kept in a store that several hosts share: each host has its own, by -o %s=... or "
			"atlockfs.conf",
			name, name);
	if (option_is_fixed(name))
		return why_set(why, -EPERM, ATLOCK_PERMISSION_DENIED,
			       "%s cannot change while mounted: unmount, and mount with -o %s=...", name, name);
	return 0;
}

int atlock_may_read_option(struct atlock *al, const struct atlock_caller *caller, const char *name,
			   struct atlock_why *why)
{
	char value[VALUE_MAX] = "";

	if (al == NULL || caller == NULL || name == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no option given");
	if (caller->admin || !option_is_root(name) ||
	    (atlock_option_get(state_options(al), name, value, sizeof(value)) == 0 && value[0] == '\0'))
		return 0;
	return why_set(why, -EACCES, ATLOCK_PERMISSION_DENIED,
		       "%s is a command, which may contain a password: administrators may read it", name);
}

int atlock_configure(struct atlock *al, const struct atlock_caller *caller, const char *name, const char *value,
		     struct atlock_why *why)
{
	struct config *config;
	int rc;

	if (value == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "an option needs a name and a value");
	rc = atlock_may_configure(al, caller, name, why);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&al->options_mutex);
	config = config_new(state_options(al), state_config(al)->policy);
	rc = config == NULL ? why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory")
			    : atlock_option_set(&config->options, name, value, why);
	if (rc == 0)
		rc = atlock_options_check(&config->options, why);
	if (rc == 0 && strcmp(name, "policy") == 0)
		rc = config_load_policy(config, why);
	if (rc == 0)
		rc = config_commit(al, caller, name, config, why);
	if (rc < 0)
		config_drop(al, config);
	pthread_mutex_unlock(&al->options_mutex);
	return rc;
}

int atlock_reload(struct atlock *al, struct atlock_why *why)
{
	struct atlock_options options;

	atlock_options_read(al, &options);
	if (options.policy[0] == '\0')
		return 1;
	return atlock_configure(al, NULL, "policy", options.policy, why);
}
