#include "top_keys.h"

#include <bsd/string.h>
#include <curses.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CTRL(letter) ((letter)&0x1f)
#define ESCAPE 0x1b
#define RUBOUT 0x7f
#define QUESTION_LOCK 120 /* columns of a lock in a question, whose end must be seen */

static const char help[] = "Up Down j k     one row             Tab       locks, or who waits for them\n"
			   "PgUp PgDn ^B ^F a page              Enter     all about a lock or ticket\n"
			   "Home End g G    first, last         Space     pause\n"
			   "s F6 > <        sort by the next    r         the other way around\n"
			   "                or last column      R F5      look at once\n"
			   "/               only what has this text in its lock or holder; Esc: all\n"
			   "d Del           give back what is yours: a lock, a place in a queue\n"
			   "F               the same by force, for administrators\n"
			   "+ -             priority of one who waits\n"
			   "? h F1          this text           q F10     quit\n"
			   "\n"
			   "HELD WAITED     for how long        WAIT      how many wait\n"
			   "LEFT            until its end       POS       place in the queue\n"
			   "PULL            pull request        TICKET    its number\n"
			   "\n"
			   "Wide terminals show more columns. What is refused is told in the last\n"
			   "line, in the words of the file why. Looking takes a quarter of the time\n"
			   "at most; where it takes long, that is not as often as --delay says.\n";

struct binding {
	wint_t key;
	bool code;
	void (*run)(struct top *top, long arg);
	long arg;
};

static struct top_list *list_of(struct top *top)
{
	return &top->lists[top->view];
}

static void list_again(struct top *top)
{
	if (top->model != NULL && top_list_update(list_of(top), top->model) < 0)
		(void)strlcpy(top->said, "out of memory", sizeof(top->said));
}

/* --- Moving --- */

static void run_row(struct top *top, long by)
{
	top_list_move(list_of(top), by);
}

static void run_page(struct top *top, long by)
{
	top_list_move(list_of(top), by * (long)(top->page > 1 ? top->page - 1 : 1));
}

static void run_end(struct top *top, long by)
{
	top_list_move(list_of(top), by * (long)list_of(top)->count);
}

/* --- What is shown, and how --- */

static void run_view(struct top *top, long arg)
{
	(void)arg;
	top->view = top->view == TOP_LOCKS ? TOP_QUEUE : TOP_LOCKS;
}

static void run_sort(struct top *top, long by)
{
	struct top_list *list = list_of(top);

	list->column = (list->column + TOP_COLUMNS + (size_t)by) % TOP_COLUMNS;
	list->reverse = false;
	list_again(top);
}

static void run_reverse(struct top *top, long arg)
{
	(void)arg;
	list_of(top)->reverse = !list_of(top)->reverse;
	list_again(top);
}

static void run_filter(struct top *top, long arg)
{
	(void)arg;
	top->mode = TOP_FILTER;
}

/* Esc: back to all of them. */
static void run_all(struct top *top, long arg)
{
	(void)arg;
	list_of(top)->filter[0] = '\0';
	list_again(top);
}

static void run_pause(struct top *top, long arg)
{
	(void)arg;
	top->paused = !top->paused;
	top->again = !top->paused;
}

static void run_again(struct top *top, long arg)
{
	(void)arg;
	top->again = true;
}

static void run_redraw(struct top *top, long arg)
{
	(void)top, (void)arg;
	clearok(stdscr, TRUE);
}

static void run_quit(struct top *top, long arg)
{
	(void)arg;
	top->quit = true;
}

/* --- Texts that cover the list --- */

static void text_show(struct top *top, char *text)
{
	if (text == NULL)
		return;
	free(top->text);
	top->text = text;
	top->text_first = 0;
	top->mode = TOP_PAGE;
}

static void run_help(struct top *top, long arg)
{
	(void)arg;
	text_show(top, strdup(help));
}

static void run_details(struct top *top, long arg)
{
	const struct top_row *row = top_list_chosen(list_of(top));

	(void)arg;
	if (row != NULL)
		text_show(top, top_details(&top->mount, row, top->said, sizeof(top->said)));
}

