/* ss-key, in a child process: what it prints is a key of the right length and form, and a new one each time. */
#include "applets/applet.h"
#include "applets/secret.h"
#include "tests/unit.h"

#include <sodium.h>
#include <sys/wait.h>
#include <unistd.h>

static char out[4096], err[4096];

static void slurp(FILE *f, char *to, size_t size)
{
	rewind(f);
	to[fread(to, 1, size - 1, f)] = 0;
	fclose(f);
}

/* The exit status of ss-key with this argument, or without one. */
static int run(char *argument)
{
	char name[] = "ss-key", *argv[] = { name, argument, NULL };
	FILE *o = tmpfile(), *e = tmpfile();
	int status;
	pid_t pid;

	assert_true(o && e);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fileno(o), STDOUT_FILENO);
		dup2(fileno(e), STDERR_FILENO);
		status = key_main(argument ? 2 : 1, argv);
		fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	slurp(o, out, sizeof out);
	slurp(e, err, sizeof err);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Base64 of 2022 methods is standard with padding, of others URL-safe; sodium says whether it is. */
static void expect_key(const struct wire_method *method)
{
	unsigned char bytes[64];
	size_t got = 0, n = strlen(out);
	int variant = secret_family(method) == SECRET_SIP022 ? sodium_base64_VARIANT_ORIGINAL
							     : sodium_base64_VARIANT_URLSAFE;

	assert_true(n > 1 && out[n - 1] == '\n');
	assert_int_equal(sodium_base642bin(bytes, sizeof bytes, out, n - 1, NULL, &got, NULL,
					   variant),
			 0);
	assert_int_equal(got, wire_key_len(method));
}

static void no_options(void **state)
{
	char unknown[] = "-x";

	(void)state;
	assert_int_equal(run(unknown), 1);
	assert_string_equal(out, "");
	assert_non_null(strstr(err, "ss-key: -x is no option\nusage: "));
}

static void a_key_for_every_method(void **state)
{
	char before[sizeof out], name[64];

	(void)state;
	for (unsigned i = 0; wire_list(i); i++) {
		const struct wire_method *method = wire_list(i);

		snprintf(name, sizeof name, "%s", method->name);
		if (secret_family(method) == SECRET_NONE) {
			assert_int_equal(run(name), 1);
			assert_non_null(strstr(err, "has no key"));
			continue;
		}
		if (!wire_built(method)) {
			assert_int_equal(run(name), 1);
			assert_non_null(strstr(err, "not in this build"));
			continue;
		}
		assert_int_equal(run(name), 0);
		expect_key(method);
		memcpy(before, out, sizeof before);
		for (char *p = name; *p; p++)
			*p = (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
		assert_int_equal(run(name), 0);
		expect_key(method);
		assert_string_not_equal(before, out);
	}
}

static void what_it_makes_is_taken(void **state)
{
	(void)state;
	for (unsigned i = 0; wire_list(i); i++) {
		const struct wire_method *method = wire_list(i);
		bool new = secret_family(method) == SECRET_SIP022;
		struct options_reason *reason = NULL; /* not needed where nothing is wrong */
		struct wire_key key;
		char text[SECRET_TEXT];

		if (!wire_built(method))
			continue;
		secret_fresh(method, text);
		assert_int_equal(secret_make(&key, method, new ? text : NULL, text, true, reason),
				 0);
		secret_forget(&key);
	}
}

static void help_and_mistakes(void **state)
{
	char help[] = "-h", unknown[] = "rot13";

	(void)state;
	assert_int_equal(run(help), 0);
	assert_non_null(strstr(out, "usage: ss-key METHOD"));
	assert_non_null(strstr(out, "aes-256-gcm"));
	assert_string_equal(err, "");
	assert_int_equal(run(NULL), 1);
	assert_non_null(strstr(err, "usage: ss-key METHOD"));
	assert_string_equal(out, "");
	assert_int_equal(run(unknown), 1);
	assert_string_equal(err, "ss-key: rot13 is no method that is built in; -h lists them\n");
	assert_string_equal(out, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_for_every_method),
		cmocka_unit_test(no_options),
		cmocka_unit_test(what_it_makes_is_taken),
		cmocka_unit_test(help_and_mistakes),
	};

	return crypto_open() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
