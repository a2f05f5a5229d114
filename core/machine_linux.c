/*
 * How much memory a process may use on Linux: the machine's, which needs no /proc to be told, but
 * no more than the limits of its control group and of all above it.
 */
#include "core/machine.h"

#include "core/cgroup.h"

#include <stdlib.h>
#include <sys/sysinfo.h>

/* "max" is no limit; the old version has a very large number for that. */
static void lower(const char *text, void *own)
{
	uint64_t *most = own;
	unsigned long long n = strtoull(text, NULL, 10);

	if (n > 0 && n < *most)
		*most = n;
}

uint64_t machine_memory(void)
{
	char text[CGROUP_TEXT];
	struct sysinfo machine;
	uint64_t most;

	if (sysinfo(&machine) < 0)
		return 0;
	most = (uint64_t)machine.totalram * machine.mem_unit;
	cgroup_upwards("memory.max", lower, &most);
	if (cgroup_read("/memory/memory.limit_in_bytes", text))
		lower(text, &most);
	return most;
}
