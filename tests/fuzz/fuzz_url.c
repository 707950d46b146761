/* Git URLs and the paths of owners/ and pulls/: the one spelling of a URL is its own spelling, and has no user in it. */
#include <string.h>

#include "atlock.h"
#include "fuzz.h"
#include "redis_uri.h"

static void pull_check(const char *path)
{
	struct atlock_pull_name name, again;
	struct atlock_why why = { 0 };
	struct atlock_pull pull;
	char printed[ATLOCK_PATH_MAX];

	if (atlock_pull_parse(path, &name, &why) != 0)
		return;
	MUST(atlock_pull_print(&name, printed, sizeof(printed)) == 0 && strcmp(printed, path) == 0);
	MUST(atlock_pull_split(&name, &pull) == 0);
	MUST(atlock_pull_join(&pull, &again, &why) == 0 && strcmp(name.text, again.text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char url[ATLOCK_URL_MAX + 1], again[ATLOCK_URL_MAX + 1];
	char error[256];
	struct atlock_owners_path owners;
	struct atlock_why why = { 0 };
	struct redis_uri redis;

	if (atlock_url_normalise(text, url, &why) == 0) {
		MUST(strchr(url, '@') == NULL);
		MUST(atlock_url_normalise(url, again, &why) == 0 && strcmp(url, again) == 0);
	}
	if (atlock_owners_parse(text, &owners, &why) == 0 && owners.kind != ATLOCK_OWNERS_DIR)
		MUST(atlock_url_normalise(owners.url, again, &why) == 0 && strcmp(owners.url, again) == 0);
	pull_check(text);
	(void)redis_uri_parse(text, &redis, error, sizeof(error));
	free(text);
	return 0;
}
