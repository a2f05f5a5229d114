/* Files that change: every way a file is rewritten is seen, and nothing else. */
#include "core/file.h"

#include "tests/unit.h"

#include <errno.h>
#include <unistd.h>

static char path[] = "/tmp/file-test-XXXXXX";

static void put(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void changes(void **state)
{
	(void)state;
	struct file_stamp stamp = { 0 };
	char other[64], text[16];

	unlink(path);
	assert_false(file_changed(path, &stamp)); /* not there, as before */
	put(path, "one");
	assert_true(file_changed(path, &stamp));
	assert_false(file_changed(path, &stamp));
	put(path, "three");
	assert_true(file_changed(path, &stamp));
	snprintf(other, sizeof(other), "%s.new", path);
	put(other, "three");
	assert_int_equal(rename(other, path), 0);
	assert_true(file_changed(path, &stamp));
	assert_false(file_changed(path, &stamp));
	assert_int_equal(file_read(path, text, sizeof(text)), 5);
	assert_memory_equal(text, "three", 5);
	assert_int_equal(file_read(path, text, 2), 2);
	unlink(path);
	assert_true(file_changed(path, &stamp));
	assert_false(file_changed(path, &stamp));
	assert_int_equal(file_read(path, text, sizeof(text)), -1);
	assert_int_equal(errno, ENOENT);
}

static void not_a_file(void **state)
{
	(void)state;
	char text[4];

	assert_int_equal(file_read("/", text, sizeof(text)), -1);
	assert_int_equal(file_read("/dev/null", text, sizeof(text)), 0);
}

static void what_was_not_written_is_not_forgotten(void **state)
{
	FILE *full = fopen("/dev/full", "w"), *good = fopen("/dev/null", "w");

	(void)state;
	assert_non_null(good);
	fputs("text", good);
	assert_true(file_written(good));
	fclose(good);
	if (!full) {
		print_message("SKIPPED what_was_not_written_is_not_forgotten: no /dev/full here\n");
		skip();
	}
	setvbuf(full, NULL, _IONBF, 0);
	fputs("text", full); /* of which nothing is left to be flushed */
	assert_false(file_written(full));
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes),
		cmocka_unit_test(not_a_file),
		cmocka_unit_test(what_was_not_written_is_not_forgotten),
	};
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
