/*
 * The reactor's queue of the woken: who is woken when, closing and burying at every moment, and many
 * sources at once.
 */
#include "core/reactor.h"

#include "tests/core/owners.h"

#include <sys/resource.h>

static void close_self(struct owner *o)
{
	owner_close(o);
}

static void ask_again(struct owner *o)
{
	reactor_again(&o->source);
	reactor_again(&o->source); /* twice is once */
}

/* One that always has more to do is woken once a turn, without waiting, and others are, too. */
static void test_again_starves_nobody(void **state)
{
	struct owner *busy = owner_pair(), *other = owner_pair();

	(void)state;
	busy->then = ask_again;
	reactor_again(&busy->source);
	for (int turn = 1; turn <= 300; turn++) {
		say(other->peer, "x");
		reactor_turn(-1);
		assert_int_equal(busy->wakes, turn);
		assert_int_equal(other->wakes, turn);
		assert_int_equal(read_all(&other->source, NULL), 1);
	}
	busy->then = NULL;
	reactor_turn(-1);
	assert_int_equal(busy->wakes, 301);
	reactor_turn(0);
	assert_int_equal(busy->wakes, 301);
	owner_close(busy);
	owner_close(other);
	reactor_turn(0);
}

static void again_other(struct owner *o)
{
	reactor_again(&o->other->source);
}

/* Two that queue each other go on, one turn after the other. */
static void test_again_each_other(void **state)
{
	struct owner *a = owner_pair(), *b = owner_pair();

	(void)state;
	a->then = b->then = again_other;
	a->other = b;
	b->other = a;
	reactor_again(&a->source);
	for (int turn = 1; turn <= 100; turn++) {
		reactor_turn(-1);
		assert_int_equal(a->wakes + b->wakes, turn);
	}
	a->then = b->then = NULL;
	owner_close(a);
	owner_close(b);
	reactor_turn(0);
	assert_int_equal(buried, 2);
}

static void test_forget_queued(void **state)
{
	struct owner *a = owner_pair(), *b = owner_pair(), *c = owner_pair();
	int fd = b->source.fd;

	(void)state;
	reactor_again(&a->source);
	reactor_again(&b->source);
	reactor_again(&c->source);
	owner_close(b);
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* closed at once */
	assert_int_equal(buried, 0);
	reactor_turn(0);
	assert_int_equal(buried, 1);
	assert_int_equal(a->wakes, 1);
	assert_int_equal(c->wakes, 1);

	/* the last in the queue, and the only one */
	reactor_again(&a->source);
	reactor_again(&c->source);
	owner_close(c);
	reactor_turn(0);
	assert_int_equal(a->wakes, 2);
	reactor_again(&a->source);
	owner_close(a);
	reactor_turn(0);
	assert_int_equal(buried, 3);
	reactor_turn(0);
}

static void again_and_close(struct owner *o)
{
	reactor_again(&o->source); /* in the queue of the next turn, when it is buried */
	owner_close(o);
}

static void test_forget_in_own_wake(void **state)
{
	struct owner *a = owner_pair(), *b = owner_pair(), *c = owner_pair();

	(void)state;
	a->then = close_self;
	c->then = again_and_close;
	say(a->peer, "x");
	say(b->peer, "x");
	say(c->peer, "x");
	until(buried == 2);
	assert_int_equal(b->wakes, 1);
	reactor_again(&b->source); /* the queue is whole */
	reactor_turn(0);
	assert_int_equal(b->wakes, 2);
	owner_close(b);
	reactor_turn(0);
}

/* Both are in one batch of events, and whoever is woken first closes the other. */
static void test_forget_other_in_batch(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct owner *a = owner_pair(), *b = owner_pair(), *c = owner_pair();

		buried = 0;
		a->then = b->then = close_other;
		a->other = b;
		b->other = a;
		say(i ? a->peer : b->peer, "x");
		say(i ? b->peer : a->peer, "x");
		say(c->peer, "x");
		reactor_turn(1000);
		assert_int_equal(buried, 1);
		assert_int_equal(c->wakes, 1);
		assert_int_equal(survivor->wakes, 1);
		owner_close(survivor);
		owner_close(c);
		reactor_turn(0);
		assert_int_equal(buried, 3);
	}
}

static void replace_other(struct owner *o)
{
	int fd[2];

	if (!o->other)
		return;
	/* Forgotten and watched again, with a new descriptor, which may well have the old number. */
	close(o->other->peer);
	reactor_forget(&o->other->source);
	make_pair(fd);
	o->other->peer = fd[1];
	assert_int_equal(reactor_watch(&o->other->source, fd[0], 0, woken), 0);
	survivor = o->other;
	o->other->other = NULL;
	o->other = NULL;
}

