/* How much memory there is: some, no more than sysinfo(2) says; and control groups' files, where there are some. */
#include "core/machine.h"

#include "core/cgroup.h"
#include "tests/unit.h"

#include <sys/sysinfo.h>

static void test_memory(void **state)
{
	struct sysinfo machine;

	(void)state;
	assert_int_equal(sysinfo(&machine), 0);
	assert_in_range(machine_memory(), 1 << 20, (uint64_t)machine.totalram * machine.mem_unit);
}

static void count(const char *text, void *own)
{
	assert_true(*text);
	++*(unsigned *)own;
}

static void test_no_such_file(void **state)
{
	char text[CGROUP_TEXT];
	unsigned shown = 0;

	(void)state;
	cgroup_upwards("no.such", count, &shown);
	assert_int_equal(shown, 0);
	assert_false(cgroup_read("/no/such", text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_no_such_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
