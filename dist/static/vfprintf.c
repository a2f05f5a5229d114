/*
 * In the place of musl's, through which all its printing goes: without floating-point numbers, of
 * which this program has none. Linked into static executables.
 */
#include "core/format.h"

int vfprintf(FILE *to, const char *format, va_list values)
{
	return format_write(to, format, values);
}
