/*
 * Finds the way through the model that explains a step: the choices the contract leaves open, and what befell the store
 * meanwhile. A commit that failed has changed nothing; one that crashed the machine has or has not, as the store says.
 */
#ifndef SIM_MATCH_H
#define SIM_MATCH_H

#include "compare.h"
#include "model.h"
#include "rig.h"

struct match {
	bool verbose;
	struct model *model;
	struct compare *compare;
	struct model_outcome out;       /* of the step matched last */
	uint64_t choices[CHOICE_KINDS]; /* times the model's first idea was not it */
};

/*
 * Takes the model over the step at lease time `now`, along the first choices that fit; compares `all` locks or those
 * that matter. False, with the difference to the model's first idea in `compare`, if none do.
 */
bool match_step(struct match *match, const struct step *step, const struct rig_result *result, int64_t now, bool all);

#endif
