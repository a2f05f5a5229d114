/* The pool: alignment, exhaustion, joining of neighbours, and a long random life. */
#include "core/pool.h"

#include "tests/unit.h"

enum { SIZE = 64 * 1024 };

static int open_pool(void **state)
{
	static struct pool pool;
	*state = &pool;
	return pool_open(&pool, SIZE);
}

static int close_pool(void **state)
{
	pool_close(*state);
	return 0;
}

static void largest(void **state)
{
	struct pool *pool = *state;
	void *all = pool_take(pool, SIZE - 64);

	assert_non_null(all);
	assert_null(pool_take(pool, 1000));
	pool_give(pool, all);
	assert_int_equal(pool->used, 0);
	assert_null(pool_take(pool, SIZE));
	assert_null(pool_take(pool, SIZE_MAX));
	assert_null(pool_take(pool, SIZE_MAX - 40));
	all = pool_take(pool, SIZE - 64);
	assert_non_null(all);
	pool_give(pool, all);
	pool_give(pool, NULL);
}

static void joins(void **state)
{
	struct pool *pool = *state;
	void *pieces[8];

	for (unsigned order = 0; order < 8; order++) {
		for (unsigned i = 0; i < 8; i++) {
			pieces[i] = pool_take(pool, SIZE / 8 - 64);
			assert_non_null(pieces[i]);
		}
		assert_null(pool_take(pool, SIZE / 8));
		for (unsigned i = 0; i < 8; i++)
			pool_give(pool, pieces[(i * 3 + order) % 8]);
		void *all = pool_take(pool, SIZE - 64);
		assert_non_null(all);
		pool_give(pool, all);
	}
}

static void zero_bytes(void **state)
{
	struct pool *pool = *state;
	void *a = pool_take(pool, 0), *b = pool_take(pool, 0);

	assert_non_null(a);
	assert_ptr_not_equal(a, b);
	pool_give(pool, a);
	pool_give(pool, b);
	assert_int_equal(pool->used, 0);
}

static void resize(void **state)
{
	struct pool *pool = *state;
	char *a = pool_resize(pool, NULL, 20);

	memset(a, 'x', 20);
	char *b = pool_take(pool, 20);
	assert_ptr_equal(pool_resize(pool, a, 10), a);
	char *c = pool_resize(pool, a, 5000);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(c[i], 'x');
	assert_null(pool_resize(pool, c, SIZE));
	assert_int_equal(c[19], 'x');
	pool_give(pool, c);
	pool_give(pool, b);
	assert_int_equal(pool->used, 0);
}

/* 200,000 steps over 300 pieces, each filled with its own byte. */
static void random_life(void **state)
{
	struct pool *pool = *state;
	static struct {
		unsigned char *at;
		size_t n;
	} held[300];
	uint32_t seed = 1;
	unsigned refused = 0;

	for (unsigned step = 0; step < 200000; step++) {
		seed = seed * 1664525 + 1013904223;
		unsigned i = (seed >> 8) % 300;
		if (held[i].at != NULL) {
			for (size_t k = 0; k < held[i].n; k++)
				assert_int_equal(held[i].at[k], i & 0xff);
			pool_give(pool, held[i].at);
			held[i].at = NULL;
			continue;
		}
		held[i].n = (seed >> 20) % (step % 100 == 0 ? 8000 : 500);
		held[i].at = pool_take(pool, held[i].n);
		refused += held[i].at == NULL;
		if (held[i].at != NULL) {
			assert_int_equal((uintptr_t)held[i].at % 16, 0);
			memset(held[i].at, (int)(i & 0xff), held[i].n);
		}
	}
	assert_true(refused > 0 && refused < 50000);
	for (unsigned i = 0; i < 300; i++)
		pool_give(pool, held[i].at);
	assert_int_equal(pool->used, 0);
	void *all = pool_take(pool, SIZE - 64);
	assert_non_null(all);
	pool_give(pool, all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(largest, open_pool, close_pool),
		cmocka_unit_test_setup_teardown(joins, open_pool, close_pool),
		cmocka_unit_test_setup_teardown(zero_bytes, open_pool, close_pool),
		cmocka_unit_test_setup_teardown(resize, open_pool, close_pool),
		cmocka_unit_test_setup_teardown(random_life, open_pool, close_pool),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
