/* What the keys of atlock top do. */
#ifndef TOOLS_TOP_KEYS_H
#define TOOLS_TOP_KEYS_H

#include <wchar.h>

#include "top.h"

/* A key was pressed: a character, or with `code` one of ncurses' KEY_DOWN and the like. */
void top_key(struct top *top, wint_t key, bool code);

#endif
