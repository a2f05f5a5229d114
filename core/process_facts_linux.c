/*
 * What Linux tells of processes.
 */
#include "core/process.h"

#include "core/file.h"

#include <limits.h>
#include <stdio.h>
#include <sys/prctl.h>

/* The kernel keeps 15 bytes; ours are shorter. */
void process_name(const char *name)
{
	prctl(PR_SET_NAME, name, 0, 0, 0);
}

/* Also when another has taken its place by now. */
bool process_executable(char *to, size_t n)
{
	return snprintf(to, n, "/proc/self/exe") < (int)n;
}

ssize_t process_arguments(pid_t pid, char *to, size_t n)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
	return file_read(path, to, n);
}

/* No limit is "any number" here. */
unsigned long process_files_max(void)
{
	return INT_MAX;
}
