/* Access control lists: the grammar, and who goes where (AC01, AC03, AC05, AC15). */
#include "net/acl.h"

#include "tests/unit.h"

static struct acl *acl;
static char reason[ACL_REASON_MAX];

static void load_bytes(const char *text, size_t n)
{
	acl_close(acl);
	acl = acl_read("list.acl", text, n, reason);
}

static void load(const char *text)
{
	load_bytes(text, strlen(text));
	if (acl == NULL)
		fail_msg("%s", reason);
}

static void refuses(const char *text, const char *why)
{
	load_bytes(text, strlen(text));
	assert_null(acl);
	assert_string_equal(reason, why);
}

static int teardown(void **state)
{
	(void)state;
	acl_close(acl);
	acl = NULL;
	return 0;
}

static struct endpoint endpoint(const char *host)
{
	struct endpoint to = { .type = ENDPOINT_NAME, .len = (uint8_t)strlen(host), .port = 80 };

	memcpy(to.host, host, to.len);
	return to;
}

static struct address address(const char *text)
{
	struct endpoint at;
	struct address to;

	assert_int_equal(endpoint_parse(&at, text, 1), 0);
	assert_true(endpoint_address(&at, &to));
	return to;
}

/* "direct 3": the verdict and the line. */
static const char *said(enum acl_verdict verdict, unsigned line)
{
	static const char *const words[] = { "by address", "proxy", "direct", "allow", "refuse" };
	static char text[40];

	snprintf(text, sizeof(text), "%s %u", words[verdict], line);
	return text;
}

static const char *target_at(const char *host, const char *resolved)
{
	struct endpoint to = endpoint(host);
	struct address at = { 0 };
	unsigned line = 99;

	if (resolved)
		at = address(resolved);
	enum acl_verdict verdict = acl_target(acl, &to, resolved ? &at : NULL, &line);
	return said(verdict, line);
}

static const char *target(const char *host)
{
	return target_at(host, NULL);
}

static const char *outbound_at(const char *host, const char *resolved)
{
	struct endpoint to = endpoint(host);
	struct address at = { 0 };
	unsigned line = 99;

	if (resolved)
		at = address(resolved);
	enum acl_verdict verdict = acl_outbound(acl, &to, resolved ? &at : NULL, &line);
	return said(verdict, line);
}

static const char *outbound(const char *host)
{
	return outbound_at(host, NULL);
}

static const char *client(const char *from)
{
	struct address at = address(from);
	unsigned line = 99;
	enum acl_verdict verdict = acl_client(acl, &at, &line);

	return said(verdict, line);
}

static void modes(void **state)
{
	(void)state;
	load("");
	assert_string_equal(target("example.com"), "proxy 0");
	assert_string_equal(outbound("example.com"), "allow 0");
	assert_string_equal(client("192.0.2.1"), "allow 0");
	load("[bypass_all]\n");
	assert_string_equal(target("example.com"), "direct 0");
	assert_string_equal(client("192.0.2.1"), "refuse 0");
	load("[reject_all]\n[accept_all]\n");
	assert_string_equal(target("example.com"), "proxy 0");
}

static void before_any_section(void **state)
{
	(void)state;
	load("127.0.0.1\n|x.test\n[proxy_all]\n192.0.2.0/24\n");
	assert_string_equal(target("127.0.0.1"), "direct 1");
	assert_string_equal(target("x.test"), "direct 2");
	assert_string_equal(target("192.0.2.7"), "direct 4");
	assert_string_equal(target("192.0.3.7"), "proxy 0");
	assert_string_equal(client("127.0.0.1"), "refuse 1");
}

static void both_lists(void **state)
{
	(void)state;
	load("[white_list]\n||a.test\n10.0.0.0/8\n[black_list]\n||a.test\n10.1.0.0/16\n");
	assert_string_equal(target("a.test"), "direct 5");
	assert_string_equal(target("10.1.2.3"), "direct 6");
	assert_string_equal(target("10.2.2.3"), "proxy 3");
	assert_string_equal(client("10.1.2.3"), "refuse 6");
	assert_string_equal(client("10.2.2.3"), "allow 3");
}

