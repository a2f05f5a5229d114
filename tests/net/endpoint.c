/*
 * Endpoints: their form on the wire byte by byte, every odd spelling of an address
 * (SK09), host:port strings (CF05), names at their limits (SK05).
 */
#include "net/endpoint.h"

#include "tests/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

static const char *print(const struct endpoint *e)
{
	static char text[ENDPOINT_TEXT];
	return endpoint_print(e, text, sizeof(text));
}

static struct endpoint named(const char *name, uint16_t port)
{
	struct endpoint e = { .type = ENDPOINT_NAME, .len = (uint8_t)strlen(name), .port = port };
	memcpy(e.host, name, e.len);
	return e;
}

/* Labels of `label` letters up to n bytes in all. */
static const char *long_name(size_t n, size_t label)
{
	static char text[400];
	for (size_t i = 0; i < n; i++)
		text[i] = (i + 1) % (label + 1) == 0 && i + 1 < n ? '.' : 'a';
	text[n] = '\0';
	return text;
}

/* Every prefix needs more; the whole is read with and without bytes behind it; writing gives
 * the same bytes. */
static void check_wire(const void *bytes, size_t n, const char *text)
{
	unsigned char in[ENDPOINT_WIRE_MAX + 1], out[ENDPOINT_WIRE_MAX];
	struct endpoint e;

	memset(in, 0xee, sizeof(in));
	memcpy(in, bytes, n);
	for (size_t i = 0; i < n; i++) {
		unsigned char *prefix = malloc(i + 1); /* so that reading past it is seen */
		memcpy(prefix + 1, in, i);
		assert_int_equal(endpoint_read(&e, prefix + 1, i), 0);
		free(prefix);
	}
	assert_int_equal(endpoint_read(&e, in, n), n);
	assert_int_equal(endpoint_read(&e, in, n + 1), n);
	assert_string_equal(print(&e), text);
	assert_int_equal(endpoint_write(&e, out), n);
	assert_memory_equal(out, bytes, n);
}

static void wire(void **state)
{
	(void)state;
	check_wire("\1\xc0\0\2\1\0\x35", 7, "192.0.2.1:53");
	check_wire("\4\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\x1f\x90", 19, "[2001:db8::1]:8080");
	check_wire("\3\x0b"
		   "example.com\0\x50",
		   15, "example.com:80");
	check_wire("\3\1"
		   "a\xff\xff",
		   5, "a:65535");
	check_wire("\3\3"
		   "1.2\0\0",
		   7, "1.2:0");
}

static void wire_longest(void **state)
{
	(void)state;
	unsigned char in[ENDPOINT_WIRE_MAX] = { 3, 255 };
	char text[ENDPOINT_TEXT];

	memset(text, 'a', 255);
	memcpy(text + 255, ":443", 5);
	memset(in + 2, 'a', 255);
	in[257] = 1;
	in[258] = 0xbb;
	check_wire(in, sizeof(in), text);
}

static void wire_malformed(void **state)
{
	(void)state;
	struct endpoint e;

	for (unsigned type = 0; type < 256; type++) {
		unsigned char byte = (unsigned char)type;
		bool known = type == 1 || type == 3 || type == 4;
		assert_int_equal(endpoint_read(&e, &byte, 1), known ? 0 : -1);
	}
	assert_int_equal(endpoint_read(&e, (const unsigned char *)"\3", 1), 0);
	assert_int_equal(endpoint_read(&e, (const unsigned char *)"\3\0", 2), -1);
	assert_int_equal(endpoint_read(&e, (const unsigned char *)"\3\3a\0b\0\x50", 7), -1);
}

/* A name is taken as it was sent, and printed without what would garble a terminal or a log. */
static void wire_odd_names(void **state)
{
	(void)state;
	struct endpoint e;
	char small[6];

	assert_int_equal(endpoint_read(&e,
				       (const unsigned char *)"\3\6"
							      "a \n\xff%s\0\1",
				       10),
			 10);
	assert_memory_equal(e.host, "a \n\xff%s", 7);
	assert_string_equal(print(&e), "a???%s:1");
	assert_false(endpoint_resolvable(&e));
	assert_string_equal(endpoint_print(&e, small, sizeof(small)), "a???%");
	assert_string_equal(endpoint_print(&e, small, 1), "");
}

