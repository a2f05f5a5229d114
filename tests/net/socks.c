/*
 * SOCKS5: the messages of RFC 1928 and RFC 1929 in every prefix (SK01), method lists (SK03), commands
 * (SK07), logins (SK17).
 */
#include "net/socks.h"

#include "tests/unit.h"

static const unsigned char *bytes(const char *text)
{
	return (const unsigned char *)text;
}

static enum socks_method offered(const char *text, size_t n, enum socks_method wanted)
{
	enum socks_method method = (enum socks_method)0x55;
	size_t used = 2 + bytes(text)[1];

	for (size_t i = 0; i < used; i++)
		assert_int_equal(socks_read_greeting(bytes(text), i, wanted, &method), 0);
	assert_int_equal(method, 0x55);
	assert_int_equal(socks_read_greeting(bytes(text), n, wanted, &method), used);
	return method;
}

static void greeting(void **state) /* SK03 */
{
	(void)state;
	assert_int_equal(offered("\5\1\0", 3, SOCKS_NO_AUTH), SOCKS_NO_AUTH);
	assert_int_equal(offered("\5\3\2\1\0", 5, SOCKS_NO_AUTH), SOCKS_NO_AUTH);
	assert_int_equal(offered("\5\2\0\2", 4, SOCKS_PASSWORD), SOCKS_PASSWORD);
	assert_int_equal(offered("\5\1\0", 3, SOCKS_PASSWORD), SOCKS_NONE);
	assert_int_equal(offered("\5\1\2", 3, SOCKS_NO_AUTH), SOCKS_NONE);
	assert_int_equal(offered("\5\2\1\x80", 4, SOCKS_NO_AUTH), SOCKS_NONE);
	assert_int_equal(offered("\5\0", 2, SOCKS_NO_AUTH), SOCKS_NONE);
	assert_int_equal(offered("\5\0\0", 3, SOCKS_NO_AUTH), SOCKS_NONE);
	assert_int_equal(offered("\5\1\2\0", 4, SOCKS_NO_AUTH),
			 SOCKS_NONE); /* the 00 is behind the list */
}

static void greeting_longest(void **state)
{
	(void)state;
	char text[257] = { 5, (char)255 };

	memset(text + 2, 0x80, 255);
	assert_int_equal(offered(text, 257, SOCKS_NO_AUTH), SOCKS_NONE);
	text[256] = 0;
	assert_int_equal(offered(text, 257, SOCKS_NO_AUTH), SOCKS_NO_AUTH);
}

static void other_versions(void **state)
{
	(void)state;
	enum socks_method method;
	enum socks_reply reply;
	struct socks_login login;
	struct endpoint target;
	unsigned command;

	for (unsigned v = 0; v < 256; v++) {
		unsigned char byte = (unsigned char)v;
		int five = v == 5 ? 0 : -1, one = v == 1 ? 0 : -1;
		assert_int_equal(socks_read_greeting(&byte, 1, SOCKS_NO_AUTH, &method), five);
		assert_int_equal(socks_read_request(&byte, 1, &command, &target, &reply), five);
		assert_int_equal(socks_read_login(&byte, 1, &login), one);
	}
	assert_int_equal(socks_read_login(bytes("\5\4user\4pass"), 11, &login), -1);
}

static void check_login(const char *text, size_t user_len, size_t password_len)
{
	size_t n = 3 + user_len + password_len;
	struct socks_login login = { 0 };

	for (size_t i = 0; i < n; i++) {
		unsigned char *prefix = malloc(i + 1);
		memcpy(prefix + 1, text, i);
		assert_int_equal(socks_read_login(prefix + 1, i, &login), 0);
		free(prefix);
	}
	assert_int_equal(socks_read_login(bytes(text), n, &login), n);
	assert_int_equal(login.user_len, user_len);
	assert_int_equal(login.password_len, password_len);
	assert_ptr_equal(login.user, text + 2);
	assert_ptr_equal(login.password, text + 3 + user_len);
}

