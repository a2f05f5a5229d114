/*
 * Random bytes: never the same twice, not in a forked process either, and of any length.
 */
#include "crypto/random.h"

#include "crypto/aead.h"

#include "tests/emulator.h"
#include "tests/unit.h"

#include <sys/wait.h>
#include <unistd.h>

enum { DRAWS = 20000, LEN = 16 };

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, LEN);
}

static void never_twice(void **state)
{
	unsigned char(*all)[LEN] = test_malloc(DRAWS * LEN);

	(void)state;
	for (int i = 0; i < DRAWS; i++)
		random_bytes(all[i], LEN);
	qsort(all, DRAWS, LEN, by_bytes);
	for (int i = 1; i < DRAWS; i++)
		assert_memory_not_equal(all[i - 1], all[i], LEN);
	test_free(all);
}

/* All of it is filled, whatever was left. */
static void any_length(void **state)
{
	unsigned char bytes[3000];

	(void)state;
	for (size_t n = 1; n < sizeof bytes; n = n * 3 / 2 + 1) {
		unsigned seen = 0;

		for (int i = 0; i < 64; i++) { /* each byte is some other one sometimes */
			memset(bytes, 0, sizeof bytes);
			random_bytes(bytes, n);
			seen |= bytes[n - 1];
			assert_int_equal(bytes[n], 0);
		}
		assert_true(seen);
	}
	random_bytes(bytes, 0);
}

static void counts(void **state)
{
	unsigned ones = 0;
	unsigned char bytes[24];

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		random_bytes(bytes, sizeof bytes);
		for (size_t j = 0; j < sizeof bytes; j++)
			ones += (unsigned)__builtin_popcount(bytes[j]);
	}
	/* 3,840,000 bits: the deviation is 980 */
	assert_in_range(ones, 1920000 - 8000, 1920000 + 8000);
}

static void children_draw_others(void **state)
{
	needs("wipe-on-fork");
	unsigned char mine[LEN], childs[LEN];
	int ends[2], status;

	(void)state;
	random_bytes(mine, 1); /* there is a stock now */
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		random_bytes(childs, LEN);
		_exit(write(ends[1], childs, LEN) != LEN);
	}
	random_bytes(mine, LEN);
	assert_int_equal(read(ends[0], childs, LEN), LEN);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_memory_not_equal(mine, childs, LEN);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_twice),
		cmocka_unit_test(any_length),
		cmocka_unit_test(counts),
		cmocka_unit_test(children_draw_others),
	};

	if (crypto_open() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
