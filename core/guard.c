/*
 * See guard.h. All that ties the guard to its maker is a pipe, of which nobody else has the other
 * end: programs lose it as they start, and workers of ours end with the main process.
 */
#include "core/guard.h"

#include "core/fd.h"
#include "core/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdnoreturn.h>
#include <sys/wait.h>
#include <unistd.h>

/* Nothing of ours is held open by it, no port above all. */
static noreturn void watch(int line, pid_t leader)
{
	sigset_t all;
	ssize_t n;
	char c;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	process_name("ss-guard");
	process_close_others(0, line);
	do
		n = read(line, &c, 1);
	while (n > 0 || (n < 0 && errno == EINTR));
	kill(-leader, SIGKILL);
	_exit(0);
}

int guard_start(struct guard *guard, pid_t leader)
{
	int ends[2], error;

	guard->pid = 0;
	if (fd_pipe(ends, 0) < 0)
		return -1;
	guard->pid = fork();
	if (guard->pid == 0) {
		close(ends[1]);
		watch(ends[0], leader);
	}
	error = errno;
	close(ends[0]);
	if (guard->pid < 0) {
		guard->pid = 0;
		close(ends[1]);
		errno = error;
		return -1;
	}
	guard->line = ends[1];
	return 0;
}

void guard_end(struct guard *guard)
{
	if (guard->pid == 0)
		return;
	kill(guard->pid, SIGKILL);
	waitpid(guard->pid, NULL, 0);
	close(guard->line);
	guard->pid = 0;
}
