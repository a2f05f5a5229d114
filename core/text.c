/*
 * See text.h. Called by whoever reads JSON, and writes lines that somebody is to see; owns nothing.
 */
#include "core/text.h"

#include <string.h>

/* The length of the UTF-8 character that a byte begins, or 0. */
static size_t utf8_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

size_t text_utf8(const unsigned char *p, size_t n)
{
	size_t len = utf8_length(*p);

	if (len > n)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xf0 && p[1] < 0x90))
		return 0; /* longer than need be */
	if ((*p == 0xed && p[1] > 0x9f) || (*p == 0xf4 && p[1] > 0x8f))
		return 0; /* surrogates; beyond Unicode */
	return len;
}

/* The length of the character at p if it may stand in a log line, otherwise 0. */
static size_t printable(const unsigned char *p, size_t n)
{
	size_t len = text_utf8(p, n);

	if (len == 1 && (*p < 0x20 || *p == 0x7f))
		return 0;
	if (len == 2 && *p == 0xc2 && p[1] < 0xa0)
		return 0; /* C1 controls: some terminals obey them */
	return len;
}

void text_make_printable(char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n;) {
		size_t len = printable((unsigned char *)text + i, n - i);

		if (len == 0)
			text[i++] = '?';
		i += len;
	}
}