static void literals_as_names(void **state) /* SK09 */
{
	(void)state;
	static const struct {
		const char *name, *text; /* NULL: stays a name, and is not resolvable */
	} cases[] = {
		{ "127.0.0.1", "127.0.0.1:7" },
		{ "127.0.0.1.", "127.0.0.1:7" },
		{ "0.0.0.0", "0.0.0.0:7" },
		{ "255.255.255.255", "255.255.255.255:7" },
		{ "::1", "[::1]:7" },
		{ "::1.", "[::1]:7" },
		{ "::", "[::]:7" },
		{ "[::1]", "[::1]:7" },
		{ "[::1].", "[::1]:7" },
		{ "2001:DB8::A", "[2001:db8::a]:7" },
		{ "2001:db8:1111:2222:3333:4444:5555:6666",
		  "[2001:db8:1111:2222:3333:4444:5555:6666]:7" },
		{ "::ffff:127.0.0.1", "127.0.0.1:7" },
		{ "[::FFFF:7f00:1]", "127.0.0.1:7" },
		{ "0:0:0:0:0:ffff:127.0.0.1", "127.0.0.1:7" },
		{ "127.1", NULL },
		{ "127.1.", NULL },
		{ "127.0.1", NULL },
		{ "0x7f.1", NULL },
		{ "0X7F.0.0.1", NULL },
		{ "0x7f000001", NULL },
		{ "0x", NULL },
		{ "2130706433", NULL },
		{ "017700000001", NULL },
		{ "0177.0.0.1", NULL },
		{ "127.0.0.01", NULL },
		{ "127.0.0.256", NULL },
		{ "127.0.0.0x1", NULL },
		{ "1.2.3.4.5", NULL },
		{ "127.0.0.1..", NULL },
		{ "127.0.0.1 ", NULL },
		{ " 127.0.0.1", NULL },
		{ "[127.0.0.1]", NULL },
		{ "[::1", NULL },
		{ "::1]", NULL },
		{ "[[::1]]", NULL },
		{ "[]", NULL },
		{ "::1%lo", NULL },
		{ ":::1", NULL },
		{ "1::2::3", NULL },
		{ "host.123", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct endpoint e = named(cases[i].name, 7);
		assert_int_equal(endpoint_resolvable(&e), cases[i].text != NULL);
		endpoint_normalise(&e);
		assert_int_equal(endpoint_resolvable(&e), cases[i].text != NULL);
		if (cases[i].text != NULL) {
			assert_int_not_equal(e.type, ENDPOINT_NAME);
			assert_string_equal(print(&e), cases[i].text);
		} else {
			assert_int_equal(e.type, ENDPOINT_NAME);
			assert_string_equal(e.host, cases[i].name);
		}
	}
}

static void mapped_on_the_wire(void **state)
{
	(void)state;
	struct endpoint e;
	const unsigned char in[19] = { 4, [11] = 0xff, [12] = 0xff, 10, 1, 2, 3, 0, 9 };

	assert_int_equal(endpoint_read(&e, in, sizeof(in)), 19);
	assert_int_equal(e.type, ENDPOINT_IPV6);
	endpoint_normalise(&e);
	assert_int_equal(e.len, 4);
	assert_string_equal(print(&e), "10.1.2.3:9");
}

static void resolvable(void **state) /* SK05 */
{
	(void)state;
	static const struct {
		const char *name;
		bool good;
	} cases[] = {
		{ "localhost", true },	  { "example.com", true },
		{ "example.com.", true }, { "a", true },
		{ "_dmarc.x", true },	  { "a_b.c-d.e", true },
		{ "1.2.3.com", true },	  { "0x7f.com", true },
		{ "xn--p1ai", true },	  { "1a", true },
		{ "0xg", true },	  { ".", false },
		{ ".a", false },	  { "a..b", false },
		{ "a..", false },	  { "-a", false },
		{ "a-", false },	  { "a.-b", false },
		{ "a-.b", false },	  { "a b", false },
		{ "a/b", false },	  { "p\xc3\xa4.x", false },
		{ "a:b", false },	  { "*.a", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct endpoint e = named(cases[i].name, 0);
		assert_int_equal(endpoint_resolvable(&e), cases[i].good);
	}
	static const struct {
		size_t n, label;
		bool good;
	} lengths[] = { { 253, 63, true },  { 253, 61, true }, { 254, 63, false },
			{ 255, 63, false }, { 63, 63, true },  { 64, 64, false },
			{ 255, 300, false } };
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct endpoint e = named(long_name(lengths[i].n, lengths[i].label), 0);
		assert_int_equal(endpoint_resolvable(&e), lengths[i].good);
	}
	struct endpoint dotted = named(long_name(253, 63), 0);
	dotted.host[dotted.len++] = '.';
	assert_true(endpoint_resolvable(&dotted));
	struct endpoint none = { .type = ENDPOINT_NONE };
	assert_false(endpoint_resolvable(&none));
}

static void parse(void **state) /* CF05 */
{
	(void)state;
	static const struct {
		const char *text, *want; /* NULL: malformed */
	} cases[] = {
		{ "127.0.0.1:8388", "127.0.0.1:8388" },
		{ "[::1]:8388", "[::1]:8388" },
		{ "[::1]", "[::1]:99" },
		{ "::1", "[::1]:99" },
		{ "::", "[::]:99" },
		{ "127.0.0.1:", "127.0.0.1:99" },
		{ "127.0.0.1", "127.0.0.1:99" },
		{ "[::1]:", "[::1]:99" },
		{ "[::ffff:1.2.3.4]:5", "1.2.3.4:5" },
		{ "host", "host:99" },
		{ "host:0", "host:0" },
		{ "host:65535", "host:65535" },
		{ "host.:00001", "host.:1" },
		{ "2001:db8::1:8388", "[2001:db8::1:8388]:99" },
		{ ":8388", NULL },
		{ "[::1", NULL },
		{ "]", NULL },
		{ "[", NULL },
		{ "[]", NULL },
		{ "[]:80", NULL },
		{ "", NULL },
		{ ":", NULL },
		{ "::::", NULL },
		{ "a:b:c", NULL },
		{ "a:b", NULL },
		{ "a:80x", NULL },
		{ "a:-1", NULL },
		{ "a:+1", NULL },
		{ "a: 1", NULL },
		{ "a:65536", NULL },
		{ "a:000001", NULL },
		{ "a:99999999999999999999", NULL },
		{ "[::1]80", NULL },
		{ "[::1]]:80", NULL },
		{ "[::1]:80:80", NULL },
		{ "[127.0.0.1]:80", NULL },
		{ "127.1:80", NULL },
		{ "a b:80", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct endpoint e;
		char *text = strdup(cases[i].text); /* so that reading past it is seen */
		int got = endpoint_parse(&e, text, 99);
		free(text);
		assert_int_equal(got, cases[i].want != NULL ? 0 : -1);
		if (got == 0)
			assert_string_equal(print(&e), cases[i].want);
	}
	struct endpoint e;
	assert_int_equal(endpoint_parse(&e, long_name(300, 300), 1), -1);
	assert_int_equal(endpoint_parse(&e, long_name(300, 30), 1), -1);
	assert_int_equal(endpoint_parse(&e, long_name(253, 30), 1), 0);
	assert_int_equal(e.len, 253);
}

static void sockets(void **state)
{
	(void)state;
	static const char *const texts[] = { "192.0.2.1:53", "[2001:db8::1]:8080", "0.0.0.0:0",
					     "[::]:1" };
	struct sockaddr_storage to;
	struct endpoint e, back;
	char text[ENDPOINT_TEXT];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(endpoint_parse(&e, texts[i], 0), 0);
		socklen_t n = endpoint_socket(&e, &to);
		assert_int_equal(n, e.len == 4 ? sizeof(struct sockaddr_in)
					       : sizeof(struct sockaddr_in6));
		endpoint_from_socket(&back, (struct sockaddr *)&to);
		assert_string_equal(print(&back), texts[i]);
		assert_string_equal(socket_print((struct sockaddr *)&to, true, text, sizeof(text)),
				    texts[i]);
	}
	struct endpoint name = named("example.com", 80);
	assert_int_equal(endpoint_socket(&name, &to), 0);
}

static void addresses(void **state)
{
	(void)state;
	struct address v4 = { .family = 4, .ip = { 192, 0, 2, 7 } };
	struct address v6 = { .family = 6, .ip = { 0x20, 1, 0xd, 0xb8, [15] = 9 } };
	struct address mapped = { .family = 6, .ip = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 } };
	struct sockaddr_storage to;
	char text[ENDPOINT_TEXT];

	assert_int_equal(address_socket(&v4, 80, &to), sizeof(struct sockaddr_in));
	assert_string_equal(socket_print((struct sockaddr *)&to, true, text, sizeof(text)),
			    "192.0.2.7:80");
	assert_string_equal(socket_print((struct sockaddr *)&to, false, text, sizeof(text)),
			    "192.0.2.7");
	assert_int_equal(address_socket(&v6, 443, &to), sizeof(struct sockaddr_in6));
	assert_string_equal(socket_print((struct sockaddr *)&to, true, text, sizeof(text)),
			    "[2001:db8::9]:443");
	assert_string_equal(socket_print((struct sockaddr *)&to, false, text, sizeof(text)),
			    "2001:db8::9");
	address_socket(&mapped, 1, &to);
	assert_string_equal(socket_print((struct sockaddr *)&to, true, text, sizeof(text)),
			    "10.0.0.1:1");
	assert_string_equal(socket_print((struct sockaddr *)&to, false, text, 5), "10.0");
}

