#include "top_screen.h"

#include <curses.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <termcap.h>
#include <unistd.h>

#include "moment.h"
#include "term.h"
#include "top.h"

#define CELL_MAX ATLOCK_PATH_MAX
#define SAID_LINES 4 /* of what is said, at most */
#define HEADS_FROM 8 /* lines that a terminal needs to show more than the first of the head */

static SCREEN *screen;
static FILE *keyboard;
static bool colors;

/* --- Taking and giving back --- */

/* newterm() finds out, too, but does not clean up where it fails. */
static bool term_known(const char *term)
{
	return term != NULL && term[0] != '\0' && tgetent(NULL, term) == 1;
}

int top_screen_open(void)
{
	if (!term_known(getenv("TERM")))
		return -ENOTSUP;
	/* Standard input may be a pipe: keys come from the terminal all the same. */
	keyboard = isatty(STDIN_FILENO) ? stdin : fopen("/dev/tty", "re");
	if (keyboard == NULL)
		return -ENOTTY;
	screen = newterm(NULL, stdout, keyboard);
	if (screen == NULL) {
		top_screen_close();
		return -ENOTSUP;
	}
	set_escdelay(25);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	colors = term_color(stdout, TERM_BOLD)[0] != '\0' && has_colors();
	if (colors) {
		start_color();
		use_default_colors();
		init_pair(TERM_RED, COLOR_RED, -1);
		init_pair(TERM_GREEN, COLOR_GREEN, -1);
		init_pair(TERM_YELLOW, COLOR_YELLOW, -1);
	}
	return 0;
}

void top_screen_close(void)
{
	if (screen != NULL) {
		endwin();
		delscreen(screen);
	}
	if (keyboard != NULL && keyboard != stdin)
		fclose(keyboard);
	screen = NULL;
	keyboard = NULL;
}

int top_screen_fd(void)
{
	return fileno(keyboard);
}

bool top_screen_key(wint_t *key, bool *code)
{
	int rc = get_wch(key);

	*code = rc == KEY_CODE_YES;
	return rc != ERR;
}

/* --- Parts --- */

static attr_t tone(enum term_color color)
{
	return color == TERM_PLAIN ? A_NORMAL : colors ? (attr_t)COLOR_PAIR(color) | A_BOLD : A_BOLD;
}

/* Fills the line, so that what is reversed goes all the way. */
static void line_draw(int y, attr_t attr, const char *text)
{
	attrset((int)attr);
	mvhline(y, 0, ' ' | attr, COLS);
	mvaddstr(y, 0, text);
	attrset(A_NORMAL);
}

/* The health is coloured: it follows on the mount, in whose path the same word may be. */
static void head_draw(const struct top *top, size_t line)
{
	const char *word = top_health(top);
	enum term_color color = strcmp(word, "ok") == 0         ? TERM_GREEN
				: strcmp(word, "degraded") == 0 ? TERM_YELLOW
								: TERM_RED;
	char text[TOP_HEAD_MAX];
	char *found = NULL;

	top_head(top, line, (size_t)COLS, text);
	line_draw((int)line, A_NORMAL, text);
	for (char *at = text; line == 0 && (at = strstr(at, word)) != NULL; at++)
		found = at;
	if (found == NULL)
		return;
	found[strlen(word)] = '\0';
	attrset((int)tone(color));
	mvaddstr((int)line, (int)(top_text_width(text) - strlen(word)), found);
	attrset(A_NORMAL);
}

static void cell_draw(int y, int x, attr_t attr, const char *text, size_t width, const struct top_column *column)
{
	char fitted[CELL_MAX + 8];
	size_t used = top_text_fit(text, width, column->cut, fitted, sizeof(fitted));

	attrset((int)attr);
	mvaddstr(y, x + (column->right ? (int)(width - used) : 0), fitted);
	attrset(A_NORMAL);
}

/* A row, or the heading if it is NULL. */
static void row_draw(const struct top_list *list, const struct top_row *row, int y, const size_t widths[TOP_COLUMNS])
{
	bool reversed = row == NULL || row == top_list_chosen(list);
	int64_t now = moment_wall();
	char cell[CELL_MAX];
	int x = 0;

	line_draw(y, reversed ? A_REVERSE : A_NORMAL, "");
	for (size_t i = 0; i < TOP_COLUMNS; i++) {
		const struct top_column *column = top_column(list->view, i);
		attr_t attr = reversed ? A_REVERSE : A_NORMAL;

		if (widths[i] == 0)
			continue;
		if (row != NULL)
			top_column_print(column, row, now, cell, sizeof(cell));
		if (row == NULL)
			attr |= i == list->column ? A_BOLD | A_UNDERLINE : A_NORMAL;
		else if (!reversed)
			attr = tone(top_column_tone(column, row, now));
		cell_draw(y, x, attr, row == NULL ? column->name : cell, widths[i], column);
		x += (int)widths[i] + 1;
	}
}

