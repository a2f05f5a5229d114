/*
 * The timer wheel against a model that keeps all timers in an array and looks at each, and the
 * corners one by one: level boundaries, the past, the far future, fire functions that meddle.
 */
#include "core/timer.h"

#include "tests/unit.h"

static struct wheel wheel;

static uint64_t random_state;

static uint64_t random64(void) /* xorshift: the same numbers on every machine */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t below(uint64_t n)
{
	return random64() % n;
}

/* --- the model: `armed` timers fire at `due` exactly */

enum { TIMERS = 150 };

static struct modelled {
	struct timer timer;
	bool armed;
	uint64_t due;
} model[TIMERS];

static unsigned long fired;

/* Times of all magnitudes, and close to where digits of any base 2^n roll over. */
static uint64_t random_due(uint64_t now)
{
	uint64_t step = UINT64_C(1) << below(46);

	switch (below(4)) {
	case 0:
		return now + below(200);
	case 1:
		return now + below(step);
	case 2: /* just before, at or after a boundary */
		return (now / step + 1) * step + below(3) - 1;
	default:
		return now - below(now < 1000 ? now + 1 : 1000);
	}
}

static void model_set(struct modelled *m)
{
	uint64_t due = random_due(wheel.now);

	m->armed = true;
	m->due = due > wheel.now ? due : wheel.now + 1;
	wheel_set(&wheel, &m->timer, due);
	assert_true(timer_pending(&m->timer));
}

static void model_cancel(struct modelled *m)
{
	m->armed = false;
	wheel_cancel(&m->timer);
	assert_false(timer_pending(&m->timer));
}

static void model_fire(struct timer *timer)
{
	struct modelled *m = container_of(timer, struct modelled, timer);

	assert_true(m->armed);
	assert_false(timer_pending(timer));
	assert_true(m->due == wheel.now);
	m->armed = false;
	fired++;
	switch (below(8)) {
	case 0:
		model_set(m);
		break;
	case 1:
		model_set(&model[below(TIMERS)]);
		break;
	case 2:
		model_cancel(&model[below(TIMERS)]);
		break;
	}
}

/* The earliest due time; UINT64_MAX if nothing is armed. */
static uint64_t model_earliest(void)
{
	uint64_t earliest = UINT64_MAX;

	for (int i = 0; i < TIMERS; i++)
		if (model[i].armed && model[i].due < earliest)
			earliest = model[i].due;
	return earliest;
}

static void model_check(void)
{
	uint64_t earliest = model_earliest();
	int64_t wait = wheel_wait(&wheel);

	for (int i = 0; i < TIMERS; i++)
		assert_true(timer_pending(&model[i].timer) == model[i].armed);
	if (earliest == UINT64_MAX)
		return;
	assert_true(earliest > wheel.now); /* otherwise it was missed */
	assert_true(wait > 0);
	assert_true((uint64_t)wait <= earliest - wheel.now);
}

static uint64_t random_step(void)
{
	uint64_t earliest = model_earliest();

	switch (below(4)) {
	case 0:
		return below(100);
	case 1: /* as long as the wheel says */
		return wheel_wait(&wheel) < 0 ? 0 : (uint64_t)wheel_wait(&wheel);
	case 2: /* to the next timer, or one millisecond beside it */
		return earliest < UINT64_MAX ? earliest - wheel.now + below(3) - 1 : 0;
	default:
		return below(UINT64_C(1) << below(44));
	}
}

static void model_run(uint64_t start)
{
	wheel_init(&wheel, start);
	for (int i = 0; i < TIMERS; i++) {
		timer_init(&model[i].timer, model_fire);
		model[i].armed = false;
	}
	fired = 0;
	for (int round = 0; round < 6000; round++) {
		for (uint64_t n = below(4); n > 0; n--)
			model_set(&model[below(TIMERS)]);
		if (below(2))
			model_cancel(&model[below(TIMERS)]);
		model_check();

		uint64_t to = wheel.now + random_step();
		wheel_advance(&wheel, to);
		assert_true(wheel.now == to);
		model_check();
	}
	assert_true(fired > 5000);
}

static void test_model(void **state)
{
	static const uint64_t starts[] = {
		0,
		1,
		(UINT64_C(1) << 30) - 5,
		(UINT64_C(1) << 32) - 1000,
		(UINT64_C(1) << 36) - 1,
		(UINT64_C(1) << 42) - 5000, /* 139 years */
		(UINT64_C(1) << 42) * 7,
		(UINT64_C(1) << 60) - 60000,
		(UINT64_C(1) << 63) - 1,
	};

	(void)state;
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		random_state = 0x9e3779b97f4a7c15 + i;
		model_run(starts[i]);
	}
}

