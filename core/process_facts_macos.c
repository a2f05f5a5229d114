/*
 * What macOS tells of processes. Nobody may choose the name of one.
 */
#include "core/process.h"

#include <limits.h>
#include <mach-o/dyld.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysctl.h>

void process_name(const char *name)
{
	(void)name;
}

bool process_executable(char *to, size_t n)
{
	uint32_t size = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;

	return _NSGetExecutablePath(to, &size) == 0;
}

/* A number, the path of the executable, zeros, the arguments, the environment. */
static ssize_t take_arguments(const char *all, size_t length, char *to, size_t n)
{
	const char *at = all + sizeof(int), *end = all + length;

	while (at < end && *at)
		at++;
	while (at < end && !*at)
		at++;
	if (at >= end)
		return 0;
	if ((size_t)(end - at) < n)
		n = (size_t)(end - at);
	memcpy(to, at, n);
	return (ssize_t)n;
}

/* It gives the end of all that if there is less room. */
ssize_t process_arguments(pid_t pid, char *to, size_t n)
{
	int size_name[] = { CTL_KERN, KERN_ARGMAX }, name[] = { CTL_KERN, KERN_PROCARGS2, pid };
	int size = 0;
	size_t length = sizeof size;
	ssize_t result = -1;

	if (sysctl(size_name, 2, &size, &length, NULL, 0) < 0 || size <= (int)sizeof(int))
		return -1;

	char *all = malloc((size_t)size);

	length = (size_t)size;
	if (all && sysctl(name, 3, all, &length, NULL, 0) == 0)
		result = take_arguments(all, length, to, n);
	free(all);
	return result;
}

unsigned long process_files_max(void)
{
	int most = 0;
	size_t n = sizeof most;

	if (sysctlbyname("kern.maxfilesperproc", &most, &n, NULL, 0) < 0 || most <= 0)
		return OPEN_MAX;
	return (unsigned long)most;
}
