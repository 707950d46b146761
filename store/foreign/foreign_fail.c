#include "foreign.h"

#include <stdarg.h>
#include <stdio.h>

int foreign_fail(struct foreign *foreign, int err, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(foreign->error, sizeof(foreign->error), format, list);
	va_end(list);
	return err;
}