static void white_list(void **state)
{
	(void)state;
	load("[reject_all]\n[white_list]\n192.0.2.0/24\n");
	assert_string_equal(client("192.0.2.255"), "allow 3");
	assert_string_equal(client("192.0.3.0"), "refuse 0");
	assert_string_equal(client("2001:db8::1"), "refuse 0");
	assert_string_equal(target("some.test"), "by address 0");
	assert_string_equal(target_at("some.test", "192.0.2.1"), "proxy 3");
	assert_string_equal(target_at("some.test", "192.0.1.1"), "direct 0");
}

static void resolved_only_if_that_decides(void **state)
{
	(void)state;
	load("||cn\n10.0.0.0/8\n");
	assert_string_equal(target("a.cn"), "direct 1");
	assert_string_equal(target("a.test"), "by address 0");
	assert_string_equal(target_at("a.test", "10.9.9.9"), "direct 2");
	load("||cn\n[proxy_list]\n10.0.0.0/8\n");
	assert_string_equal(target("a.test"), "proxy 0");
	load("[outbound_block_list]\n||cn\n");
	assert_string_equal(outbound("a.test"), "allow 0");
	assert_string_equal(target("a.test"), "proxy 0");
}

static void outbound_lists(void **state)
{
	(void)state;
	load("[outbound_block_list]\n127.0.0.0/8\n::1\n||bad.test\n");
	assert_string_equal(outbound("x.bad.test"), "refuse 4");
	assert_string_equal(outbound("good.test"), "by address 0");
	assert_string_equal(outbound_at("good.test", "127.1.2.3"), "refuse 2");
	assert_string_equal(outbound_at("good.test", "::1"), "refuse 3");
	assert_string_equal(outbound_at("good.test", "192.0.2.1"), "allow 0");
	assert_string_equal(client("127.0.0.1"), "allow 0");

	load("[outbound_block_all]\n[outbound_allow_list]\n||good.test\n10.0.0.0/8\n"
	     "[outbound_block_list]\n10.1.0.0/16\n");
	assert_string_equal(outbound("good.test"), "by address 0");
	assert_string_equal(outbound_at("good.test", "10.1.0.1"), "refuse 6");
	assert_string_equal(outbound_at("good.test", "192.0.2.1"), "allow 3");
	assert_string_equal(outbound_at("other.test", "192.0.2.1"), "refuse 0");
	assert_string_equal(outbound("10.2.0.1"), "allow 4");
	load("[outbound_block_all]\n[outbound_allow_list]\n||good.test\n");
	assert_string_equal(outbound("good.test"), "allow 3");
	assert_string_equal(outbound("other.test"), "refuse 0");
}