static void login(void **state) /* SK17 */
{
	(void)state;
	check_login("\1\4user\4pass", 4, 4);
	check_login("\1\1u\1p", 1, 1);
	check_login("\1\0\0", 0, 0);
	check_login("\1\1u\0", 1, 0);
	check_login("\1\4us\0r\4p\0ss", 4, 4);

	char text[SOCKS_MESSAGE_MAX];
	memset(text, 'x', sizeof(text));
	text[0] = 1;
	text[1] = text[257] = (char)255;
	check_login(text, 255, 255);
}

static enum socks_reply request(const char *text, size_t n, unsigned want_command,
				const char *want_target)
{
	enum socks_reply reply = (enum socks_reply)0x55;
	struct endpoint target;
	char printed[ENDPOINT_TEXT];
	unsigned command = 0x5555;

	for (size_t i = 0; i < n; i++) { /* SK01 */
		unsigned char *prefix = malloc(i + 1);
		memcpy(prefix + 1, text, i);
		assert_int_equal(socks_read_request(prefix + 1, i, &command, &target, &reply), 0);
		free(prefix);
	}
	assert_int_equal(socks_read_request(bytes(text), n, &command, &target, &reply), n);
	assert_int_equal(command, want_command);
	if (want_target != NULL)
		assert_string_equal(endpoint_print(&target, printed, sizeof(printed)), want_target);
	return reply;
}

static void requests(void **state) /* SK07 */
{
	(void)state;
	assert_int_equal(request("\5\1\0\3\x0b"
				 "example.com\0\x50",
				 18, SOCKS_CONNECT, "example.com:80"),
			 SOCKS_OK);
	assert_int_equal(request("\5\1\0\1\x7f\0\0\1\1\xbb", 10, SOCKS_CONNECT, "127.0.0.1:443"),
			 SOCKS_OK);
	assert_int_equal(request("\5\1\xff\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\x35", 22,
				 SOCKS_CONNECT, "[::1]:53"),
			 SOCKS_OK);
	assert_int_equal(request("\5\3\0\1\0\0\0\0\0\0", 10, SOCKS_ASSOCIATE, "0.0.0.0:0"),
			 SOCKS_OK);
	assert_int_equal(request("\5\2\0\1\x7f\0\0\1\0\x09", 10, SOCKS_BIND, "127.0.0.1:9"),
			 SOCKS_OK);
	assert_int_equal(request("\5\0\0\1\x7f\0\0\1\0\x09", 10, 0, "127.0.0.1:9"), SOCKS_OK);
	assert_int_equal(request("\5\4\0\1\x7f\0\0\1\0\x09", 10, 4, "127.0.0.1:9"), SOCKS_OK);
	assert_int_equal(request("\5\xff\0\1\x7f\0\0\1\0\x09", 10, 255, "127.0.0.1:9"), SOCKS_OK);
}

static void request_longest(void **state)
{
	(void)state;
	char text[3 + ENDPOINT_WIRE_MAX] = { 5, 1, 0, 3, (char)255 };

	memset(text + 5, 'n', 255);
	assert_int_equal(request(text, sizeof(text), SOCKS_CONNECT, NULL), SOCKS_OK);
}

static void bad_addresses(void **state)
{
	(void)state;
	assert_int_equal(request("\5\1\0\0", 4, SOCKS_CONNECT, NULL), SOCKS_BAD_ADDRESS);
	assert_int_equal(request("\5\1\0\2", 4, SOCKS_CONNECT, NULL), SOCKS_BAD_ADDRESS);
	assert_int_equal(request("\5\1\0\x11", 4, SOCKS_CONNECT, NULL), SOCKS_BAD_ADDRESS);
	assert_int_equal(request("\5\x09\0\xff", 4, 9, NULL), SOCKS_BAD_ADDRESS);
	assert_int_equal(request("\5\1\0\3\0", 5, SOCKS_CONNECT, NULL), SOCKS_BAD_ADDRESS);
	assert_int_equal(request("\5\1\0\3\3a\0b\0\x50", 10, SOCKS_CONNECT, NULL),
			 SOCKS_BAD_ADDRESS);
}

