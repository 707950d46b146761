/* Paths of locks: what parses prints as a path that names the same lock, and its parts make the same name. */
#include <string.h>

#include "atlock.h"
#include "fuzz.h"

static void repos_parts(const struct atlock_name *name)
{
	struct atlock_parts parts;
	struct atlock_name again;
	struct atlock_why why = { 0 };

	if (atlock_name_tree(name) != ATLOCK_REPOS)
		return;
	MUST(atlock_name_split(name, &parts) == 0);
	/* A directory called "..", spelled %2E%2E, can be named but not joined: it should have been resolved. */
	if (atlock_name_join(&parts, &again, &why) == 0)
		MUST(atlock_name_equal(name, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = fuzz_text(data, size);
	char printed[ATLOCK_PATH_MAX];
	struct atlock_why why = { 0 };
	struct atlock_name name, again;
	struct atlock_name found = { 0 };
	int kind = atlock_path_kind(path, &found, &why);

	if (atlock_name_parse(path, &name, &why) == 0) {
		MUST(kind == ATLOCK_PATH_LOCK && atlock_name_equal(&name, &found));
		MUST(atlock_name_print(NULL, &name, printed, sizeof(printed)) == 0);
		MUST(atlock_name_parse(printed, &again, &why) == 0 && atlock_name_equal(&name, &again));
		repos_parts(&name);
	}
	if (atlock_name_custom(7, path, &name, &why) == 0)
		MUST(strchr(path, '/') == NULL);
	(void)atlock_component_check(path, &why);
	free(path);
	return 0;
}
