/* What users write into locks: what is kept is lines of printable text, parses as itself, and holds within the limits. */
#include <string.h>

#include "atlock.h"
#include "fuzz.h"
#include "text.h"
#include "userinfo.h"

static void meta_check(const char *meta, size_t len)
{
	MUST(len <= ATLOCK_META_BYTES && strlen(meta) == len);
	MUST(len == 0 || meta[len - 1] == '\n');
	for (size_t i = 0; i < len; i++)
		MUST((unsigned char)meta[i] >= ' ' || meta[i] == '\n' || meta[i] == '\t');
	for (const char *line = meta; *line; line = strchr(line, '\n') + 1)
		MUST(strcspn(line, "=") < strcspn(line, "\n"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text_change change, again;
	struct atlock_why why = { 0 };
	char *plain;
	char *copy;
	size_t len;

	if (text_parse((const char *)data, size, &change, &why) == 0) {
		meta_check(change.meta, change.meta_len);
		MUST(text_parse(change.meta, change.meta_len, &again, &why) == 0);
		MUST(again.meta_len == change.meta_len && memcmp(again.meta, change.meta, again.meta_len) == 0);
		text_change_free(&again);
		text_change_free(&change);
	} else {
		MUST(why.text[0] != '\0');
	}
	if (text_parse_plain((const char *)data, size, &plain, &len, &why) == 0) {
		meta_check(plain, len);
		free(plain);
	}
	copy = fuzz_text(data, size);
	len = userinfo_strip(copy, size);
	MUST(len <= size && userinfo_strip(copy, len) == len);
	size = len;
	len = userinfo_strip_address(copy, size);
	MUST(len <= size && userinfo_strip_address(copy, len) == len);
	free(copy);
	return 0;
}
