/*
 * Workers that are forked, killed, replaced, signalled and ended. Everything is done in a child,
 * which is the main process; what its workers do is counted in shared memory.
 */
#include "core/workers.h"

#include "core/log.h"
#include "core/shared.h"
#include "tests/emulator.h"
#include "tests/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PLACES = 3, PATIENCE = 800 /* ms until one that does not end is killed */ };

static struct board {
	atomic_int begun[PLACES], reloads, reports, ends, leaves;
	atomic_int pids[PLACES];
	atomic_bool stubborn, fails;
} * board;

static struct workers workers;

#define EXPECT(truth)                                                                          \
	do {                                                                                   \
		if (!(truth)) {                                                                \
			dprintf(STDERR_FILENO, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #truth, \
				strerror(errno));                                              \
			_exit(99);                                                             \
		}                                                                              \
	} while (0)

static void count_reload(void)
{
	board->reloads++;
}

static void count_report(void)
{
	board->reports++;
}

static void on_stop(void)
{
	workers_stop(&workers);
}

static void on_child(pid_t pid, int status)
{
	EXPECT(workers_reap(&workers, pid, status));
}

static int serve(void *own, unsigned place)
{
	EXPECT(own == board && place < PLACES);
	board->pids[place] = (int)getpid();
	board->begun[place]++;
	if (board->fails)
		return 3;
	reactor_run();
	while (board->stubborn)
		pause();
	board->ends++;
	return 0;
}

static void leave(void *own)
{
	EXPECT(own == board);
	board->leaves++;
}

/* Three workers that serve. */
static void begin(void)
{
	static const struct process_calls main_calls = { .stop = on_stop, .child = on_child };
	static const struct process_calls calls = { .reload = count_reload,
						    .report = count_report };

	board = shared_map(sizeof *board);
	EXPECT(board);
	log_open("test", false, false);
	EXPECT(reactor_open() == 0);
	process_signals(&main_calls);
	workers = (struct workers){
		.count = PLACES, .signals = &calls, .leave = leave, .serve = serve, .own = board
	};
	workers_start(&workers);
	for (unsigned i = 0; i < PLACES; i++)
		while (board->begun[i] == 0)
			reactor_turn(1);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Stop, and see that nobody is left; the ms that this took. */
static uint64_t end(void)
{
	uint64_t began = now_ms();

	raise(SIGTERM);
	reactor_run();
	EXPECT(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	return now_ms() - began;
}

/* The same, and all have ended in their own way: unless the machine was so slow that they were killed. */
static void end_in_their_own_way(void)
{
	uint64_t took = end();

	EXPECT(board->ends == PLACES || took >= PATIENCE);
}

static void expect_success(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(300);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Each in its place; signals reach all; all end in their own way. */
static void life(void)
{
	begin();
	EXPECT(board->leaves == PLACES);
	while (board->reloads < PLACES) { /* a signal may come before the one who is to hear it */
		workers_signal(&workers, SIGHUP);
		reactor_turn(5);
	}
	EXPECT(workers_signal(&workers, SIGUSR1) == PLACES);
	while (board->reports < PLACES)
		reactor_turn(1);
	end_in_their_own_way();
}

static void they_serve_and_end(void **unused)
{
	(void)unused;
	expect_success(life);
}

/* The first time at once, then after a while that grows. */
static void killed(void)
{
	uint64_t began;

	begin();
	EXPECT(kill(board->pids[1], SIGKILL) == 0);
	while (board->begun[1] < 2)
		reactor_turn(5);
	began = now_ms();
	for (int i = 2; i < 5; i++) {
		EXPECT(kill(board->pids[1], SIGKILL) == 0);
		while (board->begun[1] == i)
			reactor_turn(5);
	}
	EXPECT(now_ms() - began >= 100 + 200 + 400);
	EXPECT(board->begun[0] == 1 && board->begun[2] == 1);
	end_in_their_own_way();
}

static void one_that_is_killed_is_replaced(void **unused)
{
	(void)unused;
	expect_success(killed);
}

/* Also one that goes by itself, again and again; to stop does not wait for the next one. */
static void failing(void)
{
	begin();
	board->fails = true;
	for (int i = 0; i < PLACES; i++)
		EXPECT(kill(board->pids[i], SIGTERM) == 0);
	while (board->begun[0] < 4)
		reactor_turn(5);
	EXPECT(workers.all[0].failed >= 3);
	end();
	EXPECT(board->begun[0] < 20);
}

static void one_that_fails_does_not_spin(void **unused)
{
	(void)unused;
	expect_success(failing);
}

static void slow(void)
{
	begin();
	board->stubborn = true;
	end();
	EXPECT(board->ends == 0);
}

static void whoever_does_not_end_is_killed(void **unused)
{
	(void)unused;
	expect_success(slow);
}

/* The main process is killed: its workers come to us, and end. */
static void orphans(void)
{
	int ends[2], status;
	char byte;
	pid_t pid;

	EXPECT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
	EXPECT(pipe(ends) == 0);
	pid = fork();
	EXPECT(pid >= 0);
	if (pid == 0) {
		close(ends[0]);
		begin();
		EXPECT(write(ends[1], "", 1) == 1);
		for (;;)
			reactor_turn(-1);
	}
	close(ends[1]);
	EXPECT(read(ends[0], &byte, 1) == 1);
	EXPECT(kill(pid, SIGKILL) == 0);
	EXPECT(read(ends[0], &byte, 1) == 0); /* nobody has the other end any more */
	for (int i = 0; i < 1 + PLACES; i++) {
		pid_t ended = waitpid(-1, &status, 0);

		EXPECT(ended > 0 && (ended == pid || status == 0));
	}
}

static void they_do_not_outlive_the_main_process(void **unused)
{
	needs("subreaper");
	(void)unused;
	expect_success(orphans);
}

static void strangers_are_not_workers(void **unused)
{
	struct workers none = { .count = 2 };

	(void)unused;
	assert_false(workers_reap(&none, 1, 0));
	assert_int_equal(workers_signal(&none, SIGUSR1), 0);
	assert_in_range(processors_allowed(), 1, 1 << 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_serve_and_end),
		cmocka_unit_test(one_that_is_killed_is_replaced),
		cmocka_unit_test(one_that_fails_does_not_spin),
		cmocka_unit_test(whoever_does_not_end_is_killed),
		cmocka_unit_test(they_do_not_outlive_the_main_process),
		cmocka_unit_test(strangers_are_not_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
