/*
 * ss:// links: the vectors of the specification and of our own in both ways, what other programs
 * write, and what is no link.
 */
#include "net/url.h"

#include "tests/vectors.h"

struct link {
	const char *text, *method, *password, *server, *plugin, *plugin_opts, *tag;
};

static void same(const char *a, const char *b)
{
	if (b)
		assert_string_equal(a, b);
	else
		assert_null(a);
}

static void check(const struct url *url, const struct link *link)
{
	char server[ENDPOINT_TEXT];

	assert_string_equal(url->method, link->method);
	assert_string_equal(url->password, link->password);
	assert_string_equal(endpoint_print(&url->server, server, sizeof(server)), link->server);
	same(url->plugin, link->plugin);
	same(url->plugin_opts, link->plugin_opts);
	same(url->tag, link->tag);
}

/* Read, printed as `printed`, which is read as the same. */
static void both_ways(const struct link *link, const char *printed)
{
	static struct url url;
	char text[URL_MAX];

	assert_null(url_parse(&url, link->text));
	check(&url, link);
	assert_int_equal(url_print(&url, text, sizeof(text)), strlen(printed));
	assert_string_equal(text, printed);
	assert_null(url_parse(&url, text));
	check(&url, link);
}

#define PSK "LCTSqb8wAfNqCkDbgDWu/aQZD6bwN+NULlzQih4t4k0="
#define PSK_ESCAPED "LCTSqb8wAfNqCkDbgDWu%2FaQZD6bwN%2BNULlzQih4t4k0%3D"

static void written_so(void **state)
{
	(void)state;
	static const struct link links[] = {
		{ "ss://YWVzLTEyOC1nY206dGVzdA@192.168.100.1:8888#Example1", "aes-128-gcm", "test",
		  "192.168.100.1:8888", .tag = "Example1" },
		{ "ss://YWVzLTI1Ni1nY206cEBzcy93OnJk@192.0.2.1:8388#a%20b", "aes-256-gcm",
		  "p@ss/w:rd", "192.0.2.1:8388", .tag = "a b" },
		{ "ss://cmM0LW1kNTpwYXNzd2Q@192.168.100.1:8888/"
		  "?plugin=obfs-local%3Bobfs%3Dhttp#Example2",
		  "rc4-md5", "passwd", "192.168.100.1:8888", "obfs-local", "obfs=http",
		  "Example2" },
		{ "ss://Y2hhY2hhMjAtaWV0Zi1wb2x5MTMwNTp0ZXN0@[2001:db8::1]:8888/"
		  "?plugin=v2ray-plugin%3Btls%3Bhost%3Da%5C%3Bb.example",
		  "chacha20-ietf-poly1305", "test", "[2001:db8::1]:8888", "v2ray-plugin",
		  .plugin_opts = "tls;host=a\\;b.example" },
		{ "ss://2022-blake3-aes-256-gcm:" PSK_ESCAPED "@example.com:443",
		  "2022-blake3-aes-256-gcm", PSK, .server = "example.com:443" },
		{ "ss://2022-blake3-aes-256-gcm:" PSK_ESCAPED ":" PSK_ESCAPED "@example.com:443",
		  "2022-blake3-aes-256-gcm", PSK ":" PSK, .server = "example.com:443" },
	};

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		both_ways(&links[i], links[i].text);
}

/* The older form; base64 of another alphabet and padded; no slash, other parameters, no port; percent
 * signs where base64 would do, and in base64 itself. */
