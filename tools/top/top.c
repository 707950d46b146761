#include "top.h"

#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "moment.h"

#define SLOW 4 /* reading takes at most a quarter of the time */

int top_take(struct top *top, struct top_model *model)
{
	struct top_model *old = top->model;
	int64_t took;
	/* If the store fails, the last rows stay, with the present health. */
	bool sick = old != NULL && model->err < 0 && model->health[0] != '\0';
	int err = 0;

	if (sick)
		(void)strlcpy(old->health, model->health, sizeof(old->health));
	/* The loss of the mount replaces the last message. */
	if (top->gone[0] == '\0' && model->err < 0 && top->mode != TOP_ASK)
		top->said[0] = '\0';
	(void)strlcpy(top->gone, sick ? "" : model->said, sizeof(top->gone));
	/* One slow reading may be an accident: the faster one of the last two counts. */
	took = top->took != 0 && top->took < model->took ? top->took : model->took;
	top->took = model->took;
	top->every = took > top->delay / SLOW ? took * SLOW : top->delay;
	if (model->err < 0) {
		top_model_free(model);
		return 0;
	}
	if (old != NULL)
		top_rates_between(&old->counts, &model->counts, &top->rates);
	for (size_t view = 0; view < TOP_VIEWS; view++)
		if (top_list_update(&top->lists[view], model) < 0)
			err = -ENOMEM;
	top->model = model;
	top_model_free(old);
	return err;
}

void top_clear(struct top *top)
{
	for (size_t view = 0; view < TOP_VIEWS; view++)
		top_list_clear(&top->lists[view]);
	top_model_free(top->model);
	free(top->target);
	free(top->text);
	*top = (struct top){ .mount = { .fd = -1 } };
}

const char *top_health(const struct top *top)
{
	static const char *const words[] = { "ok", "degraded", "failing" };
	const char *said = top->model == NULL ? "" : top->model->health;
	size_t i = 0;

	if (top->gone[0] != '\0')
		return "gone";
	while (i < 2 && strncmp(said, words[i], strlen(words[i])) != 0)
		i++;
	return words[i];
}

const char *top_trouble(const struct top *top)
{
	const char *said = top->model == NULL ? "" : top->model->health;

	return strcmp(said, "ok") == 0 ? "" : said;
}

/* --- The lines above the list --- */

static void head_counts(const struct top *top, size_t width, char out[TOP_HEAD_MAX])
{
	char rest[128] = "  reading";
	char text[TOP_HEAD_MAX];
	char mount[TOP_HEAD_MAX / 2];
	size_t room;

	if (top->model != NULL)
		(void)snprintf(rest, sizeof(rest), "  %s  %.0f held  %.0f waiting", top_health(top),
			       top->model->counts.held, top->model->counts.waiting);
	else if (top->gone[0] != '\0')
		(void)snprintf(rest, sizeof(rest), "  %s", top_health(top));
	room = width > strlen(rest) + 8 ? width - strlen(rest) : 8;
	(void)top_text_fit(top->mount.path, room, TOP_CUT_FRONT, mount, sizeof(mount));
	(void)snprintf(text, sizeof(text), "%s%s", mount, rest);
	(void)top_text_fit(text, width, TOP_CUT_END, out, TOP_HEAD_MAX);
}

static void rate_print(const struct top_rates *rates, double rate, char out[24])
{
	if (!rates->known)
		(void)snprintf(out, 24, "-");
	else
		(void)snprintf(out, 24, "%.*f", rate < 100 ? 1 : 0, rate);
}

static void head_rates(const struct top *top, size_t width, char out[TOP_HEAD_MAX])
{
	const struct top_rates *rates = &top->rates;
	char granted[24];
	char released[24];
	char refused[24];
	char expired[24];
	char text[256];

	rate_print(rates, rates->granted, granted);
	rate_print(rates, rates->released, released);
	rate_print(rates, rates->refused, refused);
	rate_print(rates, rates->expired, expired);
	(void)snprintf(text, sizeof(text), "per second  %s granted  %s released  %s refused  %s expired", granted,
		       released, refused, expired);
	if (strlen(text) > width)
		(void)snprintf(text, sizeof(text), "/s %s gra %s rel %s ref %s exp", granted, released, refused,
			       expired);
	(void)top_text_fit(text, width, TOP_CUT_END, out, TOP_HEAD_MAX);
}

static void state_print(const struct top *top, char *out, size_t len)
{
	char age[MOMENT_AGE_MAX];

	if (top->paused) {
		(void)strlcpy(out, "PAUSED", len);
	} else if (top->reading > 0) {
		moment_age(top->reading, age);
		(void)snprintf(out, len, "no answer for %s", age);
	} else {
		(void)snprintf(out, len, "every %.*fs", top->every % ATLOCK_SECOND == 0 ? 0 : 1,
			       (double)top->every / (double)ATLOCK_SECOND);
	}
}

static void head_list(const struct top *top, size_t width, char out[TOP_HEAD_MAX])
{
	const struct top_list *list = &top->lists[top->view];
	size_t all = top->model == NULL ? 0 : top->model->views[top->view].count;
	const char *what = top->view == TOP_LOCKS ? "lock" : "waiter";
	char state[64];
	char of[32] = "";
	char text[TOP_HEAD_MAX];

	state_print(top, state, sizeof(state));
	if (list->count != all)
		(void)snprintf(of, sizeof(of), " of %zu", all);
	(void)snprintf(text, sizeof(text), "%zu%s %s%s  %s  by %s%s%s%s%s", list->count, of, what, all == 1 ? "" : "s",
		       state, top_column(list->view, list->column)->name, list->reverse ? " reversed" : "",
		       list->filter[0] != '\0' ? "  with \"" : "", list->filter, list->filter[0] != '\0' ? "\"" : "");
	(void)top_text_fit(text, width, TOP_CUT_END, out, TOP_HEAD_MAX);
}

void top_head(const struct top *top, size_t line, size_t width, char out[TOP_HEAD_MAX])
{
	static void (*const lines[TOP_HEADS])(const struct top *, size_t, char *) = { head_counts, head_rates,
										      head_list };

	lines[line](top, width, out);
}
