/*
 * See command.h. Input and output go at the same time, so that neither side waits for the other;
 * nothing else happens meanwhile, for the reactor does not run when this is used.
 */
#include "core/command.h"

#include "core/fd.h"
#include "core/process.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char administration[] = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";

static bool find_in(const char *directories, const char *name, char *to, size_t n)
{
	for (const char *dir = directories; dir && *dir;) {
		size_t length = strcspn(dir, ":");

		if (length > 0 && snprintf(to, n, "%.*s/%s", (int)length, dir, name) < (int)n &&
		    access(to, X_OK) == 0)
			return true;
		dir += length + (dir[length] == ':');
	}
	return false;
}

bool command_find(const char *name, char *to, size_t n)
{
	return find_in(getenv("PATH"), name, to, n) || find_in(administration, name, to, n);
}

/* In the child. */
static noreturn void become(const char *path, char *const *argv, int input, int output)
{
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
	    dup2(output, STDERR_FILENO) >= 0) {
		process_lend_marking();
		execv(path, argv);
		dprintf(STDERR_FILENO, "%s: %s", path, strerror(errno));
	}
	_exit(127);
}

/* What is to be written and read; a descriptor that is done is -1. */
struct talk {
	int in, out;
	const char *input;
	size_t left;
	char *words;
	size_t have, room;
};

static void finish(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void give(struct talk *talk)
{
	ssize_t n = talk->left ? write(talk->in, talk->input, talk->left) : 0;

	if (n > 0) {
		talk->input += n;
		talk->left -= (size_t)n;
	}
	/* If it reads no more, its status will tell whether that is a failure. */
	if (talk->left == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		finish(&talk->in);
}

static void take(struct talk *talk)
{
	char rest[512];
	bool room = talk->have < talk->room;
	ssize_t n = read(talk->out, room ? talk->words + talk->have : rest,
			 room ? talk->room - talk->have : sizeof(rest));

	if (n > 0 && room)
		talk->have += (size_t)n;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		finish(&talk->out);
}

static void converse(struct talk *talk)
{
	while (talk->in >= 0 || talk->out >= 0) {
		struct pollfd ends[] = { { talk->in, POLLOUT, 0 }, { talk->out, POLLIN, 0 } };

		if (poll(ends, 2, -1) < 0 && errno != EINTR)
			break;
		if (ends[0].revents)
			give(talk);
		if (ends[1].revents)
			take(talk);
	}
	finish(&talk->in);
	finish(&talk->out);
}

/* One line of what it wrote. */
static void tidy(char *words, size_t have)
{
	words[have] = '\0';
	while (have > 0 && (words[have - 1] == '\n' || words[have - 1] == ' '))
		words[--have] = '\0';
	for (char *p = words; *p; p++)
		if (*p == '\n' || *p == '\t')
			*p = *p == '\n' ? ';' : ' ';
	text_make_printable(words);
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int command_run(const char *path, char *const *argv, const char *input, size_t length, char *words,
		size_t n)
{
	int in[2], out[2], error;
	pid_t pid;

	if (fd_pipe(in, 0) < 0)
		return -1;
	if (fd_pipe(out, 0) < 0) {
		error = errno;
		close(in[0]);
		close(in[1]);
		errno = error;
		return -1;
	}
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	pid = fork();
	if (pid == 0)
		become(path, argv, in[0], out[1]);
	error = errno;
	close(in[0]);
	close(out[1]);

	struct talk talk = { in[1], out[0], input, length, words, 0, n - 1 };

	if (pid > 0)
		converse(&talk);
	finish(&talk.in);
	finish(&talk.out);
	tidy(words, talk.have);
	errno = error;
	return pid > 0 ? wait_for(pid) : -1;
}
