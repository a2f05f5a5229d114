/*
 * How many processors a process may use on Linux: those of its affinity, but no more than the
 * quotas of its control group and of all above it, in either version of them.
 */
#include "core/workers.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 4096 };

/* The beginning of a file; false: there is none. */
static bool read_text(const char *path, char text[TEXT])
{
	FILE *file = fopen(path, "re");
	size_t n;

	if (!file)
		return false;
	n = fread(text, 1, TEXT - 1, file);
	fclose(file);
	text[n] = 0;
	return n > 0;
}

/* Quota and period in microseconds; without a quota ("max", -1): `most`. */
static unsigned quota(const char *quota_text, const char *period_text, unsigned most)
{
	long long of = strtoll(quota_text, NULL, 10), period = strtoll(period_text, NULL, 10);
	long long n;

	if (of <= 0 || period <= 0)
		return most;
	n = of / period + (of % period > 0);
	return n < most ? (unsigned)n : most;
}

/* "cpu.max" of a group and all above it; `path` is shortened. */
static unsigned quota_upwards(char *path, unsigned most)
{
	char name[TEXT + 64], text[TEXT], *space;

	for (;;) {
		snprintf(name, sizeof name, "/sys/fs/cgroup%s/cpu.max", path);
		if (read_text(name, text) && (space = strchr(text, ' ')))
			most = quota(text, space, most);
		if (path[0] == 0)
			return most;
		*strrchr(path, '/') = 0;
	}
}

static unsigned quota_version_2(unsigned most)
{
	char groups[TEXT], *path;

	if (!read_text("/proc/self/cgroup", groups))
		return most;
	path = strncmp(groups, "0::/", 4) == 0 ? groups : strstr(groups, "\n0::/");
	if (!path)
		return most;
	path = strchr(path, '/');
	path[strcspn(path, "\n")] = 0;
	return quota_upwards(path, most);
}

static unsigned quota_version_1(unsigned most)
{
	char of[TEXT], period[TEXT];

	if (!read_text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", of) ||
	    !read_text("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period))
		return most;
	return quota(of, period, most);
}

unsigned processors_allowed(void)
{
	cpu_set_t set;
	unsigned n = 1;

	if (sched_getaffinity(0, sizeof set, &set) == 0)
		n = (unsigned)CPU_COUNT(&set);
	return quota_version_1(quota_version_2(n));
}
