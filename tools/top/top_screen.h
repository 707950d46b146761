/* The terminal of atlock top: the only file that draws, and with top_keys.c the only one that knows ncurses. */
#ifndef TOOLS_TOP_SCREEN_H
#define TOOLS_TOP_SCREEN_H

#include <stdbool.h>
#include <wchar.h>

struct top;

/* Takes the terminal over: 0, -ENOTTY if there is none to type on, -ENOTSUP if nothing is known of its kind. */
int top_screen_open(void);

/* Gives it back as it was. May be called at any time and again. */
void top_screen_close(void);

/* What to poll for keys. */
int top_screen_fd(void);

/* The next key, a character or with `*code` one of KEY_DOWN and the like: false if none was pressed. */
bool top_screen_key(wint_t *key, bool *code);

/* Draws all of it; to ncurses, which sends what is new. */
void top_screen_draw(struct top *top);

#endif
