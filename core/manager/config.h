/*
 * Changes of the options in force (struct config). What is changed while running is kept in the store, one record an option, and
 * holds again at the next open, unless the option is given there. Private to core/.
 *
 *	config_start(al, options)	the options as given; enough to open the store
 *	config_resume(al, why)		with what the store remembers
 *	config_free(al)
 */
#ifndef CORE_CONFIG_H
#define CORE_CONFIG_H

#include "state.h"

int config_start(struct atlock *al, const struct atlock_options *options);

/* -EINVAL if the options given and those stored contradict each other. */
int config_resume(struct atlock *al, struct atlock_why *why);

void config_free(struct atlock *al);

/* options.c: whether an option was given by atlock_option_set(), and whether it can only be set at the open. */
bool option_is_given(const struct atlock_options *options, const char *name);
bool option_is_fixed(const char *name);

/* Whether only root may change it. */
bool option_is_root(const char *name);

#endif
