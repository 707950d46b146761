/*
 * Configuration files: lines "name = value", or a name alone for what is on or off. Blanks around both do not count; empty
 * lines and such as begin with '#' say nothing.
 */
#ifndef CONF_H
#define CONF_H

/* Takes one setting; `value` is NULL for a name alone. `where` is "file:line". 0, or -1 after complaining. */
typedef int conf_fn(void *arg, const char *where, char *name, char *value);

/* Gives every line to `fn`, until one is refused. 0, -1 after complaining, or 1 if the file is not there. */
int conf_read(const char *path, conf_fn *fn, void *arg);

#endif