/* SE03, and every other spelling of what is blocked. */
static void spellings(void **state)
{
	static const char *const same[] = { "BAD.test",
					    "bad.TEST.",
					    "127.0.0.1",
					    "127.0.0.1.",
					    "0.0.0.0",
					    "::",
					    "::1",
					    "[::1]",
					    "::ffff:127.0.0.1",
					    "::ffff:7f00:1",
					    "::ffff:0:0",
					    "0:0:0:0:0:0:0:1",
					    "[::ffff:127.0.0.1]" };

	(void)state;
	load("[outbound_block_list]\n127.0.0.0/8\n::1\n|Bad.Test.\n");
	for (unsigned i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (strncmp(outbound(same[i]), "refuse", 6) != 0)
			fail_msg("%s: %s", same[i], outbound(same[i]));
	assert_string_equal(outbound_at("x.test", "0.0.0.0"), "refuse 2");
	assert_string_equal(outbound_at("x.test", "::ffff:127.0.0.1"), "refuse 2");
	assert_string_equal(outbound("64:ff9b::127.0.0.9"), "refuse 2"); /* NAT64 */
	assert_string_equal(outbound_at("x.test", "64:ff9b::7f00:1"), "refuse 2");
	assert_string_equal(outbound("64:ff9b::128.0.0.1"), "allow 0");
	assert_string_equal(outbound("64:ff9b:1::127.0.0.1"), "allow 0");
	load("[outbound_block_list]\n64:ff9b::/96\n");
	assert_string_equal(outbound("64:ff9b::128.0.0.1"), "refuse 2");
	load("[outbound_block_list]\n0.0.0.0/32\n");
	assert_string_equal(outbound("0.0.0.0"), "refuse 2");
	assert_string_equal(outbound("127.0.0.1"), "allow 0");
	/* An address that was made elsewhere, in the form of IPv6. */
	struct address mapped = { .family = 6, .ip = { [10] = 0xff, [11] = 0xff, [12] = 0 } };
	struct endpoint name = endpoint("x.test");
	assert_int_equal(acl_outbound(acl, &name, &mapped, NULL), ACL_REFUSE);
}

static void names(void **state)
{
	(void)state;
	load("||a.test\n|b.test\nsuffix:c.test\nfull:d.test\n||x\n||no\n");
	assert_string_equal(target("a.test"), "direct 1");
	assert_string_equal(target("w.a.test"), "direct 1");
	assert_string_equal(target("wa.test"), "proxy 0");
	assert_string_equal(target("a.test.com"), "proxy 0");
	assert_string_equal(target("b.test"), "direct 2");
	assert_string_equal(target("w.b.test"), "proxy 0");
	assert_string_equal(target("w.c.test"), "direct 3");
	assert_string_equal(target("d.test"), "direct 4");
	assert_string_equal(target("w.d.test"), "proxy 0");
	assert_string_equal(target("a.x"), "direct 5");
	assert_string_equal(target("x"), "direct 5");
	assert_string_equal(target("no"), "direct 6");
	assert_string_equal(target("xx"), "proxy 0");
	assert_string_equal(target("."), "proxy 0");
}

/* AC01: line ends, blanks and a mark at the beginning change nothing. */
static void forms(void **state)
{
	static const char *const same[] = {
		"[outbound_block_list]\n^b\\.test$\n",
		"[outbound_block_list]\r\n^b\\.test$\r\n",
		"[outbound_block_list]\n^b\\.test$",
		"\t[outbound_block_list]  \n\t^b\\.test$ \t\r\n",
		"\xef\xbb\xbf[outbound_block_list]\n^b\\.test$ # why\n",
		"#\n#[x]\n[outbound_block_list]#\n\n \n^b\\.test$#x",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		load(same[i]);
		assert_memory_equal(outbound("b.test"), "refuse", 6);
		assert_string_equal(outbound("bb.test"), "allow 0");
		assert_int_equal(acl_count(acl).names, 1);
	}
}

/* AC03 */
static void long_lines(void **state)
{
	static const unsigned lengths[] = { 254, 255, 256, 2000, 16000 };
	char text[17000];

	(void)state;
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t filler = lengths[i] - strlen("|^blocked\\.test$");
		size_t n = (size_t)snprintf(text, sizeof(text), "[outbound_block_list]\n");

		memset(text + n, 'y', filler);
		n += filler;
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "|^blocked\\.test$\n^next\\.test$\n");
		load_bytes(text, n);
		assert_non_null(acl);
		assert_string_equal(outbound("blocked.test"), "refuse 2");
		assert_string_equal(outbound("next.test"), "refuse 3");
		assert_string_equal(outbound("other.test"), "allow 0");
	}
}

