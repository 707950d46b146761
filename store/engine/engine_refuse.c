#include "engine_refuse.h"

#include <stdarg.h>
#include <stdio.h>

int store_refuse(char *why, size_t whylen, int err, const char *format, ...)
{
	va_list args;

	if (why != NULL && whylen != 0) {
		va_start(args, format);
		(void)vsnprintf(why, whylen, format, args);
		va_end(args);
	}
	return err;
}
