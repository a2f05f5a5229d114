/*
 * The reactor's timers and clock, and the life of its loop: stop, signals, children.
 */
#include "core/reactor.h"

#include "tests/core/owners.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static void test_timers(void **state)
{
	struct owner *a = owner_new(), *b = owner_new(), *never = owner_new();
	uint64_t began = clock_ms();

	(void)state;
	reactor_turn(0);
	reactor_after(&a->timer, 20);
	reactor_after(&b->timer, 40);
	reactor_after(&never->timer, UINT64_MAX); /* for ever */
	reactor_turn(-1);
	while (a->fires == 0)
		reactor_turn(-1); /* sleeps until a timer, with no source at all */
	assert_true(clock_ms() - began >= 20);
	assert_true(b->fires == 0 || clock_ms() - began >= 40); /* the machine may be slow */
	assert_true(clock_ms() - reactor_now() < 10000);

	int fires = b->fires;
	reactor_after(&b->timer, 20);
	reactor_cancel(&b->timer);
	reactor_after(&a->timer, 10000);
	reactor_after(&a->timer, 5); /* moved, not added */
	while (a->fires == 1)
		reactor_turn(-1);
	for (began = clock_ms(); clock_ms() - began < 50;)
		reactor_turn(50); /* nothing comes */
	assert_int_equal(a->fires, 2);
	assert_int_equal(b->fires, fires);
	assert_int_equal(never->fires, 0);
	owner_close(a);
	owner_close(b);
	owner_close(never);
	reactor_turn(0);
	assert_int_equal(buried, 3);
}

/* A far timer does not make a turn longer than asked, nor a near one later. */
static void test_turn_length(void **state)
{
	struct owner *o = owner_new();

	(void)state;
	reactor_after(&o->timer, UINT64_C(1) << 40); /* more milliseconds than an int has */
	uint64_t began = clock_ms();
	reactor_turn(20);
	assert_true(clock_ms() - began < 20000);
	reactor_after(&o->timer, 20);
	began = clock_ms();
	while (o->fires == 0)
		reactor_turn(60000);
	assert_true(clock_ms() - began < 20000);
	owner_close(o);
	reactor_turn(0);
}

static void again_twice(struct owner *o)
{
	if (o->fires < 3)
		reactor_after(&o->timer, 5);
}

static void test_timer_again(void **state)
{
	struct owner *o = owner_new();

	(void)state;
	reactor_turn(0);
	uint64_t began = reactor_now();
	o->then = again_twice;
	reactor_after(&o->timer, 5);
	until(o->fires == 3);
	assert_true(reactor_now() - began >= 15);
	assert_false(timer_pending(&o->timer));
	owner_close(o);
	reactor_turn(0);
}

/* A timer closes sources whose events lie in the same turn. */
static void test_timer_forgets_woken(void **state)
{
	struct owner *a = owner_pair(), *b = owner_new();

	(void)state;
	b->then = close_other;
	b->other = a;
	a->other = b;
	reactor_after(&b->timer, 1);
	while (clock_ms() <= reactor_now() + 1)
		; /* so that both are due in the next turn */
	say(a->peer, "x");
	reactor_turn(0);
	assert_int_equal(b->fires, 1);
	assert_int_equal(buried, 1);
	owner_close(b);
	reactor_turn(0);
}

static uint64_t now_in_wake;

static void look_at_clock(struct owner *o)
{
	(void)o;
	now_in_wake = reactor_now();
	for (uint64_t end = clock_ms() + 3; clock_ms() < end;)
		;
	assert_true(reactor_now() == now_in_wake); /* one time for all in a turn */
}

static void test_clock(void **state)
{
	struct owner *o = owner_pair();

	(void)state;
	o->then = look_at_clock;
	while (clock_ms() <= reactor_now() + 1)
		; /* so that it shows if the woken see the time of an earlier turn */
	uint64_t before = clock_ms();
	say(o->peer, "x");
	until(o->wakes == 1);
	assert_true(now_in_wake >= before && now_in_wake <= clock_ms());
	owner_close(o);
	reactor_turn(0);
}

/* --- the life of the loop */

static void stop(struct owner *o)
{
	(void)o;
	reactor_stop();
}

static void stop_and_close(struct owner *o)
{
	reactor_stop();
	owner_close(o);
}

static void test_stop(void **state)
{
	struct owner *a = owner_pair(), *b = owner_pair(), *t = owner_new();

	(void)state;
	reactor_stop();
	reactor_run(); /* returns at once, once */
	a->then = stop_and_close;
	say(a->peer, "x");
	reactor_again(&a->source);
	reactor_again(&b->source);
	reactor_run();
	assert_int_equal(b->wakes, 1); /* the turn was ended properly */
	assert_int_equal(buried, 1);
	t->then = stop;
	reactor_after(&t->timer, 10);
	reactor_run(); /* runs again */
	assert_int_equal(t->fires, 1);
	owner_close(b);
	owner_close(t);
	reactor_turn(0);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

/* A signal ends a turn that waits for ever, and is no event. */
static void test_signal(void **state)
{
	struct sigaction action = { .sa_handler = on_alarm }, old;
	struct itimerval soon = { .it_value = { .tv_usec = 20000 },
				  .it_interval = { .tv_usec = 20000 } };
	struct owner *o = owner_pair();

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	reactor_turn(-1);
	soon = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &soon, NULL);
	sigaction(SIGALRM, &old, NULL);
	assert_true(alarms > 0);
	assert_int_equal(o->wakes, 0);
	owner_close(o);
	reactor_turn(0);
}

/* A child that serves opens its own; neither sees the other's events. */
static void test_child(void **state)
{
	struct owner *o = owner_pair();
	int status;

	(void)state;
	reactor_again(&o->source);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (reactor_open() < 0)
			_exit(1);
		reactor_turn(0);
		if (o->wakes > 0) /* the parent's */
			_exit(2);
		struct owner *mine = owner_pair();
		say(mine->peer, "x");
		reactor_turn(1000);
		_exit(mine->wakes == 1 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	reactor_turn(0);
	assert_int_equal(o->wakes, 1);
	say(o->peer, "x");
	until(o->wakes == 2);
	owner_close(o);
	reactor_turn(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		reactor_test(test_descriptors_before),
		reactor_test(test_timers),
		reactor_test(test_turn_length),
		reactor_test(test_timer_again),
		reactor_test(test_timer_forgets_woken),
		reactor_test(test_clock),
		reactor_test(test_stop),
		reactor_test(test_signal),
		reactor_test(test_child),
		reactor_test(test_descriptors_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
