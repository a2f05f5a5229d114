/*
 * Everything here changes the process it is done to: each test does it to a child. Daemons are
 * waited for by a pipe that closes when they end.
 */
#include "core/process.h"

#include "core/log.h"
#include "core/reactor.h"
#include "tests/emulator.h"
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/process-test-XXXXXX";
static char path[64];
static char said[4096]; /* what the child wrote to its error stream */
static int alive[2];	/* the read end ends when every child and daemon has ended */

#define EXPECT(truth)                                                                          \
	do {                                                                                   \
		if (!(truth)) {                                                                \
			dprintf(STDERR_FILENO, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #truth, \
				strerror(errno));                                              \
			_exit(99);                                                             \
		}                                                                              \
	} while (0)

/* Run body in a child, to its end; its wait status. `said` is then what it and its daemon wrote. */
static int in_child(void (*body)(void))
{
	FILE *err = tmpfile();
	int status;
	pid_t pid;

	assert_non_null(err);
	assert_int_equal(pipe(alive), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(300);
		close(alive[0]);
		dup2(fileno(err), STDERR_FILENO);
		body();
		exit(0);
	}
	close(alive[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rewind(err);
	said[fread(said, 1, sizeof(said) - 1, err)] = 0;
	fclose(err);
	return status;
}

static void all_have_ended(void)
{
	struct pollfd ask = { .fd = alive[0], .events = POLLIN };
	char bytes[64];

	do
		assert_int_equal(poll(&ask, 1, 60000), 1);
	while (read(alive[0], bytes, sizeof(bytes)) > 0);
	close(alive[0]);
}

static void expect_exit(void (*body)(void), int code, const char *words)
{
	int status = in_child(body);

	if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
		fail_msg("status %x, not exit %d; it said: %s", (unsigned)status, code, said);
	if (words && !strstr(said, words))
		fail_msg("it did not say '%s' but: %s", words, said);
	all_have_ended();
}

static void expect_success(void (*body)(void))
{
	expect_exit(body, 0, NULL);
}

static bool file_holds(const char *text)
{
	char have[64] = "";
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, have, sizeof(have) - 1);

	close(fd);
	return n == (ssize_t)strlen(text) && strcmp(have, text) == 0;
}

static int clean(void **unused)
{
	(void)unused;
	unlink(path);
	return 0;
}

static bool skip_without_root(void)
{
	if (geteuid() == 0)
		return false;
	print_message("SKIPPED: needs root\n");
	return true;
}

/* --- the daemon */

static volatile sig_atomic_t stopped;

static void stop_now(int number)
{
	stopped = number;
}

static bool is_nothing(int fd)
{
	char text[64] = "", name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return readlink(name, text, sizeof(text) - 1) > 0 && strcmp(text, "/dev/null") == 0;
}

/* Waits for SIGTERM; what it finds wrong is its status, told by the last byte in the pipe. */
static void good_daemon(void)
{
	char text[24], cwd[8] = "";
	sigset_t term, before;

	log_open("test", false, false);
	process_start();
	process_daemon(path);
	alarm(300); /* whatever the test does, no daemon stays behind */
	EXPECT(getsid(0) == getpid());
	EXPECT(getcwd(cwd, sizeof(cwd)) && strcmp(cwd, "/") == 0);
	EXPECT(umask(0) == 077);
	signal(SIGTERM, stop_now);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &before);
	EXPECT(file_holds(""));
	EXPECT(!is_nothing(STDERR_FILENO));
	snprintf(text, sizeof(text), "%ld", (long)getpid());
	EXPECT(write(alive[1], "bound", 5) == 5);
	process_ready();
	EXPECT(file_holds(text));
	if (!is_nothing(0) || !is_nothing(1) || !is_nothing(2))
		_exit(1); /* the file stays: the test sees it */
	sigsuspend(&before);
	exit(stopped == SIGTERM ? 0 : 1);
}

