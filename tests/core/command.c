/* Programs run to their end: what they read and write, how they end, where they are found. */
#include "core/command.h"
#include "tests/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <signal.h>

static char words[200], path[256];

/* The status of `sh -c script`; what it said is in `words`. */
static int shell(const char *script, const char *input, size_t n)
{
	char name[] = "sh", option[] = "-c", text[200], *argv[] = { name, option, text, NULL };

	snprintf(text, sizeof(text), "%s", script);
	assert_true(command_find("sh", path, sizeof(path)));
	memset(words, 'x', sizeof(words));
	return command_run(path, argv, input, n, words, sizeof(words));
}

static void what_it_says(void **state)
{
	(void)state;
	assert_int_equal(shell("echo one; echo two >&2; exit 3", NULL, 0), 3);
	assert_string_equal(words, "one;two");
	assert_int_equal(shell("printf 'a\\033[2Jb\\n\\n'", NULL, 0), 0);
	assert_string_equal(words, "a?[2Jb");
	assert_int_equal(shell("exit 0", NULL, 0), 0);
	assert_string_equal(words, "");
	assert_int_equal(shell("kill -9 $$", NULL, 0), 128 + SIGKILL);
}

static void what_it_reads(void **state)
{
	enum { MANY = 1 << 20 };
	char *input = malloc(MANY);

	(void)state;
	assert_non_null(input);
	memset(input, 'y', MANY);
	assert_int_equal(shell("wc -c", input, MANY), 0);
	assert_string_equal(words + strspn(words, " "), "1048576");
	/* Both at once, and more than is kept of its words. */
	assert_int_equal(shell("cat", input, MANY), 0);
	assert_int_equal(strspn(words, "y"), sizeof(words) - 1);
	/* Who does not read is not waited for. */
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(shell("exit 4", input, MANY), 4);
	free(input);
}

static void where_it_is(void **state)
{
	(void)state;
	assert_false(command_find("there-is-no-such-program", path, sizeof(path)));
	assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
	assert_true(command_find("sh", path, sizeof(path)));
	assert_int_equal(path[0], '/');

	char name[] = "x", *argv[] = { name, NULL };

	assert_int_equal(command_run("/nowhere/x", argv, NULL, 0, words, sizeof(words)), 127);
	assert_non_null(strstr(words, "/nowhere/x: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_says),
		cmocka_unit_test(what_it_reads),
		cmocka_unit_test(where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
