/*
 * When there is not enough: blocks at the ceiling, waiting in order, holders that do not move.
 */
#include "net/engine.h"

#include "tests/net/world.h"

static unsigned char bytes[400000], plain[20000];

/* Takes all blocks but `left`. */
static struct chain take_blocks(uint32_t left)
{
	struct block_pool *pool = &world.engine.blocks;
	struct chain chain = { 0 };

	while (pool->max - pool->leased > left)
		assert_int_equal(chain_append(pool, &chain, bytes, BLOCK_ROOM), 0);
	return chain;
}

static void give_blocks(struct chain *chain)
{
	chain_return(&world.engine.blocks, chain);
	engine_serve_waiting(&world.engine, NULL);
}

/* Less than anybody can use is free: who waits sleeps, and goes on when there is more. */
static void test_ceiling_is_quiet(void **state)
{
	uint16_t target;
	int far;

	(void)state;
	for (uint32_t left = 0; left < ENGINE_SERVING + ENGINE_RESERVE; left++) {
		world_open((struct sizes){ .sessions = 8, .blocks = 16 });
		int listener = listen_small(&target, 0);
		struct peer *p = peer_relayed(listener, target, &far);
		struct chain all = take_blocks(left);

		put(p->fd, bytes, peer_chunk(p, "waits", 5, bytes));
		expect_silence(far);
		assert_false(list_empty(&world.engine.waiting));
		assert_true(is_quiet());
		give_blocks(&all);
		expect(far, "waits", 5);
		peer_free(p);
		close(far);
		world_rests();
		close(listener);
		world_close();
	}
}

/* First come, first served, and newcomers do not go before them. */
static void test_order(void **state)
{
	enum { WAITERS = 5 };
	struct peer *peers[WAITERS + 1];
	int fars[WAITERS + 1];
	uint16_t target;
	size_t order[WAITERS + 1], n = 0;
	bool came[WAITERS + 1] = { false };

	(void)state;
	world_open((struct sizes){ .sessions = 16, .blocks = 16 });
	int listener = listen_small(&target, 0);
	for (int i = 0; i <= WAITERS; i++)
		peers[i] = peer_relayed(listener, target, &fars[i]);
	turns(3);
	struct chain all = take_blocks(3);
	for (int i = WAITERS - 1; i >= 0; i--) { /* not in the order of their age */
		put(peers[i]->fd, bytes, peer_chunk(peers[i], "x", 1, bytes));
		turn();
	}
	assert_true(is_quiet());
	chain_drop(&world.engine.blocks, &all, BLOCK_ROOM);
	engine_serve_waiting(&world.engine, NULL);
	put(peers[WAITERS]->fd, bytes, peer_chunk(peers[WAITERS], "x", 1, bytes));
	while (n <= WAITERS) {
		turn();
		for (int i = 0; i <= WAITERS; i++) {
			unsigned char byte;

			if (!came[i] && look(fars[i], &byte, 1) > 0) {
				came[i] = true;
				order[n++] = (size_t)i;
			}
		}
	}
	for (size_t i = 0; i < WAITERS; i++)
		assert_int_equal(order[i], WAITERS - 1 - i);
	assert_int_equal(order[WAITERS], WAITERS);
	give_blocks(&all);
	peers_free(peers, fars, WAITERS + 1);
	world_ends(listener);
}

/* All blocks hold beginnings of chunks; their rests come, and all get through. */
static void test_unfinished_chunks_finish(void **state)
{
	enum { PEERS = 8, LEN = 16383 };
	struct peer *peers[PEERS];
	int fars[PEERS];
	uint16_t target;
	static unsigned char sealed[PEERS][LEN + 34];

	(void)state;
	world_open((struct sizes){ .sessions = 16, .blocks = PEERS + 1 });
	int listener = listen_small(&target, 0);
	for (int i = 0; i < PEERS; i++) {
		peers[i] = peer_relayed(listener, target, &fars[i]);
		peer_chunk(peers[i], bytes, LEN, sealed[i]);
	}
	struct chain all = take_blocks(ENGINE_SERVING + ENGINE_RESERVE);
	for (int i = 0; i < PEERS; i++) {
		put(peers[i]->fd, sealed[i], LEN - 2000);
		turns(2);
		if (all.head)
			chain_drop(&world.engine.blocks, &all, BLOCK_ROOM);
	}
	give_blocks(&all);
	turns(5);
	assert_true(world.engine.blocks.leased > 2);
	for (int i = 0; i < PEERS; i++)
		put(peers[i]->fd, sealed[i] + LEN - 2000, 2034);
	for (int i = 0; i < PEERS; i++)
		expect(fars[i], bytes, LEN);
	assert_int_equal(world.engine.blocks.leased, 0);
	peers_free(peers, fars, PEERS);
	world_ends(listener);
}

