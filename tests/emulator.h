/*
 * For tests of what emulators of user programs do not do as the kernel does. tests/reach/emulator.c finds
 * out what that is, before unit tests run under one; $EMULATOR_LACKS names it. Empty on a real system,
 * where nothing is left out.
 */
#ifndef TESTS_EMULATOR_H
#define TESTS_EMULATOR_H

#include "tests/unit.h"

#include <stdbool.h>

static inline bool emulator_lacks(const char *ability)
{
	const char *all = getenv("EMULATOR_LACKS"), *at = all ? strstr(all, ability) : NULL;
	size_t n = strlen(ability);

	while (at && ((at > all && at[-1] != ' ') || (at[n] != 0 && at[n] != ' ')))
		at = strstr(at + 1, ability);
	return at;
}

/* Leave the test out where it cannot be had. */
static inline void needs(const char *ability)
{
	if (!emulator_lacks(ability))
		return;
	print_message("SKIPPED: this emulator lacks %s (tests/reach/emulator.c)\n", ability);
	skip();
}

#endif
