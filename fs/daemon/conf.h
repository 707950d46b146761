/*
 * Configuration files: lines "name = value", or a name alone for a switch. Blanks around both are ignored, and so are
 * empty lines and lines that begin with '#'.
 */
#ifndef CONF_H
#define CONF_H

/* Takes one setting; `value` is NULL for a name alone. `where` is "file:line". 0, or -1 after complaining. */
typedef int conf_fn(void *arg, const char *where, char *name, char *value);

/* Calls `fn` for every line, until one is refused. 0, -1 after complaining, or 1 if the file does not exist. */
int conf_read(const char *path, conf_fn *fn, void *arg);

#endif
