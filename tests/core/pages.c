/*
 * Reserved pages: nothing is spent before it is touched, and nothing is lost but what was dropped.
 */
#include "core/pages.h"

#include "tests/unit.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 3000 }; /* more than a huge page */

static size_t page;
static unsigned char *base;

static size_t resident(void)
{
	static unsigned char in[PAGES];
	size_t count = 0;

	assert_int_equal(mincore(base, PAGES * page, (void *)in), 0);
	for (int i = 0; i < PAGES; i++)
		count += in[i] & 1;
	return count;
}

static int reserve(void **state)
{
	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	base = pages_reserve(PAGES * page);
	return base ? 0 : -1;
}

static int release(void **state)
{
	(void)state;
	pages_release(base, PAGES * page);
	return 0;
}

static void test_touch(void **state)
{
	(void)state;
	assert_int_equal((uintptr_t)base % page, 0);
	assert_int_equal(resident(), 0);
	for (size_t i = 0; i < 10; i++)
		base[i * 100 * page] = 1;
	assert_int_equal(resident(), 10);
	assert_int_equal(base[1], 0);
	assert_int_equal(base[PAGES * page - 1], 0);
}

static void test_drop(void **state)
{
	(void)state;
	memset(base, 7, 20 * page);
	assert_int_equal(resident(), 20);
	assert_true(pages_drop(base + 4 * page, 8 * page));
	assert_true(resident() == 12 || !ON_LINUX /* the kernel takes them when it wants them */);
	for (size_t i = 0; i < 20 * page; i++)
		if (i < 4 * page || i >= 12 * page)
			assert_int_equal(base[i], 7);
	memset(base + 4 * page, 8, 8 * page);
	for (size_t i = 4 * page; i < 12 * page; i++)
		assert_int_equal(base[i], 8);
}

/* A piece of a page stays: the rest belongs to somebody. So it is with blocks of 16 KB where pages
 * have 64. */
static void test_drop_parts(void **state)
{
	(void)state;
	memset(base, 7, 4 * page);
	assert_false(pages_drop(base, page / 4));
	assert_false(pages_drop(base, page + page / 4));
	assert_false(pages_drop(base + page / 4, page));
	assert_false(pages_drop(base + page - 1, page + 1));
	for (size_t i = 0; i < 4 * page; i++)
		assert_int_equal(base[i], 7);
}

static void test_too_much(void **state)
{
	(void)state;
	errno = 0;
	assert_null(pages_reserve(SIZE_MAX / 4 * 3));
	assert_int_equal(errno, ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_touch, reserve, release),
		cmocka_unit_test_setup_teardown(test_drop, reserve, release),
		cmocka_unit_test_setup_teardown(test_drop_parts, reserve, release),
		cmocka_unit_test(test_too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