static void run_text(struct top *top, long by)
{
	size_t step = by < 0 ? (size_t)-by : (size_t)by;

	if (by < 0)
		top->text_first -= step < top->text_first ? step : top->text_first;
	else
		top->text_first += step;
}

static void run_text_page(struct top *top, long by)
{
	run_text(top, by * (long)(top->page > 0 ? top->page : 1));
}

static void run_back(struct top *top, long arg)
{
	(void)arg;
	top->mode = TOP_BROWSE;
}

/* --- Doing something to what is chosen --- */

enum deed { DEED_OWN, DEED_FORCE, DEED_RAISE, DEED_LOWER };

/* What a key does, in each view; without a question it is done at once. */
static const struct {
	top_deed_fn *run;
	const char *question; /* of lock, owner and who */
} deeds[][TOP_VIEWS] = {
	[DEED_OWN] = { { top_release, "Release %s, held by %s@%s? (y/n)" },
		       { top_cancel, "Take out of the queue of %s: %s@%s? (y/n)" } },
	[DEED_FORCE] = { { top_force, "Release %s by FORCE, held by %s@%s? (y/n)" },
			 { top_cancel_force, "Take out of the queue of %s by FORCE: %s@%s? (y/n)" } },
	[DEED_RAISE] = { { NULL, NULL }, { top_raise, NULL } },
	[DEED_LOWER] = { { NULL, NULL }, { top_lower, NULL } },
};

static void run_deed(struct top *top, long deed)
{
	const struct top_row *row = top_list_chosen(list_of(top));
	top_deed_fn *run = deeds[deed][top->view].run;
	char lock[ATLOCK_PATH_MAX + 8];

	if (row == NULL)
		return;
	if (run == NULL) {
		(void)strlcpy(top->said, "Only who waits has a priority that can be changed: Tab shows them",
			      sizeof(top->said));
		return;
	}
	if (deeds[deed][top->view].question == NULL) {
		(void)run(&top->mount, row, top->said, sizeof(top->said));
		top->again = true;
		return;
	}
	/* The list may change before the answer: keep a copy of the chosen row. */
	free(top->target);
	top->target = top_row_copy(row);
	if (top->target == NULL)
		return;
	top->deed = run;
	top->mode = TOP_ASK;
	(void)top_text_fit(row->lock, QUESTION_LOCK, TOP_CUT_FRONT, lock, sizeof(lock));
	(void)snprintf(top->said, sizeof(top->said), deeds[deed][top->view].question, lock, row->owner, row->who);
}

static void answer_take(struct top *top, wint_t key, bool code)
{
	top->mode = TOP_BROWSE;
	if (code || (key != 'y' && key != 'Y')) {
		(void)strlcpy(top->said, "Nothing was done", sizeof(top->said));
		return;
	}
	/* The next reading may take a while: drop the row now. */
	if (top->deed(&top->mount, top->target, top->said, sizeof(top->said)) == 0 && top->model != NULL)
		top_model_drop(top->model, top->target);
	list_again(top);
	top->again = true;
}

/* --- Typing a filter --- */

static void filter_drop_last(char *filter)
{
	size_t len = strlen(filter);

	while (len > 0 && ((unsigned char)filter[len - 1] & 0xc0) == 0x80)
		len--;
	filter[len > 0 ? len - 1 : 0] = '\0';
}

static void filter_take(struct top *top, wint_t key, bool code)
{
	char *filter = list_of(top)->filter;
	char letter[MB_LEN_MAX + 1] = "";
	mbstate_t state;
	size_t len;

	if (code ? key == KEY_ENTER : key == '\r' || key == '\n') {
		top->mode = TOP_BROWSE;
		return;
	}
	memset(&state, 0, sizeof(state));
	len = code || key < ' ' || key == RUBOUT ? 0 : wcrtomb(letter, (wchar_t)key, &state);
	if (code ? key == KEY_BACKSPACE : key == RUBOUT || key == CTRL('h'))
		filter_drop_last(filter);
	else if (!code && key == CTRL('u'))
		filter[0] = '\0';
	else if (!code && key == ESCAPE) {
		filter[0] = '\0';
		top->mode = TOP_BROWSE;
	} else if (len > 0 && len != (size_t)-1 && strlen(filter) + len < TOP_FILTER_MAX) {
		letter[len] = '\0';
		(void)strlcat(filter, letter, TOP_FILTER_MAX);
	}
	list_again(top);
}

