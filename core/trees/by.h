/* Owners, whos and hosts as components of paths. Private to core/. */
#ifndef CORE_BY_H
#define CORE_BY_H

#include "holder_index.h"

/*
 * Spells one group's component. A who is stored as it was spelled after '@', and that mostly is a component already. Any other
 * text is escaped as names are. Returns its length, or -ENAMETOOLONG.
 */
int by_spell(struct slice text, char out[ATLOCK_COMPONENT_MAX + 1]);

/* The filter for the group's locks; it points to the text. */
struct holder_index_filter by_filter(enum atlock_by by, struct slice text);

#endif