static void others_write(void **state)
{
	(void)state;
	static const struct {
		struct link link;
		const char *printed;
	} all[] = {
		{ { "ss://YmYtY2ZiOnRlc3QvIUAjOkAxOTIuMTY4LjEwMC4xOjg4ODg#example", "bf-cfb",
		    "test/!@#:", "192.168.100.1:8888", .tag = "example" },
		  "ss://YmYtY2ZiOnRlc3QvIUAjOg@192.168.100.1:8888#example" },
		{ { "ss://YmYtY2ZiOnRlc3RAMTkyLjE2OC4xMDAuMTo4ODg4Cg", "bf-cfb", "test",
		    .server = "192.168.100.1:8888" },
		  NULL }, /* a line end in it: no port */
		{ { "SS://cmM0LW1kNTo_Pj8-@[::1]:1?a=b&plugin=x&c", "rc4-md5", "?>?>", "[::1]:1",
		    .plugin = "x" },
		  "ss://cmM0LW1kNTo_Pj8-@[::1]:1/?plugin=x" },
		{ { "ss://cmM0LW1kNTo/Pj8+@[::1]:1/?plugin=%3Bopts", "rc4-md5", "?>?>",
		    .server = "[::1]:1" },
		  "ss://cmM0LW1kNTo_Pj8-@[::1]:1" },
		{ { "ss://cmM0LW1kNTp4eA==@host/", "rc4-md5", "xx", .server = "host:8388" },
		  "ss://cmM0LW1kNTp4eA@host:8388" },
		{ { "ss://cmM0LW1kNTp4eA%3D%3D@host:1#", "rc4-md5", "xx", .server = "host:1" },
		  "ss://cmM0LW1kNTp4eA@host:1" },
		{ { "ss://rc4-md5:a%40b:c@d@host:1", "rc4-md5", "a@b:c@d", .server = "host:1" },
		  "ss://cmM0LW1kNTphQGI6Y0Bk@host:1" },
		{ { "ss://none:@host:1", "none", "", .server = "host:1" }, "ss://bm9uZTo@host:1" },
		{ { "ss://2022-x:a%2fb@host:1", "2022-x", "a/b", .server = "host:1" },
		  "ss://2022-x:a%2Fb@host:1" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		static struct url url;

		if (all[i].printed)
			both_ways(&all[i].link, all[i].printed);
		else
			assert_non_null(url_parse(&url, all[i].link.text));
	}
}

static void no_links(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		"ss:",
		"ss://",
		"http://YWVzLTEyOC1nY206dGVzdA@192.168.100.1:8888",
		"ss://@host:1",
		"ss://YWVzLTEyOC1nY206dGVzdA@",
		"ss://YWVzLTEyOC1nY206dGVzdA@:1",
		"ss://YWVzLTEyOC1nY206dGVzdA@host:0",
		"ss://YWVzLTEyOC1nY206dGVzdA@host:65536",
		"ss://YWVzLTEyOC1nY206dGVzdA@host:1x",
		"ss://YWVzLTEyOC1nY206dGVzdA@[::1:1",
		"ss://YWVzLTEyOC1nY206dGVzdA@ho%00st:1",
		"ss://YWVzLTEyOC1nY206dGVzdA@host:1/path",
		"ss://YWVzLTEyOC1nY20@host:1", /* no colon in it */
		"ss://YWVz*@host:1",
		"ss://YQBiOmM@host:1", /* a NUL in it */
		"ss://:password@host:1",
		"ss://aes-128-gcm:%@host:1",
		"ss://aes-128-gcm:%4@host:1",
		"ss://aes-128-gcm:%zz@host:1",
		"ss://aes-128-gcm:a%00b@host:1",
		"ss://aes-128-gcm:a@host:1#%",
		"ss://aes-128-gcm:a@host:1/?plugin=%",
		"ss://YWVzLTEyOC1nY206dGVzdA", /* base64 as a whole, without an address */
	};
	static struct url url;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!url_parse(&url, texts[i]))
			fail_msg("'%s' is read as a link", texts[i]);
}

/* Up to the longest, and not one byte more; cut where there is no room. */
static void long_ones(void **state)
{
	(void)state;
	static char text[URL_MAX + 2], printed[URL_MAX + 2];
	static struct url url;
	const char head[] = "ss://2022-x:a@host:1#";

	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, head, sizeof(head) - 1);
	assert_non_null(url_parse(&url, text));
	text[URL_MAX] = 0;
	assert_null(url_parse(&url, text));
	assert_int_equal(url_print(&url, printed, sizeof(printed)), URL_MAX);
	assert_string_equal(printed, text);
	memset(printed, 1, sizeof(printed));
	assert_int_equal(url_print(&url, printed, 10), URL_MAX);
	assert_memory_equal(printed, "ss://2022\0\1", 11);
	assert_int_equal(url_print(&url, printed, 0), URL_MAX);
	assert_int_equal(printed[0], 's');
}

static const char *text_of(const struct json *object, const char *name)
{
	const struct json *j = json_member(object, name);

	return j ? j->text : NULL;
}

static void vectors(void **state)
{
	(void)state;
	struct json_document document;
	static struct url url;

	vectors_load(&document, "protocol/vectors.json");
	for (const struct json *j = vectors_member(document.root, "uri")->first; j; j = j->next) {
		assert_null(url_parse(&url, text_of(j, "uri")));
		assert_string_equal(url.method, text_of(j, "method"));
		assert_string_equal(url.password, text_of(j, "password"));
		assert_int_equal(url.server.port, atoi(text_of(j, "port")));
		same(url.plugin, text_of(j, "plugin"));
		same(url.plugin_opts, text_of(j, "plugin_opts"));
		same(url.tag, text_of(j, "tag"));
	}
	json_free(&document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_so), cmocka_unit_test(others_write),
		cmocka_unit_test(no_links),   cmocka_unit_test(long_ones),
		cmocka_unit_test(vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
