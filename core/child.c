/*
 * See child.h. Between fork() and execve() the child reports what fails through a pipe that
 * execve() closes, so that child_start() knows. Owns the list of those that run.
 */
#include "core/child.h"

#include "core/fd.h"
#include "core/log.h"
#include "core/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MINUTE = 60000,
	READS = 16,   /* a turn */
	STOP_LOOK = 5 /* ms until the next look whether all have ended */
};

/* One per process: it is about the process. */
static struct {
	struct list all; /* of those that run */
	pid_t owner;	 /* who started them; 0: nobody did */
} children;

/* --- what it writes */

static void tell_left_out(struct child *child)
{
	if (child->left_out)
		log_warn("%s: %u more lines in a minute are left out", child->name,
			 child->left_out);
	child->left_out = 0;
}

static void end_line(struct child *child)
{
	if (reactor_now() - child->minute >= MINUTE) {
		tell_left_out(child);
		child->minute = reactor_now();
		child->lines = 0;
	}
	if (child->length == 0)
		return;
	if (child->lines++ < CHILD_LINES)
		log_info("%s: %.*s", child->name, (int)child->length, child->line);
	else
		child->left_out++;
	child->length = 0;
}

static void take(struct child *child, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n')
			end_line(child);
		else if (child->length < CHILD_LINE)
			child->line[child->length++] = bytes[i];
	}
}

/* False: there may be more to read. */
static bool read_output(struct child *child)
{
	char bytes[4096];

	for (int i = 0; i < READS; i++) {
		ssize_t n = read(child->output.fd, bytes, sizeof(bytes));

		if (n <= 0) {
			child->output.ready &= (uint8_t)~READY_IN;
			return true;
		}
		take(child, bytes, (size_t)n);
	}
	return false;
}

static void output_woken(struct source *source)
{
	if (!read_output(container_of(source, struct child, output)))
		reactor_again(source);
}

/* --- its beginning */

/* As execvp(), but a file that is no program is not given to a shell. Returns if it failed. */
static void run(char *const *argv, char *const *environment)
{
	const char *path = getenv("PATH"), *end;
	char name[PATH_MAX];
	bool denied = false;

	if (strchr(argv[0], '/')) {
		execve(argv[0], argv, environment);
		return;
	}
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; path;
	     path = *end ? end + 1 : NULL) {
		end = path + strcspn(path, ":");
		if (snprintf(name, sizeof(name), "%.*s/%s", (int)(end - path),
			     end > path ? path : ".", argv[0]) < (int)sizeof(name))
			execve(name, argv, environment);
		denied |= errno == EACCES;
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
			return;
	}
	errno = denied ? EACCES : ENOENT;
}

/* In the child. */
static noreturn void become(const struct child *child, pid_t parent, char *const *argv,
			    char *const *environment, int output, int report)
{
	int nothing = process_nothing();

	setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
	    dup2(output, STDERR_FILENO) >= 0) {
		if (child->ports)
			process_lend_ports();
		process_end_with(parent);
		run(argv, environment);
	}

	ssize_t told = write(report, &errno, sizeof(errno));
	_exit(told < 0 ? 126 : 127);
}

