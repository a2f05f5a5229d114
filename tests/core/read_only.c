/*
 * What only relocation writes is read-only in a running program: by the dynamic linker, or by
 * dist/static/relro.c where there is none.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

/* Addresses: known when the program has been put somewhere. */
static const char *const table[] = { "a", "b", "c" };
static const char *variable[] = { "a", "b", "c" };

extern void (*__init_array_start[])(void) __attribute__((visibility("hidden"))); /* the linker's */

/* The kernel is asked, which does not die of it: to write there what is there already. */
static bool is_writable(const void *at)
{
	int ends[2];
	char byte = *(const volatile char *)at;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], &byte, 1), 1);
	ssize_t n = read(ends[0], (void *)(uintptr_t)at, 1);
	assert_true(n == 1 || errno == EFAULT);
	close(ends[0]);
	close(ends[1]);
	return n == 1;
}

static void test_variable(void **state)
{
	(void)state;
	assert_true(is_writable(variable));
}

static void test_table(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_false(is_writable(&table[i]));
}

/* Addresses of functions, and of what stands beside them. */
static void test_functions(void **state)
{
	(void)state;
	assert_false(is_writable(__init_array_start));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variable),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
