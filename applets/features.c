/*
 * See features.h. What is lacking the Makefile says, in the words of dist/without.mk; it compiles
 * this only if something is.
 */
#include "applets/features.h"

#include <string.h>

/* In the order of their bits. None is a part of another. */
static const char words[][8] = {
	"stream", "manager", "redir", "tunnel", "plugin", "acl", "url", "check", "ping", "key",
};

unsigned features_lacking(void)
{
	unsigned lacking = 0;

	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strstr(SS_WITHOUT_PARTS, words[i]))
			lacking |= 1u << i;
	return lacking;
}

const char *features_without(void)
{
	return SS_WITHOUT_PARTS;
}

const char *features_no_cipher(void)
{
	return features_lacking() & FEATURE_STREAM ? ", which was made without " SS_WITHOUT_PARTS
						   : ": its libraries lack the cipher";
}
