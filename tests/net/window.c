/*
 * The window of packet numbers, against a model that remembers everything.
 */
#include "net/window.h"

#include "tests/unit.h"

enum { SPAN = 20000 };

static bool seen[SPAN];

/* Whatever order numbers come in, each passes once, unless it is too old. */
static void model(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		uint64_t base = round % 3 == 0	 ? 0
				: round % 3 == 1 ? 1000000007
						 : UINT64_MAX - SPAN;
		uint32_t spread = 1u << (round % 14);
		struct window window = { 0 };
		uint64_t newest = 0;
		bool any = false;

		memset(seen, 0, sizeof seen);
		for (uint64_t at = 0; at + spread < SPAN;) {
			random = random * 1664525 + 1013904223;
			uint64_t i = at + (random >> 8) % spread;
			bool old = any && i < newest && newest - i >= WINDOW_SIZE;
			bool fresh = window_fresh(&window, base + i);

			assert_int_equal(fresh, window_fresh(&window, base + i));
			if (!(base == 0 && !any))
				assert_int_equal(fresh, (!any || !old) && !seen[i]);
			if (fresh) {
				window_take(&window, base + i);
				seen[i] = true;
				newest = !any || i > newest ? i : newest;
				any = true;
				assert_false(window_fresh(&window, base + i));
			}
			at += (random >> 4) % 3 == 0;
		}
	}
}

/* Any number may be the first. */
static void starts(void **state)
{
	static const uint64_t first[] = { 0, 1, 63, 64, 2047, 2048, 1000000, UINT64_MAX };

	(void)state;
	for (unsigned i = 0; i < sizeof first / sizeof *first; i++) {
		struct window window = { 0 };

		assert_true(window_fresh(&window, first[i]));
		window_take(&window, first[i]);
		assert_false(window_fresh(&window, first[i]));
		if (first[i] > 0)
			assert_true(window_fresh(&window, first[i] - 1));
	}
}

/* The edge: 2047 behind is taken, 2048 is not; a leap forgets everything. */
static void edge(void **state)
{
	struct window window = { 0 };

	(void)state;
	window_take(&window, 10000);
	assert_true(window_fresh(&window, 10000 - 2047));
	assert_false(window_fresh(&window, 10000 - 2048));
	window_take(&window, 10000 - 2047);
	window_take(&window, 10001);
	assert_false(window_fresh(&window, 10000 - 2047));
	assert_true(window_fresh(&window, 10000 - 2046));
	window_take(&window, 10001 + 2048);
	for (uint64_t i = 1; i < 2048; i++)
		assert_true(window_fresh(&window, 10001 + i));
	assert_false(window_fresh(&window, 10001));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(model),
		cmocka_unit_test(starts),
		cmocka_unit_test(edge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
