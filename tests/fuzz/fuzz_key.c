/* Atlantis' key of a pull request, the first line. What is read from a key makes the same key again. */
#include <string.h>

#include "atlock.h"
#include "atlock/import.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char *rest = text;
	const char *key = strsep(&rest, "\n");
	char again[2 * ATLOCK_PATH_MAX];
	struct atlock_why why = { 0 };
	struct atlock_pull pull;

	if (atlock_legacy_pull_parse(key, &pull, &why) == 0)
		MUST(atlock_legacy_pull_key(&pull, again, sizeof(again)) < 0 || strcmp(again, key) == 0);
	free(text);
	return 0;
}
