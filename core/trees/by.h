/* Owners, whos and hosts as components of paths. Private to core/. */
#ifndef CORE_BY_H
#define CORE_BY_H

#include "holder_index.h"

/* The filter for the group's locks; it points to the text. */
struct holder_index_filter by_filter(enum atlock_by by, struct slice text);

#endif
