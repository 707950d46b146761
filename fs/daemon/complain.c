#include "complain.h"

#include <atlock/program.h>

int complain(const char *what, const char *text)
{
	atlock_log(ATLOCK_LOG_ERROR, "%s: %s", what, text);
	return -1;
}
