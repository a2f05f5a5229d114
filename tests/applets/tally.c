/*
 * Counters and their file: what is written is read again, numbers are whole above 32 bits, and what is
 * damaged is left.
 */
#include "applets/tally.h"

#include "core/log.h"
#include "tests/unit.h"

#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/tally-test-XXXXXX";
static char path[64];

static struct tally *open_tally(void)
{
	struct tally *tally = tally_open();

	assert_non_null(tally);
	return tally;
}

static void test_kept(void **state)
{
	struct tally *tally = open_tally();
	struct stat s;

	(void)state;
	tally_keep(tally, path);
	assert_int_equal(tally_of(tally, 1)->up, 0);
	*tally_of(tally, 1) = (struct traffic){ .up = 5, .down = UINT64_MAX };
	*tally_of(tally, 65535) = (struct traffic){ .up = 1ULL << 40, .down = 0 };
	tally_close(tally);
	assert_int_equal(stat(path, &s), 0);
	assert_int_equal(s.st_mode & 0777, 0600);

	tally = open_tally();
	tally_of(tally, 1)->up = 3; /* counted before the file is read */
	tally_keep(tally, path);
	assert_int_equal(tally_of(tally, 1)->up, 8);
	assert_true(tally_of(tally, 1)->down == UINT64_MAX);
	assert_true(tally_of(tally, 65535)->up == 1ULL << 40);
	*tally_of(tally, 1) = (struct traffic){ 0, 0 };
	tally_close(tally);

	tally = open_tally();
	tally_keep(tally, path);
	assert_int_equal(tally_of(tally, 1)->up, 0);
	assert_true(tally_of(tally, 65535)->up == 1ULL << 40);
	tally_close(tally);
	unlink(path);
}

static void test_damaged(void **state)
{
	static const char *const lines[] = { "x",     "0 1 1\n", "70000 1 1\n",
					     "7 1\n", "7 1 1",	 "7 1 1 1\n" };

	(void)state;
	for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		FILE *file = fopen(path, "w");
		struct tally *tally = open_tally();

		assert_non_null(file);
		fprintf(file, "# port\n5 6 7\n%s", lines[i]);
		fclose(file);
		tally_keep(tally, path);
		assert_int_equal(tally_of(tally, 5)->up, 6);
		assert_int_equal(tally_of(tally, 5)->down, 7);
		assert_int_equal(tally_of(tally, 7)->up, 0);
		tally_close(tally);
	}
	unlink(path);
}

/* Two would replace each other's file: the second leaves it alone, until the first is closed. */
static void test_two(void **state)
{
	struct tally *one = open_tally(), *two = open_tally();

	(void)state;
	tally_keep(one, path);
	tally_of(one, 1)->up = 5;
	tally_keep(two, path);
	tally_of(two, 2)->up = 7;
	tally_close(one);
	tally_close(two);

	one = open_tally();
	tally_keep(one, path);
	assert_int_equal(tally_of(one, 1)->up, 5);
	assert_int_equal(tally_of(one, 2)->up, 0);
	tally_close(one);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_two),
	};
	int failed;

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof path, "%s/state", directory);
	log_open("test", false, false);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(directory);
	return failed;
}
