/* Options, one "name=value" a line: a value that was taken prints as one that is taken again and is the same. */
#include <string.h>

#include "atlock.h"
#include "fuzz.h"

static void option_line(struct atlock_options *options, char *line)
{
	char *value = strchr(line, '=');
	struct atlock_why why = { 0 };
	char first[ATLOCK_PATH_MAX], second[ATLOCK_PATH_MAX];
	struct atlock_options copy;

	if (value != NULL)
		*value++ = '\0';
	if (atlock_option_set(options, line, value, &why) < 0) {
		MUST(why.text[0] != '\0');
		return;
	}
	MUST(atlock_option_get(options, line, first, sizeof(first)) == 0);
	copy = *options;
	MUST(atlock_option_set(&copy, line, first, &why) == 0);
	MUST(atlock_option_get(&copy, line, second, sizeof(second)) == 0);
	MUST(strcmp(first, second) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct atlock_options options;
	struct atlock_why why = { 0 };
	char *rest = text;
	char *line;
	int64_t duration;

	atlock_options_init(&options);
	(void)atlock_duration_parse(text, true, &duration);
	while ((line = strsep(&rest, "\n")) != NULL)
		option_line(&options, line);
	(void)atlock_options_check(&options, &why);
	free(text);
	return 0;
}