static void address_of(void **state)
{
	(void)state;
	struct endpoint e = named("example.com", 1);
	struct address address;

	assert_false(endpoint_address(&e, &address));
	assert_int_equal(endpoint_parse(&e, "[2001:db8::7]:1", 0), 0);
	assert_true(endpoint_address(&e, &address));
	assert_int_equal(address.family, 6);
	assert_int_equal(address.ip[15], 7);
	address_set(&address, 6, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\1\2\3");
	assert_int_equal(address.family, 4);
	assert_memory_equal(address.ip, "\x0a\1\2\3\0\0\0\0\0\0\0\0\0\0\0", 16);
	address_set(&address, 4, "\x0a\1\2\4");
	assert_int_equal(address.ip[3], 4);

	struct sockaddr_storage at = { 0 };
	assert_int_equal(address_from_socket(&address, (struct sockaddr *)&at), 0);
	assert_int_equal(address.family, 0);
	assert_int_equal(endpoint_parse(&e, "[2001:db8::7]:443", 0), 0);
	endpoint_socket(&e, &at);
	assert_int_equal(address_from_socket(&address, (struct sockaddr *)&at), 443);
	assert_int_equal(address.family, 6);
	struct address mapped = { .family = 6, .ip = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 } };
	endpoint_from_address(&e, &mapped, 80);
	assert_string_equal(print(&e), "10.0.0.1:80");
	address_socket(&mapped, 81, &at);
	assert_int_equal(address_from_socket(&address, (struct sockaddr *)&at), 81);
	assert_int_equal(address.family, 4);
}

