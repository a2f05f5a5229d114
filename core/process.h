/*
 * What a program is to its system: name, limits, daemon, pid file, user, signals.
 *
 * A program calls these in this order; what exists once is done by the main process, before
 * there are workers:
 *
 *	process_name		as soon as the applet is known, if argv[0] does not say it
 *	process_start		before the first descriptor is opened
 *	process_limits		settings are read; log_open() is called
 *	process_daemon		if a pid file is given: the child goes on from here
 *	reactor_open, process_signals
 *				listeners, plugins, ...
 *	process_keep_marking, process_keep_ports, process_user
 *				what needs root is open now
 *	process_no_new_privs	unless a plugin with privileges of its own is to be started
 *	process_ready		all that can fail has succeeded
 *	workers_start		if several processes serve (core/workers.h)
 *	reactor_run		until told to stop
 *	log_close, return	the pid file goes at exit()
 *
 * Up to process_ready() a failure is die(): the user sees the sentence and status 255, also of a
 * daemon. For a daemon later lines go to syslog only.
 */
#ifndef CORE_PROCESS_H
#define CORE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* A descriptor whose reads end or fail, and whose writes fail or go nowhere. -1 with errno. */
int process_nothing(void);

/* Close every descriptor from `first` on but this one. */
void process_close_others(unsigned first, int but);

/* Its parts: those from `first` to `last`, at once where the system can; or by trying each. */
void process_close_range(unsigned first, unsigned last);
void process_close_each(unsigned first, unsigned last);

/* The name that ps, pidof and killall see, where a program may choose it. */
void process_name(const char *name);

/* A path by which the executable that runs can be started once more. False: the system tells
 * none. */
bool process_executable(char *to, size_t n);

/* The arguments of a process, each with its NUL, or as many of their bytes as fit: how many; 0 or
 * -1: there is no such process, it is ending, or the system does not tell. */
ssize_t process_arguments(pid_t pid, char *to, size_t n);

/* So many descriptors one process may have where its own limit is "any number". */
unsigned long process_files_max(void);

/* Undo what a careless parent left behind: closed standard streams (else a connection could get
 * number 1, and log lines with it), blocked or ignored signals. Ignores SIGPIPE and SIGXFSZ. */
void process_start(void);

/* Allow as many descriptors as the system lets us, or `nofile` if that is not 0 (a warning says if
 * it is not permitted); and forbid core dumps, since memory holds keys: no memory image is written
 * and no process of the same user may attach. The price: only root can read /proc/PID/fd and the
 * like (/proc/PID/status stays readable). Returns how many descriptors are allowed now. */
unsigned long process_limits(unsigned long nofile);

/* Before process_limits(): let the system allow so many, if it may be asked to (root). Else nothing
 * changes, and nothing is said. */
void process_raise_limit(unsigned long nofile);

/* Go on in the background. The parent waits for process_ready() of its child and exits with 0; if
 * the child ends before, with the child's status, or 255. It passes TERM, INT and QUIT on to the child,
 * unless they were ignored, and does not care for HUP. In the child: a session of its own,
 * directory "/", umask 077; the standard streams stay until process_ready(). To be called before
 * the reactor is opened. `pid_file` is opened before the fork and written by process_ready();
 * relative paths mean the old directory. Dies if it cannot be opened. */
void process_daemon(const char *pid_file);

/* Let the parent of a daemon go: write the pid file, cut the standard streams. Without
 * process_daemon(): nothing. */
void process_ready(void);

/* Become this user, by name or number, with this user's groups and no others; all three user ids
 * and group ids are set and it is verified that there is no way back. If we are that user already:
 * nothing. Without an entry in /etc/passwd a number is user and group. Dies if it fails. */
void process_user(const char *who);

/* Its parts. Whether all three ids are these, as far as the system tells; set them: 0, or -1 with
 * errno. */
bool process_is(uid_t uid, gid_t gid);
int process_become(uid_t uid, gid_t gid);

/* Before process_user(): of root's rights the new user is to have one, to mark sockets (fwmark). */
void process_keep_marking(void);

/* The same: programs that we start are to bind ports below 1024; this process itself will not. Only
 * Linux can. And in such a program, before its execve(). */
void process_keep_ports(void);
void process_lend_ports(void);

/* In a program that we start, before its execve(): it may configure the network, if we may or kept
 * the right to mark sockets, which is the same to Linux. */
void process_lend_marking(void);

/* In a child, before its execve(): the kernel is to kill it when its parent, this process, has
 * ended, or at once if that has happened. Only Linux can. */
void process_end_with(pid_t parent);

/* Whether this process may mark sockets; Linux asks CAP_NET_ADMIN for it. */
bool process_may_mark(void);

/* The parts of process_user() that keep such rights: before ids change, and afterwards, when all
 * others are given up. Die if they cannot be. */
void process_rights_hold(void);
void process_rights_reduce(bool marking, bool ports);

/* No program we start may gain privileges (set-user-id, file capabilities). */
void process_no_new_privs(void);

/* No core dumps, no attaching: part of process_limits(). */
void process_no_dumps(void);

/* Run serve(end, arg) in a process of its own, which has nothing open but `end`, the standard
 * streams and the memory of this one: `end` is readable when we have closed *ours or are no more,
 * also if we are killed. It lives on through signals that end programs in good order. Its number,
 * or -1 with errno. */
pid_t process_helper(int *ours, int (*serve)(int end, void *arg), void *arg);

/* What signals do; each is called by the reactor, never inside a handler. NULL: as said here. */
struct process_calls {
	void (*stop)(void);		      /* TERM, INT, QUIT; NULL: reactor_stop() */
	void (*reload)(void);		      /* HUP; NULL: a log line */
	void (*report)(void);		      /* USR1: the line of state; NULL: nothing */
	void (*child)(pid_t pid, int status); /* of each child that ended; NULL: nothing */
};

/* Watch for signals; USR2 is ignored, children that nobody knows are reaped. Nothing of this
 * depends on default actions, which process number 1 of a container does not have. A signal that
 * comes before the reactor runs is acted on when it does. A forked worker calls it again, after its
 * own reactor_open(), with all signals blocked: those that its parent has not acted on yet are not
 * its own. `calls` must stay. Dies if it fails. */
void process_signals(const struct process_calls *calls);

#endif
