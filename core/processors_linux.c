/*
 * How many processors a process may use on Linux: those of its affinity, but no more than the
 * quotas of its control group and of all above it, in either version of them.
 */
#include "core/workers.h"

#include "core/cgroup.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Quota and period in microseconds. Without a quota ("max", -1), nothing is lowered. */
static void lower(unsigned *most, const char *quota, const char *period)
{
	long long of = strtoll(quota, NULL, 10), in = strtoll(period, NULL, 10);
	long long n;

	if (of <= 0 || in <= 0)
		return;
	n = of / in + (of % in > 0);
	if (n < *most)
		*most = (unsigned)n;
}

/* "100000 100000" */
static void lower_both(const char *text, void *own)
{
	const char *space = strchr(text, ' ');

	if (space)
		lower(own, text, space);
}

unsigned processors_allowed(void)
{
	char quota[CGROUP_TEXT], period[CGROUP_TEXT];
	cpu_set_t set;
	unsigned n = 1;

	if (sched_getaffinity(0, sizeof set, &set) == 0)
		n = (unsigned)CPU_COUNT(&set);
	cgroup_upwards("cpu.max", lower_both, &n);
	if (cgroup_read("/cpu/cpu.cfs_quota_us", quota) &&
	    cgroup_read("/cpu/cpu.cfs_period_us", period))
		lower(&n, quota, period);
	return n;
}