/* Events of the old descriptor do not show as readiness of the new one. */
static void test_watch_again_in_batch(void **state)
{
	struct owner *a = owner_pair(), *b = owner_pair();

	(void)state;
	survivor = NULL;
	a->then = b->then = replace_other;
	a->other = b;
	b->other = a;
	say(a->peer, "x");
	say(b->peer, "x");
	until(survivor);
	assert_false(survivor->source.ready & READY_IN);
	until(survivor->source.ready & READY_OUT);
	survivor->wakes = 0;
	say(survivor->peer, "y");
	until(survivor->source.ready & READY_IN);
	assert_int_equal(survivor->wakes, 1);
	assert_int_equal(read_all(&survivor->source, NULL), 1);
	a->then = b->then = NULL;
	owner_close(a);
	owner_close(b);
	reactor_turn(0);
	assert_int_equal(buried, 2);
}

static void drop_other_and_close(struct owner *o)
{
	reactor_again(&o->other->source);
	reactor_forget(&o->other->source);
	owner_close(o);
}

/* Taken from the queue because of a burial, but not itself buried: it can be watched and woken again. */
static void test_watch_after_clearing(void **state)
{
	struct owner *a = owner_pair(), *b = owner_pair();
	int fd[2];

	(void)state;
	b->then = drop_other_and_close;
	b->other = a;
	reactor_again(&b->source);
	reactor_turn(0);
	assert_int_equal(buried, 1);
	assert_int_equal(a->wakes, 0);
	close(a->peer);
	make_pair(fd);
	a->peer = fd[1];
	assert_int_equal(reactor_watch(&a->source, fd[0], 0, woken), 0);
	until(a->wakes == 1);
	owner_close(a);
	reactor_turn(0);
}

/* A descriptor changes hands: what is known of it, and what happens to it later. */
static void test_move(void **state)
{
	struct owner *a = owner_pair(), *b = owner_new();

	(void)state;
	say(a->peer, "x");
	until(a->source.ready & READY_IN);
	a->wakes = 0;
	reactor_again(&a->source);
	int fd = a->source.fd;
	assert_int_equal(reactor_move(&a->source, &b->source, woken), 0);
	assert_int_equal(a->source.fd, -1);
	assert_int_equal(b->source.fd, fd);
	assert_int_equal(known(b), READY_IN | READY_OUT);
	b->peer = a->peer;
	a->peer = -1;
	owner_close(a); /* was in the queue; its descriptor is not closed */
	reactor_turn(0);
	assert_int_equal(buried, 1);
	assert_true(fcntl(fd, F_GETFD) >= 0);

	assert_int_equal(read_all(&b->source, NULL), 1);
	say(b->peer, "yz");
	until(b->source.ready & READY_IN);
	assert_int_equal(read_all(&b->source, NULL), 2);
	owner_close(b);
	reactor_turn(0);
	assert_int_equal(buried, 2);
}

/* --- burials */

static int buried_in_turn;

static void count_buried(struct owner *o)
{
	(void)o;
	buried_in_turn += buried;
}

static void close_and_count(struct owner *o)
{
	count_buried(o);
	owner_close(o);
}

/* Nobody is buried while anybody is still to be woken in this turn. */
static void test_burial_ends_turn(void **state)
{
	enum { N = 40 };
	struct owner *o[N], *timed = owner_new();

	(void)state;
	buried_in_turn = 0;
	for (int i = 0; i < N; i++) {
		o[i] = owner_pair();
		o[i]->then = i % 2 ? close_and_count : count_buried;
	}
	timed->then = close_and_count;
	reactor_after(&timed->timer, 0);
	for (int i = 0; i < N; i++)
		reactor_again(&o[i]->source);
	while (clock_ms() <= reactor_now() + 1)
		; /* so that the timer is due in the next turn */
	reactor_turn(0);
	assert_int_equal(buried_in_turn, 0);
	assert_int_equal(buried, N / 2 + 1);
	for (int i = 0; i < N; i += 2)
		owner_close(o[i]);
	reactor_turn(0);
	assert_int_equal(buried, N + 1);
}

static void bury_and_close_other(struct burial *burial)
{
	struct owner *o = container_of(burial, struct owner, burial);

	if (o->other)
		owner_close(o->other);
	bury(burial);
}

