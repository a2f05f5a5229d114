/*
 * The reactor's timers and clock, and the life of its loop: stop, signals, children.
 */
#include "core/reactor.h"

#include "core/poller.h"
#include "tests/core/owners.h"

#include <signal.h>
#include <sys/resource.h>
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

/* Turns without limit until the timer has fired; the milliseconds that this took. */
static uint64_t sleep_until(struct owner *o, int fires)
{
	uint64_t began = clock_ms();

	while (o->fires < fires)
		reactor_turn(-1);
	return clock_ms() - began;
}

/* What is set for a far timer makes no near one late, nor does what was set for one that is gone. */
static void check_near_and_far(void)
{
	struct owner *near = owner_new(), *far = owner_new(), *o = owner_pair();
	uint64_t took;

	reactor_after(&far->timer, 20000);
	say(o->peer, "x");
	reactor_turn(-1);
	assert_int_equal(o->wakes, 1);
	for (int ms = 10; ms <= 160; ms *= 4) {
		reactor_after(&near->timer, (uint64_t)ms);
		took = sleep_until(near, near->fires + 1);
		assert_true(took + 1 >= (uint64_t)ms && took < 15000);
	}
	reactor_after(&near->timer, 40);
	say(o->peer, "x");
	reactor_turn(-1);
	reactor_after(&near->timer, 200);
	took = sleep_until(near, near->fires + 1);
	assert_true(took >= 199 && took < 15000);
	assert_int_equal(far->fires, 0);
	owner_close(near);
	owner_close(far);
	owner_close(o);
	reactor_turn(0);
}

static void test_near_and_far(void **state)
{
	(void)state;
	check_near_and_far();
}

/* When all descriptors are taken but the poller's own, which stays; where there are alarms. */
static void test_no_descriptor_for_an_alarm(void **state)
{
	struct rlimit old, tight;

	(void)state;
	reactor_close();
	int next = poller_alarm();
	if (next >= 0) {
		close(next);
		assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
		tight = (struct rlimit){ .rlim_cur = (rlim_t)next + 1, .rlim_max = old.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
		assert_int_equal(reactor_open(), 0);
		assert_int_equal(poller_alarm(), -1);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	} else {
		assert_int_equal(reactor_open(), 0);
	}
	check_near_and_far();
}

/* Milliseconds until the first alarm that is set rings; -1: there is none. */
static long alarm_rings_in(void)
{
	for (int fd = 0; fd < 64; fd++) {
		char path[64], text[512] = { 0 };
		long s, ns;

		snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
		FILE *file = fopen(path, "r");
		if (!file)
			continue;
		text[fread(text, 1, sizeof text - 1, file)] = 0;
		fclose(file);
		const char *value = strstr(text, "it_value: (");
		if (value && sscanf(value, "it_value: (%ld, %ld", &s, &ns) == 2 && s + ns > 0)
			return s * 1000 + ns / 1000000;
	}
	return -1;
}

/* Where there are alarms, one is set for what is far, and no second one for what is farther or near. */
static void test_alarm(void **state)
{
	struct owner *o = owner_pair();
	int alarm = poller_alarm();

	(void)state;
	reactor_after(&o->timer, 60000);
	say(o->peer, "x");
	reactor_turn(-1);
	long in = alarm_rings_in();
	if (alarm < 0) {
		assert_int_equal(in, -1);
	} else {
		assert_true(in > 0 && in <= 60000);
		reactor_after(&o->timer, 8);
		sleep_until(o, 1);
		assert_true(alarm_rings_in() <= in && alarm_rings_in() > 0);
		reactor_after(&o->timer, 600000);
		say(o->peer, "x");
		reactor_turn(-1);
		assert_true(alarm_rings_in() <= in);
		close(alarm);
	}
	owner_close(o);
	reactor_turn(0);
}

/* It rings no later than the timer is due, however long the turn took that wanted it. */
static void test_alarm_after_a_long_turn(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		reactor_close();
		assert_int_equal(reactor_open(), 0);

		struct owner *o = owner_pair();
		reactor_after(&o->timer, 3000);
		for (uint64_t began = clock_ms(); clock_ms() - began < 60;)
			; /* whatever it does */
		say(o->peer, "x");
		reactor_turn(-1);
		assert_true(alarm_rings_in() <= 3000 - 60);
		owner_close(o);
		reactor_turn(0);
	}
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
		reactor_test(test_near_and_far),
		reactor_test(test_no_descriptor_for_an_alarm),
		reactor_test(test_alarm),
		reactor_test(test_alarm_after_a_long_turn),
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
