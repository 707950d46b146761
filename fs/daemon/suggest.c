#include "suggest.h"

#include <stdio.h>
#include <string.h>

#include <atlock.h>
#include <atlock/program.h>

void suggest_long(const struct option *longs, const char *word)
{
	char name[ATLOCK_WORD_MAX + 1];
	size_t least;
	const char *closest = NULL;

	if (strncmp(word, "--", 2) != 0)
		return;
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	least = strlen(name) / 3 + 1; /* a larger distance would be a guess */
	for (; longs->name != NULL; longs++) {
		size_t distance = atlock_word_distance(name, longs->name);

		if (distance >= least)
			continue;
		least = distance;
		closest = longs->name;
	}
	if (closest != NULL)
		fprintf(stderr, "did you mean --%s?\n", closest);
}
