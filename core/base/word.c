/* The edit distance of two words; swapping two neighbouring letters is one edit. */
#include <string.h>

#include "atlock/program.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t atlock_word_distance(const char *a, const char *b)
{
	size_t table[ATLOCK_WORD_MAX + 1][ATLOCK_WORD_MAX + 1];
	size_t m = strlen(a);
	size_t n = strlen(b);

	if (m > ATLOCK_WORD_MAX || n > ATLOCK_WORD_MAX)
		return ATLOCK_WORD_MAX;
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
