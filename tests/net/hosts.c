/* Hosts files: every way people write them, names on many lines, and sizes (DN11). */
#include "net/hosts.h"

#include "tests/unit.h"

#include <time.h>

static struct hosts hosts;

static int setup(void **state)
{
	(void)state;
	return hosts_open(&hosts);
}

static int teardown(void **state)
{
	(void)state;
	hosts_close(&hosts);
	return 0;
}

static void load(const char *text)
{
	memcpy(hosts.text, text, strlen(text));
	hosts_index(&hosts, strlen(text));
}

static const char *find(const char *name)
{
	static char text[2000];
	struct address found[32];
	unsigned count = hosts_find(&hosts, name, found, 32);
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < count; i++) {
		struct sockaddr_storage at;
		char one[ENDPOINT_TEXT];
		address_socket(&found[i], 0, &at);
		socket_print((struct sockaddr *)&at, false, one, sizeof(one));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 0 ? " " : "", one);
	}
	return text;
}

static void forms(void **state)
{
	(void)state;
	load("127.0.0.1 localhost\n"
	     "# 10.0.0.1 comment\n"
	     "10.0.0.2\tTabs \t Two#three four\r\n"
	     "\r\n"
	     "   10.0.0.3 Leading dot. \n"
	     "::1 localhost ip6\n"
	     "::ffff:10.0.0.4 mapped\n"
	     "fe80::1%lo0 zone\n"
	     "not-an-address bad\n"
	     "127.1 odd\n"
	     "10.0.0.5\n"
	     "10.0.0.6 last");
	assert_string_equal(find("localhost"), "127.0.0.1 ::1");
	assert_string_equal(find("comment"), "");
	assert_string_equal(find("tabs"), "10.0.0.2");
	assert_string_equal(find("two"), "10.0.0.2");
	assert_string_equal(find("three"), "");
	assert_string_equal(find("leading"), "10.0.0.3");
	assert_string_equal(find("dot"), "10.0.0.3");
	assert_string_equal(find("ip6"), "::1");
	assert_string_equal(find("mapped"), "10.0.0.4");
	assert_string_equal(find("zone"), "");
	assert_string_equal(find("bad"), "");
	assert_string_equal(find("odd"), "");
	assert_string_equal(find("10.0.0.5"), "");
	assert_string_equal(find("last"), "10.0.0.6");
	assert_string_equal(find("las"), "");
	assert_string_equal(find("lastx"), "");
	assert_string_equal(find(""), "");
}

static void empty_and_again(void **state)
{
	(void)state;
	assert_string_equal(find("localhost"), "");
	load("1.2.3.4 a");
	assert_string_equal(find("a"), "1.2.3.4");
	load("");
	assert_string_equal(find("a"), "");
	load("#");
	load("# no end");
	load("\n\n#\n1.2.3.4 a #");
	assert_string_equal(find("a"), "1.2.3.4");
}

static void zero_bytes(void **state)
{
	(void)state;
	memcpy(hosts.text, "\0\0001.2.3.4\0a\0\n5.6.7.8 b", 23);
	hosts_index(&hosts, 23);
	assert_string_equal(find("a"), "1.2.3.4");
	assert_string_equal(find("b"), "5.6.7.8");
}

/* A line "10.x.y.z names", with i for each '#': its length. */
static size_t line(char *to, unsigned i, const char *names)
{
	char *at = to + snprintf(to, 20, "10.%u.%u.%u ", i >> 16 & 255, i >> 8 & 255, i & 255);

	for (; *names != '\0'; names++)
		if (*names == '#')
			at += snprintf(at, 12, "%u", i);
		else
			*at++ = *names;
	*at++ = '\n';
	return (size_t)(at - to);
}

static void many_lines_of_one_name(void **state)
{
	(void)state;
	size_t n = 0;

	for (unsigned i = 0; i < 20000; i++)
		n += line(hosts.text + n, i, "same");
	hosts_index(&hosts, n);
	struct address found[40];
	assert_int_equal(hosts_find(&hosts, "same", found, 40), 32);
	assert_int_equal(found[31].ip[3], 31);
	assert_int_equal(hosts_find(&hosts, "same", found, 3), 3);
}

static long cpu_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void fifty_thousand_lines(void **state)
{
	(void)state;
	char name[40];
	size_t n = 0;

	for (unsigned i = 0; i < 50000; i++)
		n += line(hosts.text + n, i, "Name-# Alias#\r");
	long start = cpu_us();
	hosts_index(&hosts, n);
	assert_true(cpu_us() - start < 1000000);
	start = cpu_us();
	for (unsigned i = 0; i < 50000; i += 50) {
		snprintf(name, sizeof(name), i % 100 ? "alias%u" : "name-%u", i);
		struct address found;
		assert_int_equal(hosts_find(&hosts, name, &found, 1), 1);
		assert_int_equal(found.ip[3], i & 255);
		assert_int_equal(hosts_find(&hosts, "no.such.name", &found, 1), 0);
	}
	assert_true(cpu_us() - start < 500000); /* a thousand of each */
}

static void too_many_names(void **state)
{
	(void)state;
	size_t n = 0;

	for (unsigned i = 0; i < HOSTS_NAMES + 10; i++)
		n += line(hosts.text + n, i, "n#");
	assert_true(n < HOSTS_TEXT);
	hosts_index(&hosts, n);
	assert_int_equal(hosts.left_out, 10);
	assert_string_equal(find("n0"), "10.0.0.0");
	snprintf(hosts.text + n, 20, "n%u", HOSTS_NAMES - 1);
	assert_string_not_equal(find(hosts.text + n), "");
	snprintf(hosts.text + n, 20, "n%u", (unsigned)HOSTS_NAMES);
	assert_string_equal(find(hosts.text + n), "");
}

static void largest_file(void **state)
{
	(void)state;
	memset(hosts.text, 'x', HOSTS_TEXT);
	memcpy(hosts.text, "1.2.3.4 ", 8);
	hosts_index(&hosts, HOSTS_TEXT);
	assert_string_equal(find("x"), "");
	memset(hosts.text, '#', HOSTS_TEXT);
	hosts_index(&hosts, HOSTS_TEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(forms, setup, teardown),
		cmocka_unit_test_setup_teardown(empty_and_again, setup, teardown),
		cmocka_unit_test_setup_teardown(zero_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(many_lines_of_one_name, setup, teardown),
		cmocka_unit_test_setup_teardown(fifty_thousand_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_names, setup, teardown),
		cmocka_unit_test_setup_teardown(largest_file, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
