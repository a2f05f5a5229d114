/* Links that ss-url reads: all of them, or none that could be taken for all. */
#include "applets/applet.h"
#include "tests/getline.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char links[] =
	"ss://YWVzLTI1Ni1nY206eA@127.0.0.1:1\nss://YWVzLTI1Ni1nY206eA@127.0.0.1:2\n";
static char out[2000], err[500];

static void take(FILE *from, char *to, size_t n)
{
	rewind(from);
	to[fread(to, 1, n - 1, from)] = '\0';
	fclose(from);
}

/* The exit status of `ss-url -`, which can read so many lines; what it says is in `out` and `err`. */
static int read_links(unsigned lines)
{
	char name[] = "ss-url", dash[] = "-", *argv[] = { name, dash, NULL };
	FILE *in = tmpfile(), *said = tmpfile(), *wrong = tmpfile();
	int status;
	pid_t pid;

	assert_true(in && said && wrong && fputs(links, in) >= 0);
	rewind(in);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(fileno(in), STDIN_FILENO);
		dup2(fileno(said), STDOUT_FILENO);
		dup2(fileno(wrong), STDERR_FILENO);
		lines_left = lines;
		exit(url_main(2, argv));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	fclose(in);
	take(said, out, sizeof out);
	take(wrong, err, sizeof err);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void without_memory_there_is_no_configuration(void **state)
{
	(void)state;
	for (unsigned n = 0; n <= 2; n++) {
		assert_int_equal(read_links(n), 1);
		assert_non_null(strstr(err, "ss-url: cannot read standard input: "));
		assert_null(strchr(out, ']'));
	}
	assert_int_equal(read_links(3), 0); /* and the end */
	assert_string_equal(err, "");
	assert_non_null(strstr(out, "\"server_port\": 2\n}\n] }\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_memory_there_is_no_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
