/*
 * How much memory there is, on FreeBSD and macOS.
 */
#include "core/machine.h"

#include <stddef.h>
#include <sys/types.h>
/* after what it needs */
#include <sys/sysctl.h>

/* A number of 32 or 64 bits; 0: the system knows no such name. */
static uint64_t ask(const char *name)
{
	uint64_t wide = 0;
	uint32_t narrow = 0;
	size_t n = sizeof wide;

	if (sysctlbyname(name, &wide, &n, NULL, 0) == 0 && n == sizeof wide)
		return wide;
	n = sizeof narrow;
	return sysctlbyname(name, &narrow, &n, NULL, 0) == 0 ? narrow : 0;
}

uint64_t machine_memory(void)
{
	uint64_t bytes = ask("hw.memsize"); /* macOS, whose hw.physmem has 32 bits */

	return bytes ? bytes : ask("hw.physmem");
}
