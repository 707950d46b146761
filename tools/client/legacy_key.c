#include "legacy_key.h"

#include <bsd/string.h>
#include <jansson.h>
#include <string.h>

struct search {
	const char *key;
	size_t len;                   /* without a slash at its end, which stands for no project */
	bool four;                    /* it has that slash, or matched with a project */
	char first[ATLOCK_PATH_MAX];  /* the lock that has the key, or "" */
	char second[ATLOCK_PATH_MAX]; /* another one, or "" */
};

bool legacy_key_is(const char *text)
{
	size_t slashes = 0;

	for (const char *at = text; *at != '\0'; at++)
		slashes += *at == '/';
	return text[0] != '/' && slashes >= 3;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text == NULL ? "" : text;
}

/* 0: another's key; 3: that of Atlantis before 0.40, which had no project; 4: today's. */
static int key_matches(const struct search *search, const json_t *lock)
{
	const char *project = text_of(lock, "project");
	char key[2 * ATLOCK_PATH_MAX];
	size_t three = (size_t)snprintf(key, sizeof(key), "%s/%s/%s", text_of(lock, "repo"), text_of(lock, "dir"),
					text_of(lock, "workspace"));

	if (three >= sizeof(key) || text_of(lock, "repo")[0] == '\0')
		return 0;
	if (search->len == three && memcmp(search->key, key, three) == 0)
		return search->key[three] == '/' && project[0] != '\0' ? 0 : project[0] == '\0' ? 4 : 3;
	strlcat(key, "/", sizeof(key));
	strlcat(key, project, sizeof(key));
	return project[0] != '\0' && strcmp(search->key, key) == 0 ? 4 : 0;
}

static int line_take(void *arg, char *line, size_t len)
{
	struct search *search = arg;
	json_t *lock = json_loadb(line, len, 0, NULL);
	int matches = strcmp(text_of(lock, "kind"), "lock") == 0 ? key_matches(search, lock) : 0;

	if (matches == 4 && !search->four) {
		/* The whole key decides: locks that only share its first parts do not count. */
		search->four = true;
		search->second[0] = '\0';
		strlcpy(search->first, text_of(lock, "lock"), ATLOCK_PATH_MAX);
	} else if (matches != 0 && (matches == 4) == search->four) {
		strlcpy(search->first[0] == '\0' ? search->first : search->second, text_of(lock, "lock"),
			ATLOCK_PATH_MAX);
	}
	json_decref(lock);
	return 0;
}

int legacy_key_find(const struct tool *tool, const struct mount *mount, const char *key, char out[ATLOCK_PATH_MAX])
{
	struct search search = { .key = key, .len = strlen(key) };
	int err;

	if (search.len > 0 && key[search.len - 1] == '/')
		search.len--;
	err = mount_lines(mount, "locks.jsonl", line_take, &search);
	if (err < 0)
		return mount_complain(tool, mount, tool_exit_code(-err), "locks.jsonl", -err);
	if (search.first[0] == '\0')
		return tool_fail(tool, EXIT_REFUSED,
				 "%s: no lock is held that Atlantis has this key for, and it is no path in repos/, "
				 "custom/ or global/",
				 key);
	if (search.second[0] != '\0')
		return tool_fail(tool, EXIT_REFUSED, "%s is Atlantis' key of %s and of %s: name one of them", key,
				 search.first, search.second);
	strlcpy(out, search.first, ATLOCK_PATH_MAX);
	return EXIT_DONE;
}
