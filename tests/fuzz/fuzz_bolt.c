/* Bolt files: damaged ones end in an error or in records, never in a loop. */
#include "atlock.h"
#include "atlock/import.h"
#include "fuzz.h"

#define RECORDS_MAX 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct atlock_foreign_record record = { 0 };
	struct atlock_foreign *foreign;
	struct atlock_why why = { 0 };
	unsigned int n = 0;
	int rc;

	if (atlock_foreign_open(&foreign, fuzz_file(data, size), 0, &why) < 0) {
		MUST(why.text[0] != '\0');
		return 0;
	}
	while ((rc = atlock_foreign_next(foreign, &record, &why)) == 0 || rc == 2)
		MUST(++n < RECORDS_MAX);
	atlock_foreign_clear(&record);
	atlock_foreign_close(foreign);
	return 0;
}