/* --- corners */

struct probe {
	struct timer timer;
	uint64_t at; /* when it fired last */
	int times;
	struct probe *other;
};

static void note(struct timer *timer)
{
	struct probe *p = container_of(timer, struct probe, timer);

	p->at = wheel.now;
	p->times++;
}

static void probe_init(struct probe *p, void (*fire)(struct timer *))
{
	*p = (struct probe){ 0 };
	timer_init(&p->timer, fire);
}

/* Sleeping as long as the wheel says, from any level, ends at the due time and takes few wake-ups. */
static void check_exact(uint64_t start, uint64_t due)
{
	struct probe p;
	int wakes = 0;

	wheel_init(&wheel, start);
	probe_init(&p, note);
	wheel_set(&wheel, &p.timer, due);
	while (p.times == 0) {
		int64_t wait = wheel_wait(&wheel);

		assert_true(wait > 0);
		assert_true(++wakes <= WHEEL_LEVELS + 1);
		wheel_advance(&wheel, wheel.now + (uint64_t)wait - 1);
		assert_int_equal(p.times, 0);
		wheel_advance(&wheel, wheel.now + 1);
	}
	assert_int_equal(p.times, 1);
	assert_true(p.at == due);
	assert_true(wheel_wait(&wheel) < 0);
}

static void test_boundaries(void **state)
{
	(void)state;
	for (unsigned bit = 1; bit < 63; bit++) {
		uint64_t power = UINT64_C(1) << bit;

		for (uint64_t back = 1; back <= 2 && back < power; back++)
			for (uint64_t off = 0; off < 3; off++)
				check_exact(power - back - 1, power + off - 1 + back / 2);
		check_exact(0, power);
		check_exact(power, power * 2);
		check_exact(power - 1, power * 2 - 1);
		check_exact(3, power + 5);
	}
}

/* The whole range of the clock: nothing is lost, early or late. */
static void test_far_future(void **state)
{
	struct probe near, far, never;

	(void)state;
	wheel_init(&wheel, 1000);
	probe_init(&near, note);
	probe_init(&far, note);
	probe_init(&never, note);
	wheel_set(&wheel, &never.timer, UINT64_MAX);
	assert_true(wheel_wait(&wheel) > 0); /* fits, and is not "for ever" */
	wheel_set(&wheel, &far.timer, UINT64_C(5) << 44);
	wheel_set(&wheel, &near.timer, 1500);
	wheel_advance(&wheel, UINT64_C(1) << 43);
	assert_true(near.at == 1500);
	assert_int_equal(far.times, 0);
	wheel_advance(&wheel, (UINT64_C(5) << 44) - 1);
	assert_int_equal(far.times, 0);
	wheel_advance(&wheel, UINT64_C(6) << 44);
	assert_true(far.at == UINT64_C(5) << 44);
	assert_int_equal(never.times, 0);
	assert_true(timer_pending(&never.timer));
	wheel_advance(&wheel, UINT64_MAX);
	assert_int_equal(never.times, 1);
}

static void test_past(void **state)
{
	struct probe p;

	(void)state;
	wheel_init(&wheel, 5000);
	probe_init(&p, note);
	for (uint64_t due = 0; due <= 5000; due += 1000) {
		wheel_init(&wheel, 5000);
		wheel_set(&wheel, &p.timer, due);
		assert_true(wheel_wait(&wheel) == 1);
		wheel_advance(&wheel, 5000);
		wheel_advance(&wheel, 4000); /* time never runs backwards */
		assert_true(wheel.now == 5000);
		p.times = 0;
		wheel_advance(&wheel, 9000);
		assert_int_equal(p.times, 1);
		assert_true(p.at == 5001);
	}
}

static void test_move_and_cancel(void **state)
{
	struct probe p;

	(void)state;
	wheel_init(&wheel, 0);
	probe_init(&p, note);
	assert_false(timer_pending(&p.timer));
	wheel_cancel(&p.timer); /* never set */
	wheel_set(&wheel, &p.timer, 10);
	wheel_set(&wheel, &p.timer, 100000);
	wheel_advance(&wheel, 99999);
	assert_int_equal(p.times, 0);
	wheel_set(&wheel, &p.timer, 100001);
	wheel_set(&wheel, &p.timer, 100000);
	wheel_advance(&wheel, 200000);
	assert_int_equal(p.times, 1);
	assert_true(p.at == 100000);
	wheel_set(&wheel, &p.timer, 200010);
	wheel_cancel(&p.timer);
	wheel_cancel(&p.timer);
	assert_false(timer_pending(&p.timer));
	wheel_advance(&wheel, 300000);
	assert_int_equal(p.times, 1);
	assert_true(wheel_wait(&wheel) == -1);
}

