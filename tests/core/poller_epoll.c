/*
 * What is special about epoll: it watches what is open behind a descriptor, which lives on when a
 * child, be it between fork and exec, has a copy; and it tells of urgent data.
 */
#include "core/poller.h"

#include "tests/core/owners.h"

/* A forgotten source hears nothing more, though its descriptor was copied. */
static void test_forgotten_copy(void **state)
{
	struct owner *o = owner_pair();
	int copy = dup(o->source.fd);

	(void)state;
	assert_true(copy >= 0);
	reactor_forget(&o->source);
	o->source.ready = 0;
	say(o->peer, "x");
	for (int turn = 0; turn < 3; turn++)
		reactor_turn(0);
	assert_int_equal(o->wakes, 0);
	assert_int_equal(o->source.ready, 0);
	assert_false(o->source.queued);

	owner_close(o);
	reactor_turn(0);
	assert_int_equal(buried, 1);
	close(copy);
	reactor_turn(0); /* the last copy goes: no event for the dead */
}

/* Nor does the one that has given its descriptor away. */
static void test_moved_copy(void **state)
{
	struct owner *a = owner_pair(), *b = owner_new();
	int copy = dup(a->source.fd);

	(void)state;
	assert_true(copy >= 0);
	assert_int_equal(reactor_move(&a->source, &b->source, woken), 0);
	b->peer = a->peer;
	a->peer = -1;
	owner_close(a);
	reactor_turn(0);
	assert_int_equal(buried, 1);
	say(b->peer, "x");
	until(b->source.ready & READY_IN);
	owner_close(b);
	close(copy);
	reactor_turn(0);
}

/* Without urgent data a short read is proof enough, and saves another. */
static void test_nothing_urgent(void **state)
{
	struct owner *o = owner_pair();

	(void)state;
	say(o->peer, "x");
	until(o->source.ready & READY_IN);
	assert_int_equal(o->source.ready, READY_IN | READY_OUT);
	owner_close(o);
	reactor_turn(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		reactor_test(test_descriptors_before), reactor_test(test_forgotten_copy),
		reactor_test(test_moved_copy),	       reactor_test(test_nothing_urgent),
		reactor_test(test_descriptors_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