/* --- All keys --- */

static const struct binding browse_keys[] = {
	{ KEY_UP, true, run_row, -1 },        { 'k', false, run_row, -1 },
	{ KEY_DOWN, true, run_row, 1 },       { 'j', false, run_row, 1 },
	{ KEY_PPAGE, true, run_page, -1 },    { CTRL('b'), false, run_page, -1 },
	{ KEY_NPAGE, true, run_page, 1 },     { CTRL('f'), false, run_page, 1 },
	{ KEY_HOME, true, run_end, -1 },      { 'g', false, run_end, -1 },
	{ KEY_END, true, run_end, 1 },        { 'G', false, run_end, 1 },
	{ '\t', false, run_view, 0 },         { 's', false, run_sort, 1 },
	{ KEY_F(6), true, run_sort, 1 },      { '>', false, run_sort, 1 },
	{ '<', false, run_sort, -1 },         { 'r', false, run_reverse, 0 },
	{ '/', false, run_filter, 0 },        { ESCAPE, false, run_all, 0 },
	{ ' ', false, run_pause, 0 },         { 'R', false, run_again, 0 },
	{ KEY_F(5), true, run_again, 0 },     { CTRL('l'), false, run_redraw, 0 },
	{ '\r', false, run_details, 0 },      { '\n', false, run_details, 0 },
	{ KEY_ENTER, true, run_details, 0 },  { 'd', false, run_deed, DEED_OWN },
	{ KEY_DC, true, run_deed, DEED_OWN }, { 'F', false, run_deed, DEED_FORCE },
	{ '+', false, run_deed, DEED_RAISE }, { '-', false, run_deed, DEED_LOWER },
	{ '?', false, run_help, 0 },          { 'h', false, run_help, 0 },
	{ KEY_F(1), true, run_help, 0 },      { 'q', false, run_quit, 0 },
	{ KEY_F(10), true, run_quit, 0 },     { 0, false, NULL, 0 },
};

static const struct binding text_keys[] = {
	{ KEY_UP, true, run_text, -1 },
	{ 'k', false, run_text, -1 },
	{ KEY_DOWN, true, run_text, 1 },
	{ 'j', false, run_text, 1 },
	{ KEY_PPAGE, true, run_text_page, -1 },
	{ KEY_NPAGE, true, run_text_page, 1 },
	{ ' ', false, run_text_page, 1 },
	{ CTRL('l'), false, run_redraw, 0 },
	{ 'q', false, run_back, 0 },
	{ ESCAPE, false, run_back, 0 },
	{ '\r', false, run_back, 0 },
	{ '\n', false, run_back, 0 },
	{ KEY_ENTER, true, run_back, 0 },
	{ '?', false, run_back, 0 },
	{ 'h', false, run_back, 0 },
	{ 0, false, NULL, 0 },
};

void top_key(struct top *top, wint_t key, bool code)
{
	const struct binding *binding = top->mode == TOP_PAGE ? text_keys : browse_keys;

	/* A new size of the terminal is no key. */
	if (code && key == KEY_RESIZE)
		return;
	if (top->mode == TOP_ASK) {
		answer_take(top, key, code);
		return;
	}
	top->said[0] = '\0';
	if (top->mode == TOP_FILTER) {
		filter_take(top, key, code);
		return;
	}
	while (binding->run != NULL && (binding->key != key || binding->code != code))
		binding++;
	if (binding->run != NULL)
		binding->run(top, binding->arg);
}