static void networks(void **state)
{
	(void)state;
	load("10.0.0.7/8\n10.1.0.0/16\n10.1.2.3\n[white_list]\n10.1.2.0/24\n"
	     "::ffff:192.0.2.1/120\n2001:db8::/33\n0.0.0.0/0\n");
	assert_string_equal(target("10.200.0.1"), "direct 1");
	assert_string_equal(target("10.1.2.3"), "direct 3");
	assert_string_equal(target("10.1.2.4"), "direct 2");
	assert_string_equal(target("10.1.3.4"), "direct 2");
	assert_string_equal(target("192.0.2.9"), "proxy 6");
	assert_string_equal(target("192.0.3.9"), "proxy 8");
	assert_string_equal(target("2001:db8:7fff::"), "proxy 7");
	assert_string_equal(target("2001:db8:8000::"), "proxy 0");
	assert_string_equal(target("11.0.0.0"), "proxy 8");
	assert_string_equal(target("9.255.255.255"), "proxy 8");
	load("::/0\n");
	assert_string_equal(target("192.0.2.9"), "proxy 0");
	assert_string_equal(target("2001:db8::"), "direct 1");
}

static void malformed(void **state)
{
	(void)state;
	refuses("[bypass_all]\n[proxy_lits]\n", "list.acl:2: there is no section of this name");
	load_bytes("a\n\0b\n", 5);
	assert_null(acl);
	assert_string_equal(reason, "list.acl:2: this is no text");
	assert_null(acl_open("/nowhere/list.acl", reason));
	assert_string_equal(reason, "cannot read /nowhere/list.acl: No such file or directory");
	assert_null(acl_open("/", reason));
	assert_string_equal(reason, "cannot read /: Is a directory");
}

static void not_understood(void **state)
{
	static const char *const bad[] = { "[",
					   "(",
					   "*",
					   "(?",
					   "\\",
					   "(?=a)",
					   "a)",
					   "10.0.0.0/33",
					   "10.0.0.0/",
					   "::1/129",
					   "::ffff:1.2.3.4/95",
					   "||",
					   "|a b",
					   "||*.a.test^",
					   "(a)\\1",
					   "||.a.test",
					   "10.0.0.0 /8",
					   "10.0.0/8",
					   "010.0.0.0/8",
					   "010.0.0.1",
					   "10.0.0.0-10.0.0.9",
					   "10.*.*.*",
					   "10." };
	/* what no name can match */
	static const char *const vain[] = { "10.0.0.1:80",  "[2001:db8::1]:80", "2001:db8:::1",
					    "fe80::1%eth0", "http://a.test/",	"a.test b.test" };
	char text[100];

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "[black_list]\n%s\n|ok.test\n", bad[i]);
		load(text);
		if (acl_count(acl).inactive != 1)
			fail_msg("%s is understood", bad[i]);
		assert_string_equal(target("ok.test"), "direct 3");
		snprintf(text, sizeof(text), "[outbound_block_list]\n%s\n", bad[i]);
		load_bytes(text, strlen(text));
		assert_null(acl);
		assert_memory_equal(reason, "list.acl:2: cannot use this rule: ", 34);
	}
	for (unsigned i = 0; i < sizeof(vain) / sizeof(vain[0]); i++) {
		snprintf(text, sizeof(text), "[outbound_block_list]\n%s\n", vain[i]);
		load_bytes(text, strlen(text));
		if (acl)
			fail_msg("%s is understood", vain[i]);
		assert_memory_equal(reason, "list.acl:2: cannot use this rule: ", 34);
	}
	load("[outbound_block_list]\n(http://)?a\\.test$|b:c\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes),
		cmocka_unit_test(before_any_section),
		cmocka_unit_test(both_lists),
		cmocka_unit_test(white_list),
		cmocka_unit_test(resolved_only_if_that_decides),
		cmocka_unit_test(outbound_lists),
		cmocka_unit_test(spellings),
		cmocka_unit_test(names),
		cmocka_unit_test(forms),
		cmocka_unit_test(long_lines),
		cmocka_unit_test(networks),
		cmocka_unit_test(malformed),
		cmocka_unit_test(not_understood),
	};

	return cmocka_run_group_tests_name("acl", tests, NULL, teardown);
}
