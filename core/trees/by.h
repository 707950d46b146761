/* Owners, whos and hosts as components of paths. Private to core/. */
#ifndef CORE_BY_H
#define CORE_BY_H

#include "holder_index.h"

/*
 * One group's component. A who is kept as it was spelled after '@', which mostly is a component already; what is not, and
 * what comes from elsewhere, is escaped as names are. Its length, or -ENAMETOOLONG.
 */
int by_spell(struct slice text, char out[ATLOCK_COMPONENT_MAX + 1]);

/* Its locks; the filter points to the text. */
struct holder_index_filter by_filter(enum atlock_by by, struct slice text);

#endif
