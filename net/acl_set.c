/* See acl_set.h. */
#include "net/acl_set.h"

#include <string.h>

void acl_set_add(unsigned char set[32], unsigned from, unsigned to)
{
	for (unsigned c = from; c <= to; c++)
		set[c >> 3] |= (unsigned char)(1U << (c & 7));
}

void acl_set_flip(unsigned char set[32])
{
	for (unsigned i = 0; i < 32; i++)
		set[i] = (unsigned char)~set[i];
}

void acl_set_fold(unsigned char set[32])
{
	for (unsigned c = 'A'; c <= 'Z'; c++)
		if (set[c >> 3] >> (c & 7) & 1)
			acl_set_add(set, c - 'A' + 'a', c - 'A' + 'a');
}

/* The sets with names: [:alpha:] and \d. Each is a list of ranges. */
static const struct {
	const char *name, *ranges;
	char letter;
} named[] = {
	{ "digit", "09", 'd' },
	{ "space", "\t\r  ", 's' },
	{ "word", "azAZ09__", 'w' },
	{ "alpha", "azAZ", 0 },
	{ "alnum", "azAZ09", 0 },
	{ "lower", "azAZ", 0 },
	{ "upper", "azAZ", 0 },
	{ "xdigit", "09afAF", 0 },
	{ "blank", "\t\t  ", 0 },
	{ "punct", "!/:@[`{~", 0 },
	{ "graph", "!~", 0 },
	{ "print", " ~", 0 },
	{ "cntrl", "\x01\x1f\x7f\x7f", 0 },
};

enum { NAMED = sizeof(named) / sizeof(named[0]) };

static void add_named(unsigned char *set, unsigned i)
{
	for (const char *range = named[i].ranges; *range; range += 2)
		acl_set_add(set, (unsigned char)range[0], (unsigned char)range[1]);
}

bool acl_set_add_escape(unsigned char set[32], char letter)
{
	unsigned char other[32] = { 0 };
	bool negative = letter >= 'A' && letter <= 'Z';

	for (unsigned i = 0; i < NAMED && named[i].letter; i++) {
		if (named[i].letter != (letter | 0x20))
			continue;
		add_named(other, i);
		if (negative)
			acl_set_flip(other);
		for (unsigned k = 0; k < 32; k++)
			set[k] |= other[k];
		return true;
	}
	return false;
}

size_t acl_set_add_class(unsigned char set[32], const char *name, size_t n)
{
	for (unsigned i = 0; i < NAMED; i++) {
		size_t length = strlen(named[i].name);
		if (length <= n && memcmp(name, named[i].name, length) == 0) {
			add_named(set, i);
			return length;
		}
	}
	return 0;
}
