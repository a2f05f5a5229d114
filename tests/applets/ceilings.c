/* Ceilings: what machines of every size get, and that it is never more than they were told. */
#include "applets/ceilings.h"

#include "tests/unit.h"

enum { SESSION = 1280, ASSOC = 1440, BLOCK = 16388, SALT = 78 };

#define MIB ((uint64_t)1 << 20)

static struct ceilings wishes(unsigned workers)
{
	return (struct ceilings){
		.sessions = { .most = 1 << 18, .size = SESSION },
		.assocs = { .most = 1 << 14, .size = ASSOC },
		.blocks = { .most = 4096, .size = BLOCK },
		.salts = { .most = 1000000, .size = SALT },
		.workers = workers,
		.datagram_workers = workers / 2 + 1,
	};
}

static uint64_t bytes(const struct ceilings *c)
{
	uint64_t each = (uint64_t)c->sessions.most * c->sessions.size +
			(uint64_t)c->blocks.most * c->blocks.size;

	return each * c->workers + (uint64_t)c->assocs.most * c->assocs.size * c->datagram_workers +
	       (uint64_t)c->salts.most * c->salts.size;
}

static struct ceilings of_machine(uint64_t memory)
{
	struct ceilings c = wishes(1);

	ceilings_lower(&c, ceilings_of_machine(memory));
	return c;
}

static void test_machines(void **state)
{
	struct ceilings c;

	(void)state;
	c = of_machine(32 * MIB); /* 8 MiB */
	assert_int_equal(c.sessions.most, 2 * MIB / SESSION);
	assert_int_equal(c.assocs.most, MIB / ASSOC);
	assert_int_equal(c.salts.most, 2 * MIB / SALT);
	assert_in_range(c.blocks.most, 3 * MIB / BLOCK, 3 * MIB / BLOCK + 1);
	assert_true(bytes(&c) <= 8 * MIB);
	c = of_machine(64 * MIB);
	assert_int_equal(c.sessions.most, 4 * MIB / SESSION);
	assert_true(bytes(&c) <= 16 * MIB);
	c = of_machine(16384 * MIB); /* all that is wished for */
	assert_int_equal(c.sessions.most, 1 << 18);
	assert_int_equal(c.assocs.most, 1 << 14);
	assert_int_equal(c.blocks.most, 4096);
	assert_int_equal(c.salts.most, 1000000);
	c = of_machine(0); /* nobody knows */
	assert_int_equal(c.sessions.most, 1 << 18);
	assert_int_equal(c.blocks.most, 4096);
}

/* What the others leave is for data. */
static void test_rest(void **state)
{
	struct ceilings c = wishes(1);

	(void)state;
	c.sessions.most = 100;
	c.assocs.most = 0;
	c.salts.most = 10000;
	ceilings_lower(&c, 8 * MIB);
	assert_int_equal(c.sessions.most, 100);
	assert_int_equal(c.salts.most, 10000);
	assert_int_equal(c.blocks.most, (8 * MIB - 100 * SESSION - 10000 * SALT) / BLOCK);
}

/* Nothing is too little, too much, or wraps around. */
static void test_absurd(void **state)
{
	static const uint64_t limits[] = { 0,
					   1,
					   4095,
					   MIB,
					   7 * MIB + 1,
					   UINT32_MAX,
					   1ull << 32,
					   (1ull << 32) + 1,
					   1ull << 40,
					   UINT64_MAX / 4,
					   UINT64_MAX - 4096,
					   UINT64_MAX };

	(void)state;
	for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		for (unsigned workers = 1; workers <= 256; workers += 51) {
			uint64_t least = workers * (uint64_t)CEILINGS_LEAST;
			struct ceilings c = wishes(workers);

			c.sessions.most = c.assocs.most = c.blocks.most = c.salts.most = UINT32_MAX;
			ceilings_lower(&c, limits[i]);
			assert_true(bytes(&c) <= (limits[i] > least ? limits[i] : least));
			assert_true(c.sessions.most >= 100 && c.assocs.most >= 50);
			assert_true(c.blocks.most >= CEILINGS_BLOCKS && c.salts.most >= 1000);
		}
	}
}

/* What is fixed stays, and takes nothing from what others have at least. */
static void test_fixed(void **state)
{
	struct ceilings c = wishes(2);

	(void)state;
	c.sessions.fixed = c.salts.fixed = true;
	ceilings_lower(&c, 8 * MIB);
	assert_int_equal(c.sessions.most, 1 << 18);
	assert_int_equal(c.salts.most, 1000000);
	assert_int_equal(c.assocs.most, MIB / 2 / ASSOC);
	assert_int_equal(c.blocks.most, 3 * MIB / 2 / BLOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_absurd),
		cmocka_unit_test(test_fixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