/* Holders without progress: safe as long as nobody waits; then those inside a chunk go first, and the
 * one that stands still for longest. */
static void test_stuck_holders(void **state)
{
	enum { HOLDERS = 4 };
	struct peer *peers[HOLDERS];
	int fars[HOLDERS], far;
	uint16_t target;
	unsigned char byte;

	(void)state;
	world_open((struct sizes){ .sessions = 16, .blocks = 8, .sndbuf = 5000, .rcvbuf = 5000 });
	int listener = listen_small(&target, 4000);
	struct peer *waiter = peer_relayed(listener, target, &far);
	for (int i = 0; i < HOLDERS; i++) {
		peers[i] = peer_relayed(listener, target, &fars[i]);
		if (i == 0) { /* a paused download */
			set_buffer(peers[i]->fd, SO_RCVBUF, 4000);
			for (int n = 0; n < 200 && world.engine.blocks.leased == 0; n++) {
				(void)!send(fars[i], bytes, sizeof(bytes), MSG_NOSIGNAL);
				turn();
			}
		} else {
			put(peers[i]->fd, bytes, peer_chunk(peers[i], plain, 3000, bytes) - 1);
		}
		turns(3);
		pass(1000);
	}
	assert_true(world.engine.blocks.leased >= HOLDERS);
	pass(30000);
	turns(5);
	assert_int_equal(world.engine.sessions.live, HOLDERS + 1); /* nobody waits */
	struct chain all = take_blocks(2);
	put(waiter->fd, bytes, peer_chunk(waiter, "x", 1, bytes));
	turns(3);
	pass(1100);
	/* Two had to go until four blocks were free: the oldest of those inside a chunk. */
	expect(far, "x", 1);
	assert_int_equal(ending(fars[1]), RESET);
	assert_int_equal(ending(fars[2]), RESET);
	assert_int_equal(look(fars[3], &byte, 1), NOTHING);
	assert_int_equal(look(fars[0], &byte, 1), NOTHING);
	give_blocks(&all);
	peers_free(peers, fars, HOLDERS);
	peer_free(waiter);
	close(far);
	world_ends(listener);
}

/* A byte now and then is no progress: while others wait, a chunk has ten seconds from its first byte, and
 * output that is held must go at some pace. Who takes bytes and lets go of them is safe. */
static void test_trickling_holders(void **state)
{
	enum { HOLDERS = 4, LEN = 3000 };
	static unsigned char sealed[HOLDERS][LEN + 34], got[8192];
	struct peer *peers[HOLDERS];
	int fars[HOLDERS], far;
	uint16_t target;
	unsigned char byte;

	(void)state;
	world_open((struct sizes){ .sessions = 16, .blocks = 12, .sndbuf = 5000, .rcvbuf = 5000 });
	int listener = listen_small(&target, 4000);
	struct peer *waiter = peer_relayed(listener, target, &far);
	for (int i = 0; i < HOLDERS; i++) {
		peers[i] = peer_relayed(listener, target, &fars[i]);
		if (i == 0) { /* a slow download */
			set_buffer(peers[i]->fd, SO_RCVBUF, 4000);
			for (int n = 0; n < 200 && world.engine.blocks.leased == 0; n++) {
				(void)!send(fars[i], bytes, sizeof(bytes), MSG_NOSIGNAL);
				turn();
			}
			continue;
		}
		peer_chunk(peers[i], plain, LEN, sealed[i]);
		put(peers[i]->fd, sealed[i], 100);
		turns(3);
	}
	assert_true(world.engine.blocks.leased >= HOLDERS);
	struct chain all = take_blocks(0);
	put(waiter->fd, bytes, peer_chunk(waiter, "x", 1, bytes));
	for (size_t second = 0; second < 9; second++) {
		for (int i = 1; i < HOLDERS; i++)
			put(peers[i]->fd, sealed[i] + 100 + second, 1);
		pass(1000);
		(void)!recv(peers[0]->fd, got, sizeof(got), 0);
	}
	assert_int_equal(world.engine.sessions.live, HOLDERS + 1);
	assert_int_equal(look(far, &byte, 1), NOTHING);
	chain_drop(&world.engine.blocks, &all, BLOCK_ROOM); /* the three of them lack one */
	pass(2000);
	expect(far, "x", 1);
	for (int i = 1; i < HOLDERS; i++)
		assert_int_equal(ending(fars[i]), RESET);
	for (int second = 0; second < 30; second++) {
		(void)!send(fars[0], bytes, sizeof(bytes), MSG_NOSIGNAL);
		put(waiter->fd, bytes, peer_chunk(waiter, "y", 1, bytes));
		pass(1000);
		until(recv(peers[0]->fd, got, sizeof(got), 0) > 0);
	}
	assert_int_equal(look(fars[0], &byte, 1), NOTHING);
	give_blocks(&all);
	peers_free(peers, fars, HOLDERS);
	peer_free(waiter);
	close(far);
	world_ends(listener);
}

