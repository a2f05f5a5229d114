/*
 * Programs that this one starts: by an argument vector, never through a shell, each in a process
 * group of its own. What they write goes to our log with their name in front, rationed. They end
 * when we do: also when we are killed, where the system can do that (Linux; not for a program that
 * gains privileges by its file). Belongs to the process that started them; a worker that it forks
 * leaves them alone.
 */
#ifndef CORE_CHILD_H
#define CORE_CHILD_H

#include "core/guard.h"
#include "core/reactor.h"

#include <sys/types.h>

enum {
	CHILD_LINE = 512,  /* bytes of an output line; the rest of it is left out */
	CHILD_LINES = 200, /* lines a minute; more are counted */
	CHILD_GRACE = 500  /* ms between the request to end and the end */
};

/* Embedded in its owner; zeroed but for what the owner fills in, which must stay. */
struct child {
	const char *name;				/* in front of its lines */
	void (*ended)(struct child *child, int status); /* as waitpid() tells; may start it again */
	bool ports; /* it may bind ports below 1024 if we may, or kept that (core/process.h) */

	bool leaves; /* it goes into the background: whom it started lives on when it ends */

	/* child.c's own. */
	pid_t pid; /* 0: it does not run */
	struct guard guard;
	struct source output;
	struct timer patience; /* until it is killed */
	struct list link;
	uint64_t minute; /* when the ration began, ms */
	unsigned lines, left_out;
	unsigned length;
	char line[CHILD_LINE];
};

/* Run argv[0], which is looked for in PATH if it has no slash, with this environment. It begins
 * with nothing to read, and signals as usual. 0, or -1 with errno, also that of its execve().
 * After reactor_open(). */
int child_start(struct child *child, char *const *argv, char *const *environment);

/* Ask it and its group to end, and end them after CHILD_GRACE. ended() follows, from the
 * reactor. */
void child_stop(struct child *child);

/* Stop all, and wait until they have ended; ended() is not called. The reactor need not run any
 * more; if it does, their memory is free after its next turn. */
void child_stop_all(void);

/* For process_calls.child: a process has ended, one of ours or not. */
void child_reap(pid_t pid, int status);

/* "ended with status 3", "was killed by signal 9"; returns `to`. */
const char *child_verdict(int status, char *to, size_t n);

#endif