/* A burial that closes somebody else, who is queued: that one is buried, too, and leaves the queue. */
static void test_burial_of_queued_in_burial(void **state)
{
	struct owner *a = owner_pair(), *b = owner_pair(), *c = owner_pair();

	(void)state;
	a->burial.bury = bury_and_close_other;
	a->other = b;
	a->then = close_self;
	b->then = ask_again;
	c->then = ask_again;
	reactor_again(&b->source);
	reactor_again(&a->source);
	reactor_again(&c->source);
	until(buried == 2);
	reactor_turn(0);
	reactor_turn(0);
	assert_true(c->wakes >= 3);
	c->then = NULL;
	owner_close(c);
	reactor_turn(0);
	assert_int_equal(buried, 3);
}

/* --- many */

enum { MANY = 500 };

static void room_for_many(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < 2 * MANY + 100) {
		limit.rlim_cur = 2 * MANY + 100;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
}

/* More than one batch of events at once: each is told, once. */
static void test_many(void **state)
{
	static struct owner *many[MANY];

	(void)state;
	room_for_many();
	for (int i = 0; i < MANY; i++)
		many[i] = owner_pair();
	for (int i = 0; i < MANY; i++)
		many[i]->wakes = 0;
	for (int i = 0; i < MANY; i++)
		say(many[i]->peer, "x");
	for (int turn = 0; turn < 12; turn++)
		reactor_turn(0);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(many[i]->wakes, 1);
		assert_true(many[i]->source.ready & READY_IN);
		owner_close(many[i]);
	}
	reactor_turn(0);
	assert_int_equal(buried, MANY);
}

static uint32_t random_state;

static uint32_t below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)random_state * n >> 32);
}

static struct owner *crowd[MANY];

static void crowd_open(void (*act)(struct owner *))
{
	struct owner **free_place = &crowd[below(MANY)];
	int fd[2];

	if (*free_place)
		return;
	struct owner *o = *free_place = owner_new();
	make_pair(fd);
	o->peer = fd[1];
	o->then = act;
	assert_int_equal(reactor_watch(&o->source, fd[0], 0, woken), 0);
}

static unsigned crowd_closed;

static void crowd_close(struct owner **place)
{
	if (!*place)
		return;
	owner_close(*place);
	*place = NULL;
	crowd_closed++;
}

/* Anybody who is woken does something, to itself or to anybody. */
static void crowd_act(struct owner *o)
{
	struct owner **any = &crowd[below(MANY)];

	if (o->source.ready & READY_IN && below(2))
		read_all(&o->source, NULL);
	for (uint32_t n = below(3); n > 0; n--) {
		any = &crowd[below(MANY)];
		switch (below(8)) {
		case 0:
			crowd_close(any);
			break;
		case 1:
			crowd_open(crowd_act);
			break;
		case 2:
			if (*any)
				reactor_again(&(*any)->source);
			break;
		case 3:
			if (*any)
				reactor_after(&(*any)->timer, below(5));
			break;
		case 4:
			if (*any)
				reactor_cancel(&(*any)->timer);
			break;
		default:
			if (*any && write((*any)->peer, "x", 1) < 0)
				assert_int_equal(errno, EAGAIN);
		}
		if (o->dead) /* closed itself */
			return;
	}
}

static void test_crowd(void **state)
{
	(void)state;
	room_for_many();
	random_state = 7;
	crowd_closed = 0;
	for (int turn = 0; turn < 3000; turn++) {
		for (int i = 0; i < 10; i++)
			crowd_open(crowd_act);
		for (int i = 0; i < 20; i++) {
			struct owner *o = crowd[below(MANY)];

			if (o && write(o->peer, "x", 1) < 0)
				assert_int_equal(errno, EAGAIN);
		}
		reactor_turn(0);
		assert_int_equal(buried, crowd_closed);
	}
	assert_true(crowd_closed > 2000);
	for (int i = 0; i < MANY; i++)
		crowd_close(&crowd[i]);
	reactor_turn(0);
	assert_int_equal(buried, crowd_closed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		reactor_test(test_descriptors_before),
		reactor_test(test_again_starves_nobody),
		reactor_test(test_again_each_other),
		reactor_test(test_forget_queued),
		reactor_test(test_forget_in_own_wake),
		reactor_test(test_forget_other_in_batch),
		reactor_test(test_watch_again_in_batch),
		reactor_test(test_watch_after_clearing),
		reactor_test(test_move),
		reactor_test(test_burial_ends_turn),
		reactor_test(test_burial_of_queued_in_burial),
		reactor_test(test_many),
		reactor_test(test_crowd),
		reactor_test(test_descriptors_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
