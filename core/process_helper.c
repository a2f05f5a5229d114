/*
 * A process that looks after something when the program itself cannot, or must not wait for it.
 * Part of core/process.h.
 */
#include "core/process.h"

#include "core/fd.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static void ignore_signals(void)
{
	static const int ends[] = { SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2 };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, usual = { .sa_handler = SIG_DFL };

	for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
		sigaction(ends[i], &ignore, NULL);
	sigaction(SIGCHLD, &usual, NULL);
}

pid_t process_helper(int *ours, int (*serve)(int, void *), void *arg)
{
	int ends[2];
	pid_t child;

	if (fd_pipe(ends, 0) < 0)
		return -1;
	child = fork();
	if (child < 0) {
		int error = errno;

		close(ends[0]);
		close(ends[1]);
		errno = error;
		return -1;
	}
	if (child == 0) {
		ignore_signals();
		/* descriptors of ours would keep ports and connections open */
		process_close_others(STDERR_FILENO + 1, ends[0]);
		_exit(serve(ends[0], arg));
	}
	close(ends[0]);
	*ours = ends[1];
	return child;
}
