/*
 * In the place of musl's, which read numbers from strings as scanf() does from files. Linked into
 * static executables.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The value of a digit, 36 or more of what is none. */
static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10 : 36;
}

static bool is_hexadecimal(const char *text)
{
	return text[0] == '0' && (text[1] | 0x20) == 'x' && digit(text[2]) < 16;
}

/* Digits, of which there is one at least. More than `most` is that and ERANGE. */
static unsigned long long magnitude(const char **text, unsigned base, unsigned long long most)
{
	unsigned long long sum = 0, d;
	bool fits = true;

	for (; (d = digit(**text)) < base; ++*text) {
		fits = fits && d <= most && sum <= (most - d) / base;
		sum = sum * base + d;
	}
	if (!fits)
		errno = ERANGE;
	return fits ? sum : most;
}

/* `most` is the largest of the type; if that is signed, its smallest is one more below 0. */
static unsigned long long number(const char *text, char **end, int base, unsigned long long most,
				 bool is_signed)
{
	const char *at = text;
	unsigned long long value = 0;
	bool negative, hexadecimal;

	while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
		at++;
	negative = *at == '-';
	if (*at == '-' || *at == '+')
		at++;

	hexadecimal = (base == 0 || base == 16) && is_hexadecimal(at);
	if (hexadecimal)
		at += 2;
	if (base == 0)
		base = hexadecimal ? 16 : *at == '0' ? 8 : 10;

	if (base < 2 || base > 36 || digit(*at) >= (unsigned)base) {
		errno = EINVAL;
		at = text;
	} else {
		int before = errno;

		errno = 0;
		value = magnitude(&at, (unsigned)base, most + (is_signed && negative));
		if (negative && (is_signed || errno == 0))
			value = 0 - value;
		if (errno == 0)
			errno = before;
	}
	if (end)
		*end = (char *)at;
	return value;
}

long strtol(const char *text, char **end, int base)
{
	return (long)number(text, end, base, LONG_MAX, true);
}

unsigned long strtoul(const char *text, char **end, int base)
{
	return (unsigned long)number(text, end, base, ULONG_MAX, false);
}

long long strtoll(const char *text, char **end, int base)
{
	return (long long)number(text, end, base, LLONG_MAX, true);
}

unsigned long long strtoull(const char *text, char **end, int base)
{
	return number(text, end, base, ULLONG_MAX, false);
}