/* 0: it runs; or the errno of what it could not do. */
static int hear(int report)
{
	int error = 0;
	ssize_t n;

	do
		n = read(report, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == sizeof(error) ? error : 0;
}

static void signal_all(int number)
{
	for (struct list *l = children.all.next; l != &children.all; l = l->next)
		kill(-container_of(l, struct child, link)->pid, number);
}

/* At exit(), which may be that of die(). */
static void kill_left(void)
{
	if (getpid() == children.owner)
		signal_all(SIGKILL);
}

/* This process becomes the owner of children. */
static void own(void)
{
	if (children.owner == getpid())
		return;
	if (children.owner == 0)
		atexit(kill_left);
	list_init(&children.all); /* those of our parent are not ours */
	children.owner = getpid();
}

static void patience_over(struct timer *timer)
{
	struct child *child = container_of(timer, struct child, patience);

	if (child->pid)
		kill(-child->pid, SIGKILL);
}

/* Fork and see it off: 0 with child->pid set, or -1 with errno. */
static int launch(struct child *child, char *const *argv, char *const *environment, int output)
{
	int report[2], error;
	pid_t parent = getpid(), pid;

	if (fd_pipe(report, 0) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		become(child, parent, argv, environment, output, report[1]);
	error = errno;
	close(report[1]);
	if (pid > 0) {
		setpgid(pid, pid); /* whoever is first; after its execve() it was the child */
		error = hear(report[0]);
		if (error)
			waitpid(pid, NULL, 0);
	}
	close(report[0]);
	child->pid = error ? 0 : pid;
	errno = error;
	return child->pid ? 0 : -1;
}

int child_start(struct child *child, char *const *argv, char *const *environment)
{
	int ends[2], error;

	own();
	if (fd_pipe(ends, 0) < 0)
		return -1;
	child->pid = 0;
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ||
	    launch(child, argv, environment, ends[1]) < 0) {
		error = errno;
		close(ends[0]);
		close(ends[1]);
		errno = error;
		return -1;
	}
	close(ends[1]);
	if (!child->leaves && guard_start(&child->guard, child->pid) < 0)
		log_warn("%s: what it starts may outlive us: %s", child->name, strerror(errno));
	child->length = 0;
	timer_init(&child->patience, patience_over);
	list_append(&children.all, &child->link);
	if (reactor_watch(&child->output, ends[0], READY_IN, output_woken) < 0) {
		log_warn("%s: its output is lost: %s", child->name, strerror(errno));
		close(ends[0]);
	}
	return 0;
}

/* --- its end */

void child_stop(struct child *child)
{
	if (!child->pid)
		return;
	kill(-child->pid, SIGTERM);
	reactor_after(&child->patience, CHILD_GRACE);
}

static struct child *find(pid_t pid)
{
	if (children.owner != getpid())
		return NULL;
	for (struct list *l = children.all.next; l != &children.all; l = l->next)
		if (container_of(l, struct child, link)->pid == pid)
			return container_of(l, struct child, link);
	return NULL;
}

/* It has ended, and been waited for. */
static void finish(struct child *child)
{
	if (!child->leaves) /* whom it started must not outlive it: they may hold its port */
		kill(-child->pid, SIGKILL);
	guard_end(&child->guard);
	if (child->output.fd >= 0)
		read_output(child);
	end_line(child);
	tell_left_out(child);
	list_remove(&child->link);
	child->pid = 0;
}

void child_reap(pid_t pid, int status)
{
	struct child *child = find(pid);

	if (!child)
		return;
	finish(child);
	reactor_forget(&child->output);
	reactor_cancel(&child->patience);
	child->ended(child, status);
}

static void wait_for_all(int flags)
{
	struct list *next;

	for (struct list *l = children.all.next; l != &children.all; l = next) {
		struct child *child = container_of(l, struct child, link);

		next = l->next;
		if (child->output.fd >= 0)
			read_output(child); /* what it says at its end must not block it */
		if (waitpid(child->pid, NULL, flags) == 0)
			continue;
		finish(child);
		reactor_forget(&child->output);
		reactor_cancel(&child->patience);
	}
}

void child_stop_all(void)
{
	if (children.owner != getpid())
		return;
	signal_all(SIGTERM);
	for (int ms = 0; ms < CHILD_GRACE && !list_empty(&children.all); ms += STOP_LOOK) {
		wait_for_all(WNOHANG);
		if (!list_empty(&children.all))
			poll(NULL, 0, STOP_LOOK);
	}
	signal_all(SIGKILL);
	wait_for_all(0);
}

const char *child_verdict(int status, char *to, size_t n)
{
	if (WIFSIGNALED(status))
		snprintf(to, n, "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(to, n, "ended with status %d", WEXITSTATUS(status));
	return to;
}
