/*
 * What printf() and its kin write: the directives of C11, without those for floating-point numbers
 * and wide characters, and without %n. In the static executable with musl it stands in the place of
 * libc's own (dist/static/vfprintf.c), which is ten times as large.
 */
#ifndef CORE_FORMAT_H
#define CORE_FORMAT_H

#include <stdarg.h>
#include <stdio.h>

/* As vfprintf(): the number of bytes, or -1 and errno. EINVAL: a directive that is not known here;
 * what precedes it may have been written. */
__attribute__((format(printf, 2, 0))) int format_write(FILE *to, const char *format,
						       va_list values);

#endif
