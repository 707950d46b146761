/*
 * Steps of mount-sys, each a system call for shell scripts: sys.c says how they are written. A step gets SYS_ARGS_MAX
 * arguments, those that were not given as "", and returns a negative number, with errno, if it failed.
 */
#ifndef MOUNT_SYS_H
#define MOUNT_SYS_H

#include <sys/types.h>
#include <time.h>

#define SYS_ARGS_MAX 4

struct sys_step {
	const char *name; /* NULL ends a table */
	int (*run)(char **args);
	int least; /* arguments */
};

/* A name that scripts use for a flag; NULL ends a table. */
struct sys_word {
	const char *name;
	int value;
};

extern int sys_fd; /* the current file */

extern const struct sys_step sys_file_steps[];
extern const struct sys_step sys_read_steps[];
extern const struct sys_step sys_path_steps[];
extern const struct sys_step sys_process_steps[];

/* Arguments as values. What cannot be read ends the program with status 2. */
_Noreturn void sys_usage(const char *what, const char *text);
int sys_words(const struct sys_word *table, const char *text); /* the sum of comma-separated words */
long long sys_number(const char *text);
mode_t sys_mode(const char *text, mode_t otherwise); /* octal; `otherwise` if the text is "" */
struct timespec sys_time(const char *text);          /* now, omit, +SECONDS from now, or seconds since 1970 */

#endif
