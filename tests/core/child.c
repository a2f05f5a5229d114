/*
 * Small programs are started, watched, stopped. Each test runs in a process of its own, since the
 * log, the reactor and signals belong to the process; its log is a file.
 */
#include "core/child.h"

#include "core/log.h"
#include "core/process.h"
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char directory[] = "/tmp/child-test-XXXXXX";
static char said[1 << 16]; /* the log */
static int ended_with;	   /* the last child's status; -1: it runs */

#define EXPECT(truth)                                                                   \
	do {                                                                            \
		if (!(truth)) {                                                         \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #truth, \
				strerror(errno));                                       \
			_exit(99);                                                      \
		}                                                                       \
	} while (0)

static void ended(struct child *child, int status)
{
	(void)child;
	ended_with = status;
}

static struct child child = { .name = "kid", .ended = ended };

static int start(const char *script)
{
	char *argv[] = { "/bin/sh", "-c", (char *)script, NULL };

	ended_with = -1;
	return child_start(&child, argv, environ);
}

static void wait_for_end(void)
{
	while (ended_with < 0)
		reactor_turn(-1);
}

/* Run body in a process that has a reactor and signals; its log is in `said` then. */
static void in_process(void (*body)(void))
{
	static const struct process_calls calls = { .child = child_reap };
	FILE *log = tmpfile();
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(300);
		dup2(fileno(log), STDOUT_FILENO);
		dup2(fileno(log), STDERR_FILENO);
		process_start();
		EXPECT(reactor_open() == 0);
		process_signals(&calls);
		body();
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rewind(log);
	said[fread(said, 1, sizeof(said) - 1, log)] = 0;
	fclose(log);
	if (status != 0)
		fprintf(stderr, "status %d: %s\n", status, said);
	assert_int_equal(status, 0);
}

static void talk(void)
{
	EXPECT(start("echo one; echo two >&2; printf three; read x || exit 3") == 0);
	wait_for_end();
	EXPECT(WIFEXITED(ended_with) && WEXITSTATUS(ended_with) == 3);
	EXPECT(child.pid == 0 && child.output.fd == -1);
}

/* Both streams, also a line without an end; its input has ended. */
static void test_output(void **state)
{
	(void)state;
	in_process(talk);
	assert_non_null(strstr(said, "kid: one\n"));
	assert_non_null(strstr(said, "kid: two\n"));
	assert_non_null(strstr(said, "kid: three\n"));
}

static void chatter(void)
{
	EXPECT(start("yes 'a line that nobody reads' | head -c 10485760") == 0);
	wait_for_end();
	EXPECT(ended_with == 0);
}

/* 10 MiB are read, and a few lines of it kept. */
static void test_chatter(void **state)
{
	unsigned lines = 0;

	(void)state;
	in_process(chatter);
	for (const char *p = said; (p = strstr(p, "kid: a line")); p++)
		lines++;
	assert_int_equal(lines, CHILD_LINES);
	assert_non_null(strstr(said, "more lines in a minute are left out"));
}

static int try(const char *name)
{
	char *argv[] = { (char *)name, NULL };

	errno = 0;
	EXPECT(child_start(&child, argv, environ) == -1);
	return errno;
}

static void fail_to_start(void)
{
	char script[64];
	int fd;

	EXPECT(try("no-such-program-anywhere") == ENOENT);
	EXPECT(try("/no/such/file") == ENOENT);
	EXPECT(try("/dev/null") == EACCES);
	EXPECT(try("/") == EACCES);
	/* What a shell would run, but the system does not. */
	snprintf(script, sizeof(script), "%s/text", directory);
	fd = open(script, O_WRONLY | O_CREAT, 0700);
	EXPECT(fd >= 0 && write(fd, "exit 0\n", 7) == 7);
	close(fd);
	EXPECT(try(script) == ENOEXEC);
	setenv("PATH", directory, 1);
	EXPECT(try("text") == ENOEXEC);
	EXPECT(unlink(script) == 0);
}