static void pipelined(void **state)
{
	(void)state;
	const unsigned char *all = bytes("\5\1\0\5\1\0\1\x7f\0\0\1\0\x50GET /");
	enum socks_method method;
	enum socks_reply reply;
	struct endpoint target;
	unsigned command;

	assert_int_equal(socks_read_greeting(all, 18, SOCKS_NO_AUTH, &method), 3);
	assert_int_equal(socks_read_request(all + 3, 15, &command, &target, &reply), 10);
}

static void replies(void **state)
{
	(void)state;
	unsigned char to[SOCKS_REPLY_MAX];
	struct endpoint bound;

	assert_int_equal(socks_write_reply(to, SOCKS_OK, NULL), 10);
	assert_memory_equal(to, "\5\0\0\1\0\0\0\0\0\0", 10);
	assert_int_equal(socks_write_reply(to, SOCKS_BAD_COMMAND, NULL), 10);
	assert_memory_equal(to, "\5\7\0\1\0\0\0\0\0\0", 10);
	assert_int_equal(endpoint_parse(&bound, "127.0.0.2:1080", 0), 0);
	assert_int_equal(socks_write_reply(to, SOCKS_OK, &bound), 10);
	assert_memory_equal(to, "\5\0\0\1\x7f\0\0\2\4\x38", 10);
	assert_int_equal(endpoint_parse(&bound, "[::1]:1", 0), 0);
	assert_int_equal(socks_write_reply(to, SOCKS_REFUSED, &bound), SOCKS_REPLY_MAX);
	assert_memory_equal(to, "\5\5\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\1", 22);
	bound.type = ENDPOINT_NONE;
	assert_int_equal(socks_write_reply(to, SOCKS_OK, &bound), 10);
	assert_memory_equal(to, "\5\0\0\1\0\0\0\0\0\0", 10);
}

/* RFC 1928, 7: two bytes that nobody looks at, the number of a fragment, an address. */
static void datagrams(void **state)
{
	static const char whole[] = "\1\2\0\3\1a\0\x35payload";
	unsigned char head[SOCKS_DATAGRAM_MAX];
	struct endpoint target;

	(void)state;
	assert_int_equal(socks_read_datagram((const unsigned char *)whole, sizeof whole, &target),
			 8);
	assert_int_equal(target.port, 53);
	assert_string_equal(target.host, "a");
	for (size_t n = 0; n < 8; n++)
		assert_int_equal(socks_read_datagram((const unsigned char *)whole, n, &target), -1);
	assert_int_equal(socks_read_datagram((const unsigned char *)"\0\0\1\1\1\2\3\4\0\1", 10,
					     &target),
			 -1);
	assert_int_equal(socks_read_datagram((const unsigned char *)"\0\0\0\2\1\2\3\4\0\1", 10,
					     &target),
			 -1);
	assert_int_equal(socks_read_datagram((const unsigned char *)"\0\0\0\3\0\0\1", 7, &target),
			 -1);

	assert_int_equal(endpoint_parse(&target, "192.0.2.1:258", 0), 0);
	assert_int_equal(socks_write_datagram(head, &target), 10);
	assert_memory_equal(head, "\0\0\0\1\xc0\0\2\1\1\2", 10);
	target = (struct endpoint){ .type = ENDPOINT_NAME, .len = ENDPOINT_NAME_MAX };
	assert_int_equal(socks_write_datagram(head, &target), SOCKS_DATAGRAM_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greeting),	  cmocka_unit_test(greeting_longest),
		cmocka_unit_test(other_versions), cmocka_unit_test(login),
		cmocka_unit_test(requests),	  cmocka_unit_test(request_longest),
		cmocka_unit_test(bad_addresses),  cmocka_unit_test(pipelined),
		cmocka_unit_test(replies),	  cmocka_unit_test(datagrams),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
