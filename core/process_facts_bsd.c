/*
 * What FreeBSD tells of processes.
 */
#include "core/process.h"

#include <limits.h>
#include <sys/types.h>

#include <sys/sysctl.h>
#include <unistd.h>

void process_name(const char *name)
{
	setproctitle("-%s", name);
}

static ssize_t ask(int what, pid_t pid, char *to, size_t n)
{
	int name[] = { CTL_KERN, KERN_PROC, what, (int)pid };

	return sysctl(name, sizeof name / sizeof *name, to, &n, NULL, 0) < 0 ? -1 : (ssize_t)n;
}

bool process_executable(char *to, size_t n)
{
	return ask(KERN_PROC_PATHNAME, -1, to, n) > 0;
}

ssize_t process_arguments(pid_t pid, char *to, size_t n)
{
	return ask(KERN_PROC_ARGS, pid, to, n);
}

unsigned long process_files_max(void)
{
	int most = 0;
	size_t n = sizeof most;

	return sysctlbyname("kern.maxfilesperproc", &most, &n, NULL, 0) < 0 || most <= 0
		       ? OPEN_MAX
		       : (unsigned long)most;
}
