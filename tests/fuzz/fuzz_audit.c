/* Copies of event files: a log that is said to be whole has consecutive events, however its lines were changed. */
#include <string.h>

#include "atlock.h"
#include "atlock/check.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct atlock_audit *audit = atlock_audit_new();
	struct atlock_audit_result result;
	char *rest = text;

	MUST(audit != NULL);
	atlock_audit_file(audit, "2026-11-16.jsonl");
	while (rest != NULL && *rest) {
		char *line = strsep(&rest, "\n");

		MUST(atlock_audit_line(audit, line, strlen(line), rest != NULL) == 0);
	}
	if (atlock_audit_end(audit, &result) == 0)
		MUST(result.events == 0 || result.last - result.first + 1 == result.events);
	else
		MUST(result.text[0] != '\0');
	atlock_audit_free(audit);
	free(text);
	return 0;
}