/* The oldest stranger goes, nobody else. */
static void test_evict(void **state)
{
	uint16_t target;
	int far;

	(void)state;
	world_open((struct sizes){ .sessions = 8, .blocks = 16 });
	int listener = listen_small(&target, 0);
	struct peer *guest = peer_relayed(listener, target, &far);
	int first = connect_small(world.server_port, 0, 0);
	turns(2);
	int second = connect_small(world.server_port, 0, 0);
	turns(2);
	put(first, "unread", 6);
	assert_true(engine_evict(&world.engine, 0));
	assert_int_equal(ending(first), END);
	expect_silence(second);
	assert_true(engine_evict(&world.engine, 0));
	assert_false(engine_evict(&world.engine, 0));
	turn();
	assert_int_equal(world.engine.sessions.live, 1);
	peer_free(guest);
	close(far);
	close(first);
	close(second);
	world_ends(listener);
}

/* One that is woken to be served, and evicted before it runs, must not keep its blocks from the next. */
static void test_served_one_goes(void **state)
{
	uint16_t target;
	int far;

	(void)state;
	world_open((struct sizes){ .sessions = 8, .blocks = 16 });
	int listener = listen_small(&target, 0);
	struct peer *p = peer_relayed(listener, target, &far);
	struct chain all = take_blocks(0);
	int stranger = connect_small(world.server_port, 0, 0);

	put(stranger, "?", 1);
	turns(3);
	put(p->fd, bytes, peer_chunk(p, "x", 1, bytes));
	turns(3);
	give_blocks(&all);
	assert_non_null(world.engine.served);
	assert_true(engine_evict(&world.engine, 0));
	expect(far, "x", 1);
	close(stranger);
	peer_free(p);
	close(far);
	world_ends(listener);
}

/* The tick ends some time after the last session, and memory of free blocks goes back. */
static void test_tick(void **state)
{
	uint16_t target;
	int far;

	(void)state;
	world_open((struct sizes){ .sessions = 8, .blocks = 64 });
	int listener = listen_small(&target, 0);
	struct peer *p = peer_relayed(listener, target, &far);
	struct chain all = take_blocks(0);

	give_blocks(&all);
	pass(1100);
	assert_int_equal(world.engine.blocks.free_count - world.engine.blocks.cold, 16);
	peer_free(p);
	close(far);
	world_rests();
	for (int i = 0; i < 120; i++)
		pass(1000);
	assert_false(timer_pending(&world.engine.tick));
	close(connect_small(world.server_port, 0, 0));
	turns(2);
	assert_true(timer_pending(&world.engine.tick));
	world_ends(listener);
}

static void test_open(void **state)
{
	struct engine engine;

	(void)state;
	assert_int_equal(reactor_open(), 0);
	assert_int_equal(engine_open(&engine, 0, 16), -1);
	assert_int_equal(engine_open(&engine, 4, 3), -1);
	assert_int_equal(engine_open(&engine, 4, 4), 0);
	assert_false(engine_evict(&engine, 0));
	engine_close(&engine);
	reactor_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ceiling_is_quiet),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_unfinished_chunks_finish),
		cmocka_unit_test(test_stuck_holders),
		cmocka_unit_test(test_trickling_holders),
		cmocka_unit_test(test_evict),
		cmocka_unit_test(test_served_one_goes),
		cmocka_unit_test(test_tick),
		cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
