/* Which name servers: -d lists and resolv.conf, well and badly written. */
#include "net/nameservers.h"

#include "tests/unit.h"

static const char *print(const struct nameservers *servers)
{
	static char text[2000];
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < servers->count; i++) {
		struct sockaddr_storage at;
		char one[ENDPOINT_TEXT];
		address_socket(&servers->servers[i].address, servers->servers[i].port, &at);
		socket_print((struct sockaddr *)&at, true, one, sizeof(one));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 0 ? " " : "", one);
	}
	for (unsigned i = 0; i < servers->suffix_count; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " .%s", servers->suffixes[i]);
	return text;
}

static void lists(void **state)
{
	(void)state;
	static const struct {
		const char *text, *want; /* NULL: malformed */
	} cases[] = {
		{ "8.8.8.8", "8.8.8.8:53" },
		{ "8.8.8.8,1.1.1.1:5353", "8.8.8.8:53 1.1.1.1:5353" },
		{ "2001:db8::1,[2001:db8::2]:54,::1",
		  "[2001:db8::1]:53 [2001:db8::2]:54 [::1]:53" },
		{ " 8.8.8.8 , 1.1.1.1,", "8.8.8.8:53 1.1.1.1:53" },
		{ "1.0.0.1,1.0.0.2,1.0.0.3,1.0.0.4,1.0.0.5,1.0.0.6,1.0.0.7,1.0.0.8,1.0.0.9",
		  "1.0.0.1:53 1.0.0.2:53 1.0.0.3:53 1.0.0.4:53 1.0.0.5:53 1.0.0.6:53 1.0.0.7:53 "
		  "1.0.0.8:53" },
		{ "", NULL },
		{ ",", NULL },
		{ "start", NULL },
		{ "8.8.8.8,dns.test", NULL },
		{ "8.8.8", NULL },
		{ "8.8.8.8:", "8.8.8.8:53" },
		{ "8.8.8.8:66000", NULL },
		{ "fe80::1%eth0", NULL },
	};
	struct nameservers servers;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(nameservers_list(&servers, cases[i].text),
				 cases[i].want != NULL ? 0 : -1);
		if (cases[i].want != NULL)
			assert_string_equal(print(&servers), cases[i].want);
	}
	char text[1000];
	memset(text, '1', sizeof(text));
	text[999] = '\0';
	assert_int_equal(nameservers_list(&servers, text), -1);
}

static void files(void **state)
{
	(void)state;
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "" },
		{ "nameserver 8.8.8.8\n", "8.8.8.8:53" },
		{ "nameserver\t8.8.8.8 \r\n  nameserver ::1", "8.8.8.8:53 [::1]:53" },
		{ "# nameserver 1.1.1.1\n;nameserver 1.1.1.2\nnameserver 1.1.1.3 # x\n",
		  "1.1.1.3:53" },
		{ "nameservers 1.1.1.1\nNAMESERVER 1.1.1.2\nnameserver\nnameserver x\n", "" },
		{ "nameserver fe80::1%eth0\nnameserver 1.1.1.1\n", "1.1.1.1:53" },
		{ "options ndots:5 timeout:1\nsortlist 1.1.1.1\n", "" },
		{ "search a.test b.test.\n", " .a.test .b.test" },
		{ "search a.test\ndomain c.test\n", " .c.test" },
		{ "search 1 2 3.4.5.6 a b c d e f g h\n", " .a .b .c .d .e .f" },
		{ "search .\n", "" },
	};
	struct nameservers servers;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = strlen(cases[i].text);
		char *text = malloc(n + 1); /* so that reading past the end is seen */
		memcpy(text + 1, cases[i].text, n);
		nameservers_resolv_conf(&servers, text + 1, n);
		free(text);
		assert_string_equal(print(&servers), cases[i].want);
	}
}

/* Lists are compared as bytes to see whether anything changed. */
static void same_bytes(void **state)
{
	(void)state;
	struct nameservers a, b;
	const char text[] = "nameserver 1.2.3.4\nnameserver ::5\nsearch x.test\n";

	memset(&a, 0x55, sizeof(a));
	memset(&b, 0xaa, sizeof(b));
	nameservers_resolv_conf(&a, text, strlen(text));
	nameservers_resolv_conf(&b, text, strlen(text));
	assert_memory_equal(&a, &b, sizeof(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(files),
		cmocka_unit_test(same_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
