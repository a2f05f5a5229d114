/*
 * Blocks and chains against plain queues of bytes: order, ceiling, counts, and memory that goes
 * back to the kernel and can be used afterwards.
 */
#include "core/block.h"

#include "tests/emulator.h"
#include "tests/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

static uint32_t random_state;

static uint32_t below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)random_state * n >> 32);
}

/* --- a model: the same bytes in one piece */

enum { MAX = 24, CHAINS = 5, QUEUE = (MAX + 1) * BLOCK_SIZE };

static struct block_pool pool;

static struct model {
	struct chain chain;
	size_t n;
	unsigned char bytes[QUEUE];
} models[CHAINS];

static unsigned char scratch[QUEUE];

static uint32_t blocks_of(const struct chain *chain)
{
	uint32_t n = 0;

	for (const struct block *b = chain->head; b; b = b->next) {
		assert_true(b->start < b->end &&
			    b->end <= BLOCK_ROOM); /* holds bytes, or would be back */
		assert_true(b->next || b == chain->tail);
		n++;
	}
	return n;
}

static size_t bytes_of(const struct chain *chain)
{
	size_t n = 0;

	for (const struct block *b = chain->head; b; b = b->next)
		n += b->end - b->start;
	return n;
}

static void check_counts(void)
{
	uint32_t leased = 0;

	for (int i = 0; i < CHAINS; i++)
		leased += blocks_of(&models[i].chain);
	assert_int_equal(pool.leased, leased);
	assert_true(pool.leased <= pool.max);
	assert_true(pool.touched <= pool.max);
	assert_int_equal(pool.touched, pool.leased + pool.free_count);
	assert_true(pool.cold <= pool.free_count);
}

/* The numbers in the stack are all different, and none is in a chain. */
static void check_free_stack(void)
{
	bool seen[MAX] = { false };

	for (uint32_t i = 0; i < pool.free_count; i++) {
		assert_true(pool.free[i] < pool.touched && !seen[pool.free[i]]);
		seen[pool.free[i]] = true;
	}
	for (int i = 0; i < CHAINS; i++)
		for (struct block *b = models[i].chain.head; b; b = b->next) {
			size_t at = (size_t)((char *)b - pool.base);

			assert_int_equal(at % BLOCK_SIZE, 0);
			assert_true(at / BLOCK_SIZE < pool.touched && !seen[at / BLOCK_SIZE]);
			seen[at / BLOCK_SIZE] = true;
		}
}

static size_t random_size(size_t most)
{
	switch (below(6)) {
	case 0:
		return below(20) % (most + 1);
	case 1: /* about the room of a block */
		return (BLOCK_ROOM - 2 + below(5)) % (most + 1);
	case 2:
		return most;
	default:
		return below((uint32_t)most + 1);
	}
}

static void random_append(struct model *m)
{
	size_t room = block_room(&pool, &m->chain);
	size_t n = random_size(below(3) ? 20000 : 100000);

	for (size_t i = 0; i < n; i++)
		scratch[i] = (unsigned char)below(256);

	int result = chain_append(&pool, &m->chain, scratch, n);
	assert_int_equal(result, n <= room ? 0 : -1);
	if (result == 0) {
		memcpy(m->bytes + m->n, scratch, n);
		m->n += n;
	}
}

static void random_peek(struct model *m)
{
	size_t n = random_size(m->n);

	memset(scratch, 0xee, n + 1);
	chain_peek(&m->chain, scratch, n);
	assert_memory_equal(scratch, m->bytes, n);
	assert_int_equal(scratch[n], 0xee);
}