/* In one step over everything, earlier ones fire first. */
static uint64_t last_due;

static void in_order(struct timer *timer)
{
	struct probe *p = container_of(timer, struct probe, timer);

	assert_true(timer->due >= last_due);
	last_due = timer->due;
	p->times++;
}

static void test_order(void **state)
{
	static struct probe many[2000];

	(void)state;
	random_state = 42;
	wheel_init(&wheel, 12345);
	for (int i = 0; i < 2000; i++) {
		probe_init(&many[i], in_order);
		wheel_set(&wheel, &many[i].timer, 12345 + below(UINT64_C(1) << below(40)));
	}
	last_due = 0;
	wheel_advance(&wheel, UINT64_C(1) << 41);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(many[i].times, 1);
}

static void cancel_other(struct timer *timer)
{
	struct probe *p = container_of(timer, struct probe, timer);

	note(timer);
	wheel_cancel(&p->other->timer);
}

/* Of two that are due in the same millisecond and cancel each other, one fires. */
static void test_cancel_follower(void **state)
{
	struct probe a, b, c;

	(void)state;
	wheel_init(&wheel, 0);
	probe_init(&a, cancel_other);
	probe_init(&b, cancel_other);
	probe_init(&c, note);
	a.other = &b;
	b.other = &a;
	wheel_set(&wheel, &a.timer, 777);
	wheel_set(&wheel, &b.timer, 777);
	wheel_set(&wheel, &c.timer, 777);
	wheel_advance(&wheel, 1000);
	assert_int_equal(a.times + b.times, 1);
	assert_int_equal(c.times, 1);
	assert_false(timer_pending(&a.timer) || timer_pending(&b.timer));
}

static void delay_other(struct timer *timer)
{
	struct probe *p = container_of(timer, struct probe, timer);

	note(timer);
	if (p->other->times == 0)
		wheel_set(&wheel, &p->other->timer, wheel.now + 5000);
}

static void test_move_follower(void **state)
{
	struct probe a, b;

	(void)state;
	wheel_init(&wheel, 0);
	probe_init(&a, delay_other);
	probe_init(&b, delay_other);
	a.other = &b;
	b.other = &a;
	wheel_set(&wheel, &a.timer, 777);
	wheel_set(&wheel, &b.timer, 777);
	wheel_advance(&wheel, 10000);
	assert_int_equal(a.times, 1);
	assert_int_equal(b.times, 1);
	assert_true(a.at + b.at == 777 + 5777);
}

static void set_for_the_past(struct timer *timer)
{
	note(timer);
	wheel_set(&wheel, timer, 0);
}

static void every_100(struct timer *timer)
{
	note(timer);
	wheel_set(&wheel, timer, wheel.now + 100);
}

/* A timer that always sets itself does so once for each step of time, and ends. */
static void test_set_again(void **state)
{
	struct probe eager, steady;

	(void)state;
	wheel_init(&wheel, 0);
	probe_init(&eager, set_for_the_past);
	probe_init(&steady, every_100);
	wheel_set(&wheel, &eager.timer, 1);
	wheel_set(&wheel, &steady.timer, 100);
	wheel_advance(&wheel, 1000);
	assert_int_equal(eager.times, 1000);
	assert_int_equal(steady.times, 10);
	assert_true(wheel_wait(&wheel) == 1);
	wheel_advance(&wheel, 1001);
	assert_int_equal(eager.times, 1001);
}

static int freed;

static void free_owner(struct timer *timer)
{
	free(container_of(timer, struct probe, timer));
	freed++;
}

/* A fired timer is not looked at again: its owner may be gone. */
static void test_free_owner(void **state)
{
	(void)state;
	wheel_init(&wheel, 0);
	freed = 0;
	for (int i = 0; i < 100; i++) {
		struct probe *p = malloc(sizeof *p);

		assert_non_null(p);
		probe_init(p, free_owner);
		wheel_set(&wheel, &p->timer, (uint64_t)(i / 10) * 1000 + 10);
	}
	wheel_advance(&wheel, 9009);
	assert_int_equal(freed, 90);
	wheel_advance(&wheel, 9010);
	assert_int_equal(freed, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),		cmocka_unit_test(test_boundaries),
		cmocka_unit_test(test_far_future),	cmocka_unit_test(test_past),
		cmocka_unit_test(test_move_and_cancel), cmocka_unit_test(test_order),
		cmocka_unit_test(test_cancel_follower), cmocka_unit_test(test_move_follower),
		cmocka_unit_test(test_set_again),	cmocka_unit_test(test_free_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
