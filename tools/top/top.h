/*
 * One run of atlock top: what was read last, what is shown of it, and what the person in front of it is asked.
 *
 * A thread reads (top_reader.h); all else is one thread's. top_keys.c changes this, top_screen.c draws it, top_act.c does what
 * was confirmed to the mount.
 */
#ifndef TOOLS_TOP_H
#define TOOLS_TOP_H

#include "filter.h"
#include "top_act.h"
#include "top_list.h"

enum top_mode {
	TOP_BROWSE,
	TOP_FILTER, /* a text is typed */
	TOP_ASK,    /* a question waits for y */
	TOP_PAGE,   /* a text covers the list */
};

struct top {
	struct tool *tool;
	struct mount mount; /* open only while it is used: an open one keeps the mount busy */
	struct filter filter;
	int64_t delay;   /* between two looks, as asked for */
	int64_t every;   /* and as it is, since they take so long */
	int64_t took;    /* the last of them; 0: there was none */
	long iterations; /* to end after; 0: never */
	bool batch;

	struct top_model *model; /* the last that could be read, or NULL */
	struct top_rates rates;
	char gone[256];  /* why there is nothing newer, or "" */
	int64_t reading; /* for how long, if it is suspicious; else 0 */
	bool paused;
	bool again; /* look at once */

	enum top_view view;
	struct top_list lists[TOP_VIEWS];
	size_t page; /* rows on the screen */

	enum top_mode mode;
	char said[1024];        /* the last line, until the next key */
	top_deed_fn *deed;      /* what y does, to: */
	struct top_row *target; /* its own */
	char *text;             /* that covers the list; its own */
	size_t text_first;      /* its line at the top */
	bool quit;
};

/* The line with mount, health and counts, the one with the rates, the one about the list; cut to `width` columns. */
#define TOP_HEADS 3
#define TOP_HEAD_MAX 1024
void top_head(const struct top *top, size_t line, size_t width, char out[TOP_HEAD_MAX]);

/* "ok", "degraded", "failing", or "gone" if nothing can be read. */
const char *top_health(const struct top *top);

/* What the mount says of itself if all is not well, else "". */
const char *top_trouble(const struct top *top);

/* Takes a model that was just read, which is its own from now on. 0 or -ENOMEM. */
int top_take(struct top *top, struct top_model *model);

/* Frees what is its own. */
void top_clear(struct top *top);

#endif