static void read_alone(void **state)
{
	(void)state;
	static const char *const none[] = { "",		  "a.test", "127.1", "192.0.2.256",
					    "fe80::1%lo", "::1]" };
	struct address address;

	assert_true(address_read(&address, "192.0.2.7/24", 9)); /* no more than it is told */
	assert_int_equal(address.family, 4);
	assert_memory_equal(address.ip, "\300\0\2\7\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_true(address_read(&address, "[2001:db8::9]", 13));
	assert_int_equal(address.family, 6);
	assert_int_equal(address.ip[15], 9);
	assert_true(address_read(&address, "::ffff:10.0.0.1.", 16));
	assert_int_equal(address.family, 4);
	assert_int_equal(address.ip[0], 10);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(address_read(&address, none[i], strlen(none[i])));
}

static void compared(void **state)
{
	(void)state;
	struct address v4 = { .family = 4, .ip = { 192, 0, 2, 7, 1 } };
	struct address same = { .family = 4, .ip = { 192, 0, 2, 7, 2 } };
	struct address v6 = { .family = 6, .ip = { 192, 0, 2, 7, 1 } };
	struct address other = { .family = 6, .ip = { 192, 0, 2, 7, 1, [15] = 1 } };
	struct address any4 = { .family = 4, .ip = { [4] = 1 } }, any6 = { .family = 6 };

	assert_true(address_equal(&v4, &same)); /* what is behind an address does not count */
	assert_false(address_equal(&v4, &v6));
	assert_false(address_equal(&v6, &other));
	assert_false(address_equal(&any4, &any6));
	assert_true(address_is_any(&any4));
	assert_true(address_is_any(&any6));
	any4.ip[3] = any6.ip[15] = 1;
	assert_false(address_is_any(&any4));
	assert_false(address_is_any(&any6));
}

static void other_families(void **state)
{
	(void)state;
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct endpoint e;
	char text[ENDPOINT_TEXT];

	endpoint_from_socket(&e, (struct sockaddr *)&un);
	assert_int_equal(e.type, ENDPOINT_NONE);
	assert_string_equal(print(&e), "-:0");
	assert_string_equal(socket_print((struct sockaddr *)&un, false, text, sizeof(text)), "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire),
		cmocka_unit_test(wire_longest),
		cmocka_unit_test(wire_malformed),
		cmocka_unit_test(wire_odd_names),
		cmocka_unit_test(literals_as_names),
		cmocka_unit_test(mapped_on_the_wire),
		cmocka_unit_test(resolvable),
		cmocka_unit_test(parse),
		cmocka_unit_test(sockets),
		cmocka_unit_test(addresses),
		cmocka_unit_test(address_of),
		cmocka_unit_test(read_alone),
		cmocka_unit_test(compared),
		cmocka_unit_test(other_families),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