static void test_no_start(void **state)
{
	(void)state;
	in_process(fail_to_start);
}

static void search(void)
{
	char *argv[] = { "true", NULL };

	setenv("PATH", "/no/such/directory::/dev/null:/usr/bin:/bin", 1);
	ended_with = -1;
	EXPECT(child_start(&child, argv, environ) == 0);
	wait_for_end();
	EXPECT(ended_with == 0);
}

static void test_search(void **state)
{
	(void)state;
	in_process(search);
}

static void stop_gently(void)
{
	EXPECT(start("trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done") == 0);
	while (child.lines == 0)
		reactor_turn(-1);
	child_stop(&child);
	wait_for_end();
	EXPECT(WIFEXITED(ended_with) && WEXITSTATUS(ended_with) == 5);
}

static void stop_firmly(void)
{
	EXPECT(start("trap '' TERM; echo ready; while :; do sleep 0.05; done") == 0);
	while (child.lines == 0)
		reactor_turn(-1);
	child_stop(&child);
	wait_for_end();
	EXPECT(WIFSIGNALED(ended_with) && WTERMSIG(ended_with) == SIGKILL);
}

/* One that ends when asked, and says so; and one that does not. */
static void stop_all(void)
{
	static struct child other = { .name = "other", .ended = ended };
	char *argv[] = { "/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done",
			 NULL };

	EXPECT(start("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done") ==
	       0);
	EXPECT(child_start(&other, argv, environ) == 0);
	while (child.lines == 0 || other.lines == 0)
		reactor_turn(-1);
	reactor_close();
	child_stop_all();
	EXPECT(child.pid == 0 && other.pid == 0 && ended_with == -1);
}

static void test_stop(void **state)
{
	(void)state;
	in_process(stop_gently);
	in_process(stop_firmly);
	in_process(stop_all);
	assert_non_null(strstr(said, "kid: bye\n"));
}

/* A descriptor that ends when nobody holds `fd`'s other end any more. */
static void expect_end(int fd)
{
	char byte;

	EXPECT(read(fd, &byte, 1) == 0);
}

/* Its parent is killed: so is it. Who holds the pipe is the child alone. */
static void survive_nobody(void)
{
	int alive[2];
	pid_t parent;

	EXPECT(pipe(alive) == 0);
	parent = fork();
	if (parent == 0) {
		close(alive[0]);
		EXPECT(start("echo ready; exec sleep 1000") == 0);
		while (child.lines == 0)
			reactor_turn(-1);
		kill(getpid(), SIGKILL);
	}
	close(alive[1]);
	expect_end(alive[0]);
}

/* Its parent exits at once, as by die(). */
static void leave_nobody(void)
{
	int alive[2];

	EXPECT(pipe(alive) == 0);
	if (fork() == 0) {
		close(alive[0]);
		EXPECT(start("sleep 1000 & wait") == 0);
		exit(255);
	}
	close(alive[1]);
	expect_end(alive[0]);
}

/* It ends, and whom it started ends with it. */
static void end_group(void)
{
	int alive[2];

	EXPECT(pipe(alive) == 0);
	EXPECT(start("sleep 1000 & exit 0") == 0);
	close(alive[1]);
	wait_for_end();
	expect_end(alive[0]);
}

static void test_nobody_is_left(void **state)
{
	(void)state;
	in_process(survive_nobody);
	in_process(leave_nobody);
	in_process(end_group);
}

static void test_verdict(void **state)
{
	char text[64];

	(void)state;
	assert_string_equal(child_verdict(3 << 8, text, sizeof(text)), "ended with status 3");
	assert_string_equal(child_verdict(SIGKILL, text, sizeof(text)), "was killed by signal 9");
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output),	 cmocka_unit_test(test_chatter),
		cmocka_unit_test(test_no_start), cmocka_unit_test(test_search),
		cmocka_unit_test(test_stop),	 cmocka_unit_test(test_nobody_is_left),
		cmocka_unit_test(test_verdict),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