static void the_parent_leaves_when_the_child_is_ready(void **unused)
{
	char text[24] = "";
	FILE *file;
	long pid;

	(void)unused;
	assert_int_equal(in_child(good_daemon), 0);
	assert_string_equal(said, "");
	/* It has been bound before the parent left; this does not wait. */
	assert_int_equal(fcntl(alive[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(read(alive[0], text, sizeof(text)), 5);
	fcntl(alive[0], F_SETFL, 0);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_null(strchr(text, '\n'));
	pid = strtol(text, NULL, 10);
	assert_true(pid > 1);
	assert_int_equal(getpgid((pid_t)pid), pid);
	assert_int_equal(kill((pid_t)pid, SIGTERM), 0);
	all_have_ended();
	assert_int_equal(access(path, F_OK), -1);
}

static void daemon_that_dies(void)
{
	log_open("test", false, false);
	process_daemon(path);
	die("failed to listen on any address");
}

static void daemon_with_syslog_that_dies(void)
{
	log_open("test", true, false);
	process_daemon(path);
	die("failed to listen on any address");
}

static void daemon_that_crashes(void)
{
	log_open("test", false, false);
	process_daemon(path);
	raise(SIGKILL);
}

static void daemon_that_exits_3(void)
{
	signal(SIGCHLD, SIG_IGN); /* inherited: the parent must learn the status nevertheless */
	process_daemon(path);
	exit(3);
}

static void daemon_that_stops(void)
{
	process_daemon(path);
	exit(0);
}

static void the_parent_tells_of_a_failure(void **unused)
{
	(void)unused;
	expect_exit(daemon_that_dies, 255, "ERROR: failed to listen on any address\n");
	assert_int_equal(access(path, F_OK), -1);
	expect_exit(daemon_that_crashes, 255, "ended by signal 9 before it was ready");
	expect_exit(daemon_that_exits_3, 3, NULL);
	expect_exit(daemon_that_stops, 255, "stopped before it was ready");
	assert_int_equal(access(path, F_OK), -1);
	if (access("/dev/log", F_OK) == 0)
		print_message(
			"SKIPPED: failure with syslog: it would write to this system's log\n");
	else
		expect_exit(daemon_with_syslog_that_dies, 255, "failed to listen on any address");
}

static void a_failure_keeps_the_old_pid_file(void **unused)
{
	FILE *file = fopen(path, "w");

	(void)unused;
	assert_non_null(file);
	fputs("1", file);
	fclose(file);
	expect_exit(daemon_that_dies, 255, NULL);
	assert_true(file_holds("1"));
}

/* Called by fflush() within process_daemon(): there is the file, and no child yet. */
static ssize_t interrupt(void *unused, const char *bytes, size_t n)
{
	(void)unused, (void)bytes;
	raise(SIGTERM);
	return (ssize_t)n;
}

static noreturn void wait_to_be_ended(void)
{
	alarm(60); /* whatever the test does, no daemon stays behind */
	for (;;)
		pause();
}

static void interrupted_before_the_fork(void)
{
	FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = interrupt });

	EXPECT(stream && fputs("x", stream) >= 0);
	log_open("test", false, false);
	process_daemon(path);
	wait_to_be_ended();
}

static void interrupted_while_it_waits(void)
{
	log_open("test", false, false);
	process_daemon(path);
	EXPECT(kill(getppid(), SIGINT) == 0);
	wait_to_be_ended();
}

/* As by a shell, of what it starts in its background. */
static void interrupted_where_that_is_ignored(void)
{
	signal(SIGINT, SIG_IGN);
	process_daemon(path);
	alarm(60);
	EXPECT(kill(getppid(), SIGINT) == 0);
	signal(SIGINT, SIG_DFL);
	process_ready();
}

static void left_by_the_terminal(void)
{
	process_daemon(path);
	alarm(60);
	EXPECT(kill(getppid(), SIGHUP) == 0);
	process_ready();
}

/* Neither a file without a process nor a process without a file is left. */
static void a_start_that_is_interrupted_leaves_nothing(void **unused)
{
	(void)unused;
	expect_exit(interrupted_before_the_fork, 255, "ended by signal 15 before it was ready");
	assert_int_equal(access(path, F_OK), -1);
	expect_exit(interrupted_while_it_waits, 255, "ended by signal 2 before it was ready");
	assert_int_equal(access(path, F_OK), -1);
	expect_success(interrupted_where_that_is_ignored);
	expect_success(left_by_the_terminal);
}

/* The leak checker opens files. */
static void make_room(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

/* There is room for the file and its directory, and none for the pipe. */
static void no_background(void)
{
	enum { HIGH = 40 };
	struct rlimit r = { HIGH + 2, 2 * HIGH };

	atexit(make_room);
	while (dup(STDERR_FILENO) < HIGH - 1)
		;
	log_open("test", false, false);
	EXPECT(setrlimit(RLIMIT_NOFILE, &r) == 0);
	process_daemon(path);
	_exit(0);
}

static void without_a_child_there_is_no_file(void **unused)
{
	(void)unused;
	expect_exit(no_background, 255, "cannot go into the background: ");
	assert_int_equal(access(path, F_OK), -1);
}

static void daemon_nowhere(void)
{
	log_open("test", false, false);
	process_daemon("/nonexistent/directory/pid");
	_exit(0);
}

static void an_invalid_pid_file_is_said(void **unused)
{
	(void)unused;
	expect_exit(daemon_nowhere, 255, "Invalid pid file: '/nonexistent/directory/pid': No such");
}

static void unready(void)
{
	process_ready();
	EXPECT(!is_nothing(STDERR_FILENO));
}

static void ready_means_nothing_in_the_foreground(void **unused)
{
	(void)unused;
	expect_success(unready);
}

/* --- what the parent left, limits, name */

static void careless(void)
{
	struct sigaction now;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int fd = 0; fd <= STDOUT_FILENO; fd++)
		close(fd);
	process_start();
	EXPECT(is_nothing(0) && is_nothing(1) && !is_nothing(2));
	EXPECT(sigprocmask(SIG_SETMASK, NULL, &all) == 0 && !sigismember(&all, SIGTERM));
	EXPECT(sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
}

static void closed_streams_and_blocked_signals_are_mended(void **unused)
{
	(void)unused;
	expect_success(careless);
}

static void limits(void)
{
	struct rlimit r = { 200, 300 };

	EXPECT(setrlimit(RLIMIT_NOFILE, &r) == 0);
	EXPECT(process_limits(0) == 300);
	EXPECT(getrlimit(RLIMIT_CORE, &r) == 0 && r.rlim_cur == 0 && r.rlim_max == 0);
	EXPECT(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	EXPECT(process_limits(100) == 100);
	EXPECT(getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur == 100 && r.rlim_max == 100);
	process_name("ss-local");
	char name[16] = "";
	EXPECT(prctl(PR_GET_NAME, name, 0, 0, 0) == 0 && strcmp(name, "ss-local") == 0);
	process_no_new_privs();
	EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
}

static void limits_are_set(void **unused)
{
	(void)unused;
	expect_success(limits);
}

static void too_much(void)
{
	struct rlimit r = { 50, 60 };

	log_open("test", false, false);
	EXPECT(setrlimit(RLIMIT_NOFILE, &r) == 0);
	if (geteuid() == 0)
		EXPECT(setgid(65534) == 0 && setuid(65534) == 0);
	EXPECT(process_limits(1000) == 60);
}

static void what_is_not_permitted_is_said(void **unused)
{
	(void)unused;
	expect_exit(too_much, 0, "nofile: 1000 descriptors are not permitted here");
	assert_non_null(strstr(said, "going on with 60"));
}

/* --- users */

static void become_nobody(void)
{
	gid_t many[3] = { 0, 4, 27 }, left[8];
	uid_t u[3];
	gid_t g[3];
	int n;

	EXPECT(setgroups(3, many) == 0);
	process_user("nobody");
	EXPECT(getresuid(&u[0], &u[1], &u[2]) == 0 && getresgid(&g[0], &g[1], &g[2]) == 0);
	EXPECT(u[0] == 65534 && u[1] == 65534 && u[2] == 65534);
	EXPECT(g[0] == 65534 && g[1] == 65534 && g[2] == 65534);
	n = getgroups(8, left);
	EXPECT(n == 1 && left[0] == 65534);
	EXPECT(setuid(0) == -1 && seteuid(0) == -1 && setgid(0) == -1);
	EXPECT(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	process_user("nobody"); /* already: nothing */
	process_user("65534");
}

static void become_a_number(void)
{
	process_user("12345");
	EXPECT(getuid() == 12345 && getgid() == 12345 && getgroups(0, NULL) == 1);
}

static void become_nobody_and_root_again(void)
{
	process_user("nobody");
	process_user("root");
}

/* Ids change, capabilities stay: the case that the check after the change is for. */
static void become_nobody_with_capabilities(void)
{
	enum { NO_SETUID_FIXUP = 4 };

	EXPECT(prctl(PR_SET_SECUREBITS, NO_SETUID_FIXUP, 0, 0, 0) == 0);
	process_user("nobody");
}

static void become_nobody_who_marks(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	const unsigned mark = 7;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	EXPECT(fd >= 0);
	process_keep_marking();
	process_user("nobody");
	EXPECT(getuid() == 65534 && setuid(0) == -1 && setgid(0) == -1);
	EXPECT(syscall(SYS_capget, &header, data) == 0);
	EXPECT((data[0].permitted & ~(1u << CAP_NET_ADMIN)) == 0 && data[1].permitted == 0);
	EXPECT(data[0].effective == data[0].permitted && data[0].inheritable == 0);
	EXPECT(prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0) == 0);
	EXPECT(process_may_mark() == (data[0].effective != 0));
	/* A container's root may lack the right; whoever has it can use it. */
	EXPECT(process_may_mark() ==
	       (setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark) == 0));
}

static void become_nobody_who_cannot_mark(void)
{
	process_user("nobody");
	EXPECT(!process_may_mark());
}

static void become_root_who_marks(void)
{
	bool could = process_may_mark();

	process_keep_marking();
	process_user("root");
	EXPECT(process_may_mark() == could && setgid(0) == 0);
}

static void the_right_to_mark_may_be_kept(void **unused)
{
	needs("socket-marks");
	(void)unused;
	if (skip_without_root())
		skip();
	expect_success(become_nobody_who_marks);
	expect_success(become_nobody_who_cannot_mark);
	expect_success(become_root_who_marks);
}

static void privileges_are_given_up(void **unused)
{
	(void)unused;
	if (skip_without_root())
		skip();
	expect_success(become_nobody);
	expect_success(become_a_number);
	expect_exit(become_nobody_and_root_again, 255, "failed to switch user to 'root': ");
	expect_exit(become_nobody_with_capabilities, 255, "root can be regained");
}

static void become_unknown(void)
{
	process_user("no-such-user");
}

static void an_unknown_user_is_said(void **unused)
{
	(void)unused;
	expect_exit(become_unknown, 255, "ERROR: run_as user 'no-such-user' could not be found.\n");
	assert_non_null(strstr(said, "ERROR: failed to switch user\n"));
}

/* DM03: into root's directory, as nobody from then on; the file cannot be removed any more. */
static void daemon_of_nobody(void)
{
	log_open("test", false, false);
	process_daemon(path);
	process_user("nobody");
	process_ready();
	EXPECT(write(alive[1], "x", 1) == 1);
	exit(0);
}

static void a_daemon_of_another_user_empties_its_file(void **unused)
{
	(void)unused;
	if (skip_without_root())
		skip();
	expect_success(daemon_of_nobody);
	assert_true(file_holds(""));
}

/* --- signals */

static unsigned stops, reloads, reports, children;
static int last_status;

static void count_stop(void)
{
	stops++;
	reactor_stop();
}

static void count_reload(void)
{
	reloads++;
}

static void count_report(void)
{
	reports++;
}

static void count_child(pid_t pid, int status)
{
	(void)pid;
	children++;
	last_status = status;
}

static const struct process_calls counting = {
	.stop = count_stop,
	.reload = count_reload,
	.report = count_report,
	.child = count_child,
};
static const struct process_calls nothing;

static void start_reactor(const struct process_calls *calls)
{
	log_open("test", false, true);
	process_start();
	EXPECT(reactor_open() == 0);
	process_signals(calls);
}

static void each_signal(void)
{
	start_reactor(&counting);
	raise(SIGHUP);
	raise(SIGUSR1);
	raise(SIGUSR2);
	raise(SIGPIPE);
	raise(SIGXFSZ);
	reactor_turn(0);
	EXPECT(reloads == 1 && reports == 1 && stops == 0 && children == 0);
	raise(SIGHUP);
	reactor_turn(-1);
	EXPECT(reloads == 2 && reports == 1);
	raise(SIGTERM); /* before the reactor runs */
	reactor_run();
	raise(SIGINT);
	reactor_run();
	raise(SIGQUIT);
	reactor_run();
	EXPECT(stops == 3 && reloads == 2);
}

static void signals_reach_the_reactor(void **unused)
{
	(void)unused;
	expect_success(each_signal);
}

static void no_calls(void)
{
	start_reactor(&nothing);
	raise(SIGHUP);
	raise(SIGUSR1);
	raise(SIGUSR2);
	raise(SIGCHLD);
	reactor_turn(0);
	raise(SIGTERM);
	reactor_run();
}

static void signals_without_calls_do_as_the_header_says(void **unused)
{
	(void)unused;
	expect_success(no_calls);
}

static void storm(void)
{
	start_reactor(&counting);
	for (int i = 0; i < 100000; i++) /* more than a pipe holds */
		raise(SIGUSR1);
	raise(SIGHUP);
	raise(SIGTERM);
	reactor_run();
	EXPECT(reports == 1 && reloads == 1 && stops == 1);
}

static void a_storm_of_signals_loses_no_kind(void **unused)
{
	(void)unused;
	expect_success(storm);
}

static void orphans(void)
{
	pid_t pid;

	if (fork() == 0)
		_exit(7); /* perhaps before anybody watches */
	start_reactor(&counting);
	while (children < 1)
		reactor_turn(-1);
	EXPECT(WIFEXITED(last_status) && WEXITSTATUS(last_status) == 7);
	for (int i = 0; i < 5; i++) {
		pid = fork();
		EXPECT(pid >= 0);
		if (pid == 0)
			_exit(8);
	}
	while (children < 6)
		reactor_turn(-1);
	EXPECT(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	EXPECT(stops == 0);
}

static void every_child_is_reaped(void **unused)
{
	(void)unused;
	expect_success(orphans);
}

/* A worker that comes later has a reactor and a pipe of its own. */
static void forked(void)
{
	int status;
	pid_t pid;

	start_reactor(&counting);
	pid = fork();
	EXPECT(pid >= 0);
	if (pid == 0) {
		EXPECT(reactor_open() == 0);
		process_signals(&counting);
		raise(SIGHUP);
		reactor_turn(-1);
		_exit(reloads == 1 ? 0 : 1);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	reactor_turn(0);
	EXPECT(reloads == 0);
	raise(SIGUSR1);
	reactor_turn(-1);
	EXPECT(reports == 1);
}

static void a_forked_worker_has_its_own_signals(void **unused)
{
	(void)unused;
	expect_success(forked);
}

/* --- helpers */

static int spares[2];

/* It has what is said, and ends when we let go of it. */
static int look_around(int end, void *arg)
{
	char byte;

	EXPECT(fcntl(STDERR_FILENO, F_GETFD) >= 0);
	for (int i = 0; i < 2; i++)
		EXPECT(fcntl(spares[i], F_GETFD) < 0 && errno == EBADF);
	EXPECT(read(end, &byte, 1) == 0);
	return *(int *)arg;
}

static void helped(void)
{
	int answer = 7, ours, status;
	pid_t pid;

	spares[0] = open("/dev/null", O_RDONLY);
	spares[1] = dup2(spares[0], 200); /* one below its end, one above */
	EXPECT(spares[0] >= 0 && spares[1] == 200);
	pid = process_helper(&ours, look_around, &answer);
	EXPECT(pid > 0 && fcntl(spares[1], F_GETFD) >= 0);
	close(ours);
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* As where the kernel is older than close_range(), or a container forbids it. */
static void helped_without_close_range(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 436, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = steps };

	EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 || getenv("EMULATED"));
	helped();
}

static void a_helper_has_nothing_else_open(void **unused)
{
	(void)unused;
	expect_success(helped);
	expect_success(helped_without_close_range);
}

/* --- process number 1 */

static void reap_grandchild(void)
{
	EXPECT(getpid() == 1);
	start_reactor(&counting);
	if (fork() == 0) {
		if (fork() == 0)
			_exit(9); /* ours, once its parent is gone */
		_exit(9);
	}
	while (children < 2)
		reactor_turn(-1);
	EXPECT(WEXITSTATUS(last_status) == 9);
	raise(SIGHUP);
	raise(SIGUSR2);
	kill(1, SIGTERM);
	reactor_run();
	EXPECT(reloads == 1 && stops == 1);
}

static void number_one(void)
{
	int status;
	pid_t pid;

	EXPECT(unshare(CLONE_NEWPID) == 0);
	pid = fork();
	EXPECT(pid >= 0);
	if (pid == 0) {
		reap_grandchild();
		_exit(0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	_exit(0); /* the leak checker cannot work where number 1 is gone */
}

static void process_number_one_works_too(void **unused)
{
	(void)unused;
	if (skip_without_root())
		skip();
	expect_success(number_one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_parent_leaves_when_the_child_is_ready, clean),
		cmocka_unit_test_setup(the_parent_tells_of_a_failure, clean),
		cmocka_unit_test_setup(a_failure_keeps_the_old_pid_file, clean),
		cmocka_unit_test_setup(a_start_that_is_interrupted_leaves_nothing, clean),
		cmocka_unit_test_setup(without_a_child_there_is_no_file, clean),
		cmocka_unit_test_setup(an_invalid_pid_file_is_said, clean),
		cmocka_unit_test_setup(ready_means_nothing_in_the_foreground, clean),
		cmocka_unit_test_setup(closed_streams_and_blocked_signals_are_mended, clean),
		cmocka_unit_test_setup(limits_are_set, clean),
		cmocka_unit_test_setup(what_is_not_permitted_is_said, clean),
		cmocka_unit_test_setup(privileges_are_given_up, clean),
		cmocka_unit_test_setup(the_right_to_mark_may_be_kept, clean),
		cmocka_unit_test_setup(an_unknown_user_is_said, clean),
		cmocka_unit_test_setup(a_daemon_of_another_user_empties_its_file, clean),
		cmocka_unit_test_setup(signals_reach_the_reactor, clean),
		cmocka_unit_test_setup(signals_without_calls_do_as_the_header_says, clean),
		cmocka_unit_test_setup(a_storm_of_signals_loses_no_kind, clean),
		cmocka_unit_test_setup(every_child_is_reaped, clean),
		cmocka_unit_test_setup(a_forked_worker_has_its_own_signals, clean),
		cmocka_unit_test_setup(process_number_one_works_too, clean),
		cmocka_unit_test_setup(a_helper_has_nothing_else_open, clean),
	};
	int failed;

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/pid", directory);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	clean(NULL);
	rmdir(directory);
	return failed;
}
