/* Atlantis' keys, by a line each: key, repository, directory. What is read from a key makes the same key again. */
#include <string.h>

#include "atlock.h"
#include "fuzz.h"

static void lock_key(const char *key, const char *repo, const char *dir)
{
	char again[2 * ATLOCK_PATH_MAX];
	struct atlock_why why = { 0 };
	struct atlock_parts parts;
	int same = 0;

	if (atlock_legacy_parse(key, repo, dir, &parts, &why) < 0)
		return;
	for (int form = ATLOCK_LEGACY_3; form <= ATLOCK_LEGACY_REDIS_4; form++)
		if (atlock_legacy_key(&parts, (enum atlock_legacy)form, again, sizeof(again)) >= 0)
			same |= strcmp(key, again) == 0;
	MUST(same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char *rest = text;
	const char *key = strsep(&rest, "\n");
	const char *repo = rest == NULL ? "" : strsep(&rest, "\n");
	char again[2 * ATLOCK_PATH_MAX];
	struct atlock_why why = { 0 };
	struct atlock_pull pull;
	char command[64];

	lock_key(key, repo, rest == NULL ? "" : rest);
	if (atlock_legacy_pull_parse(key, &pull, &why) == 0)
		MUST(atlock_legacy_pull_key(&pull, again, sizeof(again)) < 0 || strcmp(again, key) == 0);
	(void)atlock_legacy_global_parse(key, command, sizeof(command), &why);
	free(text);
	return 0;
}
