#include "match.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>

#define EVERYTHING ((1U << CAST_LOCKS) - 1)
#define TRIALS 5000

/* Nobody heard how a commit that crashed the machine ended, so all who were parked hear that it is over. */
static void tell_all(const struct model *before, const struct rig_result *result, const struct step *step,
		     struct model_outcome *out)
{
	out->told_len = 0;
	for (int i = 0; i < CAST_LOCKS; i++) {
		for (int j = 0; j < before->locks[i].tickets_len; j++) {
			int waiter = before->locks[i].tickets[j].waiter;
			bool leaving = step->op == STEP_WAIT_CANCEL && step->waiter == waiter;
			bool heard = !leaving;
			for (int k = 0; k < result->told_len; k++)
				heard |= result->told[k].waiter == waiter;
			if (waiter >= 0 && heard)
				out->told[out->told_len++] = (struct model_told){ .waiter = waiter,
										  .err = -ECANCELED,
										  .lock = i };
		}
	}
}

/* What the model makes of the step, given what befell the store. */
static void trial_run(struct match *match, const struct step *step, const struct rig_result *result, int64_t now,
		      struct model *model, struct choice_path *path)
{
	struct model_outcome *out = &match->out;
	if (step->op == STEP_REOPEN || result->failed || (result->crashed && step->fault == FAULT_CRASH_BEFORE))
		model_outcome_init(out);
	else
		model_step(model, step, path, out);
	if (result->reopened) {
		model->options = match->model->options;
		model->now = now;
		model_reopen(model, path, out);
	}
	if (result->crashed || result->failed) {
		*out->want = -EIO;
		out->wants = 1;
		out->any_positive = false;
		out->granted = -1;
		out->failed = -1;
		out->released = 0;
	} else if (result->reopened) {
		out->wants = 1;
		*out->want = 0;
	}
	if (result->crashed)
		tell_all(match->model, result, step, out);
}

static unsigned step_locks(const struct step *step)
{
	unsigned locks = 1U << step->lock;
	for (int i = 0; i < step->locks_len; i++)
		locks |= 1U << step->locks[i];
	return locks;
}

static void choices_note(struct match *match, const struct choice_path *path)
{
	for (int i = 0; i < path->used; i++) {
		match->choices[path->kind[i]] += path->pick[i] > 0;
		if (match->verbose && path->pick[i] > 0)
			(void)printf("    open in the contract: %s (%d)\n", choice_names[path->kind[i]], path->pick[i]);
	}
}

bool match_step(struct match *match, const struct step *step, const struct rig_result *result, int64_t now, bool all)
{
	struct compare *compare = match->compare;
	struct choice_path path = { .len = 0 };
	char first[sizeof compare->text] = "";
	for (int trial = 0; trial < TRIALS; trial++) {
		struct model model = *match->model;
		if (step->op == STEP_ADVANCE)
			model.now = now;
		trial_run(match, step, result, now, &model, &path);
		unsigned locks = all || trial > 0 || result->reopened ? EVERYTHING
								      : match->out.dirty | step_locks(step);
		if (compare_locks(compare, &model, locks) &&
		    compare_answer(compare, &model, &match->out, step, result) &&
		    compare_changes(compare, match->model, &model, result)) {
			*match->model = model;
			choices_note(match, &path);
			return true;
		}
		if (trial == 0)
			strlcpy(first, compare->text, sizeof first);
		if (!choice_next(&path))
			break;
	}
	strlcpy(compare->text, first, sizeof compare->text);
	return false;
}
