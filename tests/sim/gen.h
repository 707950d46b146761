/*
 * Makes up steps. It looks at the model, so that most steps are about somebody who holds, waits or is about to, and at
 * its seed only otherwise: the same seed gives the same steps.
 */
#ifndef SIM_GEN_H
#define SIM_GEN_H

#include "model.h"
#include "step.h"

struct gen {
	uint64_t state;
	bool faults; /* the store can fail */
	int waiters; /* waits made up so far: each has its own number */
	int values;
	bool pass; /* deadlocks are looked for again: see what the pass finds */
};

void gen_init(struct gen *gen, uint64_t seed, bool faults);

/* A number below n. */
uint64_t gen_below(struct gen *gen, uint64_t n);

void gen_step(struct gen *gen, const struct model *model, struct step *step);

#endif
