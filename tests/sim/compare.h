/*
 * Holds what the manager answered and shows against what the model says it must. Everything that differs is a line in
 * `text`; numbers the manager may choose (tokens, tickets) are learned into the model once and must stay.
 */
#ifndef SIM_COMPARE_H
#define SIM_COMPARE_H

#include "model.h"
#include "observe.h"
#include "rig.h"

struct compare {
	struct rig *rig;
	struct observation seen;
	uint64_t floor;  /* greatest token or ticket seen before this step */
	char text[8192]; /* the first difference, what was expected and what was found */
};

/* Return value, grant, ticket, whoever was told, and the events. */
bool compare_answer(struct compare *compare, struct model *model, const struct model_outcome *out,
		    const struct step *step, const struct rig_result *result);

/* The locks in the bit set, as they stand. */
bool compare_locks(struct compare *compare, struct model *model, unsigned locks);

/* Whoever was told, alone: after a crash there is nothing else to hold the model against. */
bool compare_told(struct compare *compare, const struct model *model, const struct model_told *told, int told_len,
		  const struct rig_result *result);

/* compare_store.c: tickets by number and holder, queues, counts, next due, and the manager's own check if `deep`. */
bool compare_store(struct compare *compare, const struct model *model, bool deep);

/* Whether a listing has what it must. */
bool compare_listing(struct compare *compare, const struct model *model, const struct step *step,
		     const struct rig_result *result);

/* Whether on_change named every lock and queue that the step made different, and nothing if it made nothing so. */
bool compare_changes(struct compare *compare, const struct model *before, const struct model *after,
		     const struct rig_result *result);

/* Greatest number the manager has shown in this step. */
uint64_t compare_floor(const struct compare *compare, const struct model *model, const struct rig_result *result);

__attribute__((format(printf, 2, 3))) bool compare_differ(struct compare *compare, const char *format, ...);

#endif
