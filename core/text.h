/*
 * Text from outside: what is UTF-8, how any of it is made fit for a line of the log, and what its
 * letters of ASCII mean, whatever the locale says.
 */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stddef.h>

/* The bytes of the well-formed UTF-8 character that p[0..n), n > 0, begins with, or 0. */
size_t text_utf8(const unsigned char *p, size_t n);

/* Replace, in place, by '?' each control character (also DEL and U+0080 to U+009F, which some
 * terminals obey) and each byte that is not part of a well-formed UTF-8 character. */
void text_make_printable(char *text);

/* In lower case, if it is a letter. */
static inline char text_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The value of a hexadecimal digit, or -1. */
static inline int text_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = text_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
