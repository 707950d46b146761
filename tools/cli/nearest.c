#include "nearest.h"

#include <bsd/string.h>
#include <string.h>

#define NEAR 2 /* letters a word may be off and still be suggested */

void nearest_begin(struct nearest *nearest, const char *word)
{
	*nearest = (struct nearest){ .word = word, .distance = NEAR + 1 };
}

void nearest_try(struct nearest *nearest, const char *known)
{
	size_t distance = atlock_word_distance(nearest->word, known);

	/* Of a short word everything may be changed. */
	if (distance >= nearest->distance || distance >= strlen(known))
		return;
	nearest->distance = distance;
	strlcpy(nearest->found, known, sizeof(nearest->found));
}
