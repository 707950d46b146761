#include "nearest.h"

#include <bsd/string.h>
#include <string.h>

#define NEAR 2 /* letters a word may be off and still be suggested */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t nearest_distance(const char *a, const char *b)
{
	size_t table[NEAREST_MAX + 1][NEAREST_MAX + 1];
	size_t m = strlen(a);
	size_t n = strlen(b);

	if (m > NEAREST_MAX || n > NEAREST_MAX)
		return NEAREST_MAX;
	for (size_t i = 0; i <= m; i++)
		table[i][0] = i;
	for (size_t j = 0; j <= n; j++)
		table[0][j] = j;
	for (size_t i = 1; i <= m; i++) {
		for (size_t j = 1; j <= n; j++) {
			size_t way = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			way = least(way, least(table[i - 1][j], table[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				way = least(way, table[i - 2][j - 2] + 1);
			table[i][j] = way;
		}
	}
	return table[m][n];
}

void nearest_begin(struct nearest *nearest, const char *word)
{
	*nearest = (struct nearest){ .word = word, .distance = NEAR + 1 };
}

void nearest_try(struct nearest *nearest, const char *known)
{
	size_t distance = nearest_distance(nearest->word, known);

	/* Of a short word everything may be changed. */
	if (distance >= nearest->distance || distance >= strlen(known))
		return;
	nearest->distance = distance;
	strlcpy(nearest->found, known, sizeof(nearest->found));
}
