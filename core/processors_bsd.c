/*
 * How many processors there are, on the BSDs and macOS.
 */
#include "core/workers.h"

#include <unistd.h>

unsigned processors_allowed(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (unsigned)n : 1;
}
