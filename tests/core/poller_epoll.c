/*
 * What is special about epoll: it watches what is open behind a descriptor, which lives on when a
 * child, be it between fork and exec, has a copy; and it tells of urgent data, apart from an end.
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

/* Behind an end there is nothing; before it there may be urgent data, where a read ends short, too. */
static void test_last(void **state)
{
	struct owner *plain = owner_tcp(), *urgent = owner_tcp(), *gone = owner_tcp();
	struct linger now = { .l_onoff = 1 };

	(void)state;
	say(plain->peer, "words");
	until(plain->source.ready & READY_IN);
	assert_int_equal(plain->source.ready, READY_IN | READY_OUT);
	shutdown(plain->peer, SHUT_WR);
	until(plain->source.ready & READY_EOF);
	assert_int_equal(plain->source.ready, READY_IN | READY_OUT | READY_EOF | READY_LAST);

	assert_int_equal(send(urgent->peer, "!", 1, MSG_OOB), 1);
	say(urgent->peer, "words");
	shutdown(urgent->peer, SHUT_WR);
	until(urgent->source.ready & READY_EOF);
	for (int turn = 0; turn < 3; turn++)
		reactor_turn(0);
	assert_int_equal(urgent->source.ready, READY_IN | READY_OUT | READY_EOF | READY_URGENT);

	shutdown(plain->source.fd, SHUT_WR); /* both have ended: no failure */
	plain->source.ready = 0;
	until(plain->source.ready & READY_EOF);
	assert_true(plain->source.ready & READY_LAST);

	assert_int_equal(setsockopt(gone->peer, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
	close(gone->peer);
	gone->peer = -1;
	until(gone->source.ready & READY_ERROR);
	assert_false(gone->source.ready & READY_LAST);
	owner_close(plain);
	owner_close(urgent);
	owner_close(gone);
	reactor_turn(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		reactor_test(test_descriptors_before),
		reactor_test(test_forgotten_copy),
		reactor_test(test_moved_copy),
		reactor_test(test_nothing_urgent),
		reactor_test(test_last),
		reactor_test(test_descriptors_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
