/* JSON: lines to import, lines of locks.jsonl to export, values to compare. What is made of them is one line without controls. */
#include <string.h>

#include "atlock.h"
#include "atlock/import.h"
#include "fuzz.h"

static void lines_check(const char *text)
{
	for (; text != NULL && *text; text++)
		MUST((unsigned char)*text >= ' ' || *text == '\n' || *text == '\t');
}

static void record_check(const struct atlock_foreign_record *record)
{
	char *line = record->key == NULL ? NULL : atlock_foreign_line(record);

	for (const char *p = record->path; *p; p++)
		MUST((unsigned char)*p >= ' ');
	lines_check(record->text);
	lines_check(record->meta);
	MUST(line == NULL || strpbrk(line, "\n\r") == NULL);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct atlock_foreign_record record = { 0 };
	struct atlock_foreign *foreign;
	struct atlock_why why = { 0 };
	char difference[256];
	int rc;

	if (atlock_foreign_open(&foreign, fuzz_file(data, size), 0, &why) == 0) {
		while ((rc = atlock_foreign_next(foreign, &record, &why)) == 0 || rc == 2)
			if (rc == 0)
				record_check(&record);
		atlock_foreign_close(foreign);
	}
	atlock_foreign_clear(&record);
	if (atlock_foreign_from_lock(text, size, &record, &why) == 0)
		record_check(&record);
	atlock_foreign_clear(&record);
	(void)atlock_foreign_compare(text, "{\"Num\":1}", difference, sizeof(difference));
	free(text);
	return 0;
}
