/* Lists of networks: what is one and what is not, files with mistakes, and what is left when they are merged. */
#include "applets/nat.h"
#include "tests/getline.h"
#include "tests/unit.h"

#include <unistd.h>

static struct nat_list list;

static int teardown(void **state)
{
	(void)state;
	nat_list_free(&list);
	return 0;
}

static void expect_entries(const char *const *texts, unsigned n)
{
	char text[NAT_CIDR_TEXT];

	assert_int_equal(list.count, n);
	for (unsigned i = 0; i < n; i++)
		assert_string_equal(nat_cidr_print(&list.all[i], text), texts[i]);
}

static void addresses_and_networks(void **state)
{
	static const char *const texts[] = { "192.0.2.1/32",	"10.0.0.0/8", "0.0.0.0/0",
					     "2001:db8::1/128", "2000::/3",   "1.2.3.0/24" };

	(void)state;
	assert_int_equal(nat_list_add(&list, "192.0.2.1"), 0);
	assert_int_equal(nat_list_add(&list, "10.1.2.3/8"), 0); /* bits past the prefix go */
	assert_int_equal(nat_list_add(&list, "1.2.3.4/0"), 0);
	assert_int_equal(nat_list_add(&list, "2001:db8::1"), 0);
	assert_int_equal(nat_list_add(&list, "2001:db8::1/3"), 0);
	assert_int_equal(nat_list_add(&list, "::ffff:1.2.3.4/120"), 0); /* IPv4-mapped is IPv4 */
	expect_entries(texts, 6);
}

static void what_is_none(void **state)
{
	static const char *const wrong[] = {
		"",
		"/8",
		"10.0.0.0/",
		"10.0.0.0/33",
		"10.0.0.0/-1",
		"10.0.0.0/8x",
		"10.0.0/8",
		"10.0.0.0/08 ",
		"::/129",
		"example.com",
		"10.0.0.1:80",
		"[::1]:80",
		"::ffff:1.2.3.4/95",
		"1.2.3.4/0032",
		"fe80::1%lan",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(nat_list_add(&list, wrong[i]), -1);
	assert_int_equal(list.count, 0);
}

static void words(void **state)
{
	static const char text[] = " 10.0.0.0/8,192.0.2.1\n\tfd00::/8 nonsense 1.1.1.1";

	(void)state;
	assert_ptr_equal(nat_list_words(&list, text), strstr(text, "nonsense"));
	assert_int_equal(list.count, 3);
	assert_null(nat_list_words(&list, " ,, "));
	assert_int_equal(list.count, 3);
}

static void what_others_cover_goes(void **state)
{
	static const char *const texts[] = { "10.0.0.0/8", "11.0.0.0/16", "11.1.0.0/16",
					     "fd00::/8" };

	(void)state;
	assert_null(nat_list_words(&list, "11.1.0.0/16 10.200.0.0/16 fd00::1 10.0.0.0/8 fd00::/8 "
					  "10.0.0.0/8 10.0.0.0/9 10.0.0.1 11.0.0.0/16 11.1.2.3"));
	nat_list_merge(&list);
	expect_entries(texts, 4);
}

static int read_bytes(const char *text, size_t length, char *why, size_t n)
{
	char path[] = "/tmp/ss-nat-list-XXXXXX";
	int fd = mkstemp(path), result;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), length);
	close(fd);
	result = nat_list_file(&list, path, why, n);
	unlink(path);
	return result;
}

static int read_text(const char *text, char *why, size_t n)
{
	return read_bytes(text, strlen(text), why, n);
}

static void a_file(void **state)
{
	char why[200];

	(void)state;
	assert_int_equal(read_text("# networks\n10.0.0.0/8 # mine\r\n\n  fd00::/8\n1.2.3.4", why,
				   sizeof(why)),
			 0);
	assert_int_equal(list.count, 3);
}

static void a_file_with_a_mistake(void **state)
{
	char why[200];

	(void)state;
	assert_int_equal(read_text("10.0.0.0/8\n\n1.2.3.4/33\r\n5.6.7.8\n", why, sizeof(why)), -1);
	assert_non_null(strstr(why, ":3: '1.2.3.4/33' is neither an address nor a network"));
	assert_int_equal(read_text("10.0.0.0/8\n\x1b[2J; rm -rf\n", why, sizeof(why)), -1);
	assert_non_null(strstr(why, ":2: '?[2J;' is"));
	assert_int_equal(nat_list_file(&list, "/nowhere/at/all", why, sizeof(why)), -1);
	assert_non_null(strstr(why, "cannot open /nowhere/at/all: "));
	assert_int_equal(nat_list_file(&list, "/", why, sizeof(why)), -1);
	assert_non_null(strstr(why, "cannot read /: "));
}

/* Not the end of the line: what is behind it would be proxied, or not. */
static void a_file_with_a_nul(void **state)
{
	static const char text[] = "# \0\n10.0.0.0/8 \0 11.0.0.0/8\n", good[] = "1.2.3.4 # \0\n";
	char why[200];

	(void)state;
	assert_int_equal(read_bytes(text, sizeof(text) - 1, why, sizeof(why)), -1);
	assert_non_null(strstr(why, ":2: '?' is neither"));
	assert_int_equal(read_bytes(good, sizeof(good) - 1, why, sizeof(why)), 0);
}

/* What is missing would be proxied, or not. */
static void a_file_without_memory(void **state)
{
	static const char text[] = "10.0.0.0/8\n11.0.0.0/8\n12.0.0.0/8\n";
	char why[200];

	(void)state;
	for (unsigned n = 0; n <= 3; n++) {
		lines_left = n;
		assert_int_equal(read_text(text, why, sizeof(why)), -1);
		assert_non_null(strstr(why, "cannot read /tmp/ss-nat-list-"));
		assert_non_null(strstr(why, strerror(ENOMEM)));
	}
	nat_list_free(&list);
	lines_left = 4; /* and the end */
	assert_int_equal(read_text(text, why, sizeof(why)), 0);
	assert_int_equal(list.count, 3);
	lines_left = UINT_MAX;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(addresses_and_networks, teardown),
		cmocka_unit_test_teardown(what_is_none, teardown),
		cmocka_unit_test_teardown(words, teardown),
		cmocka_unit_test_teardown(what_others_cover_goes, teardown),
		cmocka_unit_test_teardown(a_file, teardown),
		cmocka_unit_test_teardown(a_file_with_a_mistake, teardown),
		cmocka_unit_test_teardown(a_file_with_a_nul, teardown),
		cmocka_unit_test_teardown(a_file_without_memory, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