/* --- The last lines --- */

static const char hints[] = "? help  q quit  Tab locks/queue  s sort  / filter  d release";

/* The most important message. */
static void said_print(const struct top *top, char *out, size_t len)
{
	if (top->mode == TOP_FILTER)
		(void)snprintf(out, len, "/%s", top->lists[top->view].filter);
	else if (top->mode == TOP_PAGE)
		(void)snprintf(out, len, "q back  arrows scroll");
	else if (top->said[0] != '\0')
		(void)snprintf(out, len, "%s", top->said);
	else if (top->gone[0] != '\0')
		(void)snprintf(out, len, "Nothing newer: %s; trying again", top->gone);
	else if (top_trouble(top)[0] != '\0')
		(void)snprintf(out, len, "%s", top_trouble(top));
	else
		(void)top_text_fit(hints, (size_t)COLS - 1, TOP_CUT_END, out, len);
}

/* Returns how many lines it takes. */
static int said_draw(const struct top *top)
{
	bool loud = top->mode == TOP_ASK ||
		    (top->said[0] == '\0' && (top->gone[0] != '\0' || top_trouble(top)[0] != '\0'));
	char pieces[SAID_LINES][sizeof(top->said) * 2];
	char text[sizeof(top->said) * 2];
	const char *rest = text;
	int count = 0;

	/* The last cell stays free: a terminal might scroll. */
	said_print(top, text, sizeof(text));
	while (count == 0 || (*rest != '\0' && count < SAID_LINES && count < LINES - 3)) {
		rest = top_text_piece(rest, (size_t)COLS - 1, pieces[count], sizeof(pieces[count]));
		count++;
	}
	for (int i = 0; i < count; i++)
		line_draw(LINES - count + i, loud ? tone(TERM_RED) : A_NORMAL, pieces[i]);
	return count;
}

/* --- All of it --- */

/* A text that covers the list, from its first line that is shown. */
static void text_draw(struct top *top, int from, int rows)
{
	char piece[CELL_MAX];
	size_t lines = 0;
	size_t line = 0;
	const char *at;

	for (at = top->text; *at != '\0'; lines++)
		at = top_text_piece(at, (size_t)COLS, piece, sizeof(piece));
	if (top->text_first + (size_t)rows > lines)
		top->text_first = lines > (size_t)rows ? lines - (size_t)rows : 0;
	for (at = top->text; *at != '\0'; line++) {
		at = top_text_piece(at, (size_t)COLS, piece, sizeof(piece));
		if (line >= top->text_first && line < top->text_first + (size_t)rows)
			line_draw(from + (int)(line - top->text_first), A_NORMAL, piece);
	}
}

static void list_draw(const struct top *top, int from, int rows)
{
	const struct top_list *list = &top->lists[top->view];
	size_t widths[TOP_COLUMNS];

	top_column_fit(top->view, (size_t)COLS, widths);
	row_draw(list, NULL, from - 1, widths);
	for (size_t i = 0; i < (size_t)rows && list->first + i < list->count; i++)
		row_draw(list, list->rows[list->first + i], from + (int)i, widths);
}

void top_screen_draw(struct top *top)
{
	int heads = LINES < HEADS_FROM ? 1 : TOP_HEADS;
	int said;
	int rows;

	erase();
	if (COLS < 2 || LINES < 2)
		return;
	said = said_draw(top);
	rows = LINES - heads - 1 - said;
	rows = rows < 0 ? 0 : rows;
	top->page = (size_t)rows;
	top_list_page(&top->lists[top->view], top->page);
	for (int i = 0; i < heads && i < LINES - said; i++)
		head_draw(top, (size_t)i);
	if (top->mode == TOP_PAGE)
		text_draw(top, heads, rows + 1);
	else if (rows > 0)
		list_draw(top, heads + 1, rows);
	/* The cursor is where the user types, or in the corner. */
	curs_set(top->mode == TOP_FILTER ? 1 : 0);
	move(LINES - 1,
	     top->mode == TOP_FILTER ? (int)top_text_width(top->lists[top->view].filter) % COLS + 1 : COLS - 1);
	refresh();
}