static void random_iov(struct model *m)
{
	struct iovec iov[MAX + 2];
	int max = (int)below(MAX + 1);
	size_t n = random_size(m->n), at = 0;

	if (below(8) == 0)
		n = m->n + 1000; /* more than there is */
	memset(iov, 0xee, sizeof iov);
	struct iovec untouched = iov[MAX + 1];
	int used = chain_iov(&m->chain, iov, max, n);
	assert_true(used >= 0 && used <= max);
	for (int i = 0; i < used; i++) {
		assert_true(iov[i].iov_len > 0 && at + iov[i].iov_len <= m->n);
		assert_memory_equal(iov[i].iov_base, m->bytes + at, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	assert_memory_equal(&iov[used], &untouched, sizeof untouched);
	if (used < max) /* the entries were enough */
		assert_int_equal(at, n < m->n ? n : m->n);
	assert_true(at <= n);
}

static void random_drop(struct model *m)
{
	size_t n = random_size(m->n);

	chain_drop(&pool, &m->chain, n);
	m->n -= n;
	memmove(m->bytes, m->bytes + n, m->n);
}

static void random_return(struct model *m)
{
	if (below(20))
		return;
	chain_return(&pool, &m->chain);
	m->n = 0;
}

static void random_trim(struct model *m)
{
	uint32_t keep = below(MAX);

	(void)m;
	if (below(10))
		return;
	block_trim(&pool, keep);
	assert_true(pool.free_count - pool.cold <= keep);
}

static void test_model(void **state)
{
	static void (*const actions[])(struct model *) = {
		random_append, random_append, random_peek,   random_iov,
		random_drop,   random_drop,   random_return, random_trim,
	};
	unsigned refused = 0, full = 0;

	(void)state;
	random_state = 1;
	assert_int_equal(block_open(&pool, MAX), 0);
	for (int round = 0; round < 20000; round++) {
		struct model *m = &models[below(CHAINS)];

		actions[below(sizeof actions / sizeof *actions)](m);
		assert_int_equal(bytes_of(&m->chain), m->n);
		assert_true(!m->chain.head == (m->n == 0) && !m->chain.tail == (m->n == 0));
		check_counts();
		if (round % 50 == 0)
			check_free_stack();
		refused += block_room(&pool, &m->chain) < 20000;
		full += pool.leased == pool.max;
	}
	assert_true(refused > 100 && full > 100); /* the ceiling was met, often */
	for (int i = 0; i < CHAINS; i++) {
		chain_peek(&models[i].chain, scratch, models[i].n);
		assert_memory_equal(scratch, models[i].bytes, models[i].n);
		chain_return(&pool, &models[i].chain);
		models[i].n = 0;
	}
	check_counts();
	assert_int_equal(pool.leased, 0);
	block_close(&pool);
	assert_null(pool.base);
	block_close(&pool); /* twice is nothing */
}

/* --- corners */

static void test_bad_sizes(void **state)
{
	needs("large-mappings");
	struct block_pool bad = { 0 };

	(void)state;
	errno = 0;
	assert_int_equal(block_open(&bad, 0), -1);
	assert_int_equal(errno, EINVAL);
	block_close(&bad);
	/* 64 TB: not representable on 32 bits, beyond the address space of 64 */
	if (block_open(&bad, UINT32_MAX) != 0)
		assert_true(errno == EINVAL || errno == ENOMEM);
	block_close(&bad);
}

static void test_ceiling(void **state)
{
	struct chain a = { 0 }, b = { 0 };

	(void)state;
	memset(scratch, 'x', sizeof scratch);
	assert_int_equal(block_open(&pool, 3), 0);
	assert_int_equal(block_room(&pool, &a), 3 * BLOCK_ROOM);
	assert_int_equal(chain_append(&pool, &a, scratch, 0), 0);
	assert_null(a.head); /* nothing holds no block */
	assert_int_equal(chain_append(&pool, &a, scratch, 3 * BLOCK_ROOM + 1), -1);
	assert_int_equal(pool.leased, 0);
	assert_null(a.head);
	assert_null(a.tail);

	assert_int_equal(chain_append(&pool, &a, scratch, BLOCK_ROOM + 1), 0);
	assert_int_equal(pool.leased, 2);
	assert_int_equal(block_room(&pool, &b), BLOCK_ROOM);
	assert_int_equal(block_room(&pool, &a), 2 * BLOCK_ROOM - 1);
	assert_int_equal(chain_append(&pool, &b, scratch, BLOCK_ROOM + 1), -1);
	assert_null(b.head);
	assert_int_equal(chain_append(&pool, &a, scratch, 2 * BLOCK_ROOM), -1);
	assert_int_equal(bytes_of(&a), BLOCK_ROOM + 1); /* refused leaves nothing behind */
	assert_int_equal(pool.leased, 2);

	assert_int_equal(chain_append(&pool, &b, scratch, BLOCK_ROOM), 0);
	assert_int_equal(block_room(&pool, &b), 0);
	assert_int_equal(chain_append(&pool, &b, scratch, 1), -1);
	assert_int_equal(chain_append(&pool, &a, scratch, BLOCK_ROOM - 1), 0);
	assert_int_equal(chain_append(&pool, &a, scratch, 1), -1);

	/* Half a block dropped is no block back; the other half is. */
	chain_drop(&pool, &b, BLOCK_ROOM - 1);
	assert_int_equal(pool.leased, 3);
	assert_int_equal(chain_append(&pool, &a, scratch, 1), -1);
	chain_drop(&pool, &b, 1);
	assert_int_equal(pool.leased, 2);
	assert_null(b.tail);
	assert_int_equal(chain_append(&pool, &a, scratch, BLOCK_ROOM), 0);
	chain_drop(&pool, &a, 0);
	assert_int_equal(bytes_of(&a), 3 * BLOCK_ROOM);
	chain_return(&pool, &a);
	chain_return(&pool, &a);
	assert_int_equal(pool.leased, 0);
	block_close(&pool);
}

/* A block that comes back is the next one leased: what is warm stays warm. */
static void test_latest_first(void **state)
{
	struct chain a = { 0 }, b = { 0 };

	(void)state;
	assert_int_equal(block_open(&pool, 10), 0);
	assert_int_equal(chain_append(&pool, &a, scratch, 4 * BLOCK_ROOM), 0);
	struct block *first = a.head;
	chain_drop(&pool, &a, BLOCK_ROOM);
	assert_int_equal(chain_append(&pool, &b, scratch, 1), 0);
	assert_ptr_equal(b.head, first);
	assert_int_equal(pool.touched, 4);
	block_close(&pool);
}

/* Pages of the pool in memory. */
static size_t resident(void)
{
	static unsigned char in[MAX * BLOCK_SIZE / 4096];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (size_t)pool.max * BLOCK_SIZE, count = 0;

	assert_int_equal(mincore(pool.base, n, (void *)in), 0);
	for (size_t i = 0; i < (n + page - 1) / page; i++)
		count += in[i] & 1;
	return count;
}

static void fill(struct chain *chain, uint32_t blocks, unsigned char value)
{
	memset(scratch, value, blocks * BLOCK_ROOM);
	assert_int_equal(chain_append(&pool, chain, scratch, blocks * BLOCK_ROOM), 0);
}

static void check_filled(const struct chain *chain, uint32_t blocks, unsigned char value)
{
	memset(scratch, 0, sizeof scratch);
	assert_int_equal(bytes_of(chain), blocks * BLOCK_ROOM);
	chain_peek(chain, scratch, blocks * BLOCK_ROOM);
	for (size_t i = 0; i < blocks * BLOCK_ROOM; i++)
		assert_int_equal(scratch[i], value);
}

/* Elsewhere the kernel takes what is free when it wants it. */
static void check_resident(size_t pages)
{
	assert_true(ON_LINUX ? resident() == pages : resident() >= pages);
}

/* After a peak the memory goes back, that of leased blocks does not, and all can be leased again. */
static void test_trim(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), each = BLOCK_SIZE / page;
	struct chain a = { 0 }, b = { 0 }, c = { 0 };

	(void)state;
	if (BLOCK_SIZE % page) {
		print_message("SKIPPED: pages of %zu bytes are not parts of a block\n", page);
		skip();
	}
	assert_int_equal(block_open(&pool, MAX), 0);
	check_resident(0);
	fill(&a, 8, 'a');
	fill(&b, 8, 'b');
	fill(&c, 8, 'c');
	check_resident(MAX * each);
	block_trim(&pool, 0); /* nothing is free */
	check_resident(MAX * each);

	chain_return(&pool, &b);
	block_trim(&pool, 100); /* may keep more than there is */
	check_resident(MAX * each);
	block_trim(&pool, 3);
	check_resident((MAX - 5) * each);
	assert_int_equal(pool.cold, 5);
	check_filled(&a, 8, 'a');
	check_filled(&c, 8, 'c');

	/* The warm ones are leased first, then cold ones, which are cold no more. */
	fill(&b, 3, 'B');
	check_resident((MAX - 5) * each);
	fill(&b, 2, 'B');
	assert_int_equal(pool.cold, 3);
	check_resident((MAX - 3) * each);
	check_filled(&b, 5, 'B');

	chain_return(&pool, &a);
	chain_return(&pool, &b);
	chain_return(&pool, &c);
	block_trim(&pool, 0);
	check_resident(0);
	assert_int_equal(pool.cold, MAX);
	block_trim(&pool, 0);
	fill(&a, MAX, 'A');
	check_filled(&a, MAX, 'A');
	assert_int_equal(pool.cold, 0);
	assert_int_equal(chain_append(&pool, &a, scratch, 1), -1);
	block_close(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),	cmocka_unit_test(test_bad_sizes),
		cmocka_unit_test(test_ceiling), cmocka_unit_test(test_latest_first),
		cmocka_unit_test(test_trim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
