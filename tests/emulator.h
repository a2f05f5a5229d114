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

/* Of many lengths, which natively are all tried, under an emulator only every n-th is: it takes ten times as
 * long. No common factor with 16, so that every length of a last block is among them. */
static inline unsigned every(unsigned n)
{
	const char *runner = getenv("EMULATED");

	return runner && *runner ? n : 1;
}

#endif
