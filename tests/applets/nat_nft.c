/* The table for nft: for every plan what must be in it, in which order, and what must not. That nft takes it and that
 * the kernel does what it says is tested in network namespaces (tests/netns). */
#include "applets/nat.h"
#include "applets/redir.h"
#include "tests/unit.h"

static char *text;
static size_t length;

static void write_plan(const struct nat_plan *plan)
{
	FILE *to = open_memstream(&text, &length);

	assert_non_null(to);
	nat_nft_write(to, plan);
	assert_int_equal(fclose(to), 0);
}

static int teardown(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

static void expect(const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is missing in\n%s", part, text);
}

static void expect_not(const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in\n%s", part, text);
}

/* Each of these after the one before. */
static void expect_order(const char *const *parts)
{
	const char *at = text;

	for (; *parts; parts++) {
		at = strstr(at, *parts);
		if (!at)
			fail_msg("\"%s\" does not follow in\n%s", *parts, text);
	}
}

static void always(void **state)
{
	static const char *const decision[] = {
		"chain whereto {",
		"meta mark 0x53530000 return",
		"meta mark 0x00001234 return",
		"ct direction reply return",
		"fib daddr type { local, broadcast, multicast, anycast } return",
		"ip daddr @servers4 return",
		"ip6 daddr @servers6 return",
		"ip daddr @proxied4 goto take",
		"ip6 daddr @proxied6 goto take",
		"ip daddr @bypassed4 return",
		"ip6 daddr @bypassed6 return",
		"goto take",
		"}",
		NULL,
	};

	static const char beginning[] =
		"table inet shadowsocks\ndelete table inet shadowsocks\ntable inet shadowsocks {\n";

	(void)state;
	for (unsigned i = 0; i < 64; i++) {
		struct nat_plan plan = {
			.mark = 0x1234,
			.tcp_port = i & 3 ? 1080 : 0,
			.udp_port = (i & 3) != 1 ? 1081 : 0,
			.tproxy = i & 4,
			.output = i & 8,
			.ipv4_only = i & 16,
			.who = i & 32 ? NAT_ONLY : NAT_EVERYBODY,
		};

		write_plan(&plan);
		/* The old table goes in the transaction that brings the new one. */
		assert_int_equal(strncmp(text, beginning, strlen(beginning)), 0);
		expect_order(decision);
		/* Where the port is closed, where the routing rule is missing. */
		expect("meta mark 0x53530002 drop\n\t}\n");
		expect("meta mark { 0x53530001, 0x53530002 } oifname != \"lo\" drop");
		expect("meta mark { 0x53530001, 0x53530002 } meta l4proto tcp reject with tcp "
		       "reset");
		teardown(NULL);
	}
}

static void redirect(void **state)
{
	struct nat_plan plan = { .mark = REDIR_MARK, .tcp_port = 1080 };

	(void)state;
	write_plan(&plan);
	expect("iifname != \"lo\" meta l4proto tcp jump who");
	expect("meta l4proto tcp meta mark set 0x53530001\n");
	expect("hook prerouting priority -101; policy accept;\n"
	       "\t\tmeta mark 0x53530001 meta l4proto tcp redirect to :1080\n");
	expect("meta l4proto tcp ct status dnat return");
	expect_not("tproxy");
	expect_not("udp");
	expect_not("hook output");
	expect_not("meta nfproto");
}

static void tproxy_of_all_and_output(void **state)
{
	struct nat_plan plan = { .mark = REDIR_MARK,
				 .tcp_port = 1080,
				 .udp_port = 1081,
				 .tproxy = true,
				 .output = true };
	static const char *const order[] = {
		"chain prerouting",
		"iifname != \"lo\" meta l4proto { tcp, udp } jump who",
		"meta mark 0x53530002 meta l4proto tcp tproxy to :1080 accept",
		"meta mark 0x53530002 meta l4proto udp tproxy to :1081 accept",
		"meta mark 0x53530002 drop",
		"}",
		"type route hook output priority -150; policy accept;",
		"meta l4proto { tcp, udp } jump whereto",
		NULL,
	};

	(void)state;
	write_plan(&plan);
	expect("meta l4proto tcp meta mark set 0x53530002\n");
	expect("meta l4proto udp meta mark set 0x53530002\n");
	expect_order(order);
	expect_not("redirect to");
	expect_not("mark set 0x53530001");
	expect_not("ct status dnat"); /* it may be somebody else's, and is then theirs */
}

static void who(void **state)
{
	struct nat_plan plan = {
		.mark = REDIR_MARK,
		.udp_port = 1,
		.interfaces = { "br-lan", "wlan+" },
		.interface_count = 2,
		.who = NAT_ONLY,
	};
	static const char *const only[] = { "chain who {", "ip saddr @sources4 goto whereto",
					    "ip6 saddr @sources6 goto whereto", "\t}", NULL };
	static const char *const all_but[] = { "chain who {",
					       "ip saddr @spared4 return",
					       "ip6 saddr @spared6 return",
					       "goto whereto",
					       "\t}",
					       NULL };

	(void)state;
	assert_int_equal(nat_list_add(&plan.lists[NAT_SOURCES], "192.168.1.2"), 0);
	write_plan(&plan);
	expect_order(only);
	expect_not("@sources6 goto whereto\n\t\tgoto");
	expect("iifname \"br-lan\" meta l4proto udp jump who\n");
	expect("iifname \"wlan*\" meta l4proto udp jump who\n");
	expect_not("iifname != \"lo\"");
	expect("set sources4 {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\telements = {\n"
	       "\t\t\t192.168.1.2/32\n\t\t}\n\t}\n");
	expect("set sources6 {\n\t\ttype ipv6_addr\n\t\tflags interval\n\t}\n");
	teardown(NULL);

	plan.who = NAT_EVERYBODY;
	plan.ipv4_only = true;
	assert_int_equal(nat_list_add(&plan.lists[NAT_SPARED], "192.168.1.3"), 0);
	write_plan(&plan);
	expect_order(all_but);
	expect("chain who {\n\t\tmeta nfproto ipv6 return\n");
	expect("chain whereto {\n\t\tmeta nfproto ipv6 return\n");
	nat_list_free(&plan.lists[NAT_SOURCES]);
	nat_list_free(&plan.lists[NAT_SPARED]);
}

/* As the rules of OpenWrt's old package are spelled: some are spared, some are proxied wherever they go, for the rest
 * lists decide. */
static void listed_only(void **state)
{
	struct nat_plan plan = {
		.mark = REDIR_MARK,
		.tcp_port = 1,
		.udp_port = 2,
		.listed_only = true,
		.output = true,
		.output_tcp = true,
		.who = NAT_ONLY,
	};
	static const char *const targets[] = { "chain whereto {",
					       "@servers6 return",
					       "ip daddr @bypassed4 return",
					       "ip6 daddr @bypassed6 return",
					       "ip daddr @proxied4 goto take",
					       "ip6 daddr @proxied6 goto take\n\t}",
					       NULL };
	static const char *const whole[] = { "chain whole {", "ip daddr @servers4 return",
					     "ip6 daddr @private6 return\n\t\tgoto take\n\t}",
					     NULL };
	static const char *const sources[] = { "chain who {", "ip saddr @spared4 return",
					       "ip saddr @sources4 goto whereto",
					       "ip6 saddr @whole6 goto whole\n\t}", NULL };
	static const char *const own[] = { "chain own {", "ip6 daddr @servers6 return",
					   "ip6 daddr @bypassed6 return\n\t\tgoto take\n\t}",
					   NULL };

	char tcp[] = "tcp dport { 80, 443 }", udp[] = "udp dport 53";

	(void)state;
	assert_int_equal(nat_list_add(&plan.lists[NAT_SPARED], "192.168.1.3"), 0);
	assert_int_equal(nat_list_add(&plan.lists[NAT_WHOLE], "192.168.1.4"), 0);
	write_plan(&plan);
	expect_order(targets);
	expect_order(whole);
	expect_order(sources);
	expect("meta l4proto tcp jump whereto\n");
	expect("meta l4proto tcp meta mark set 0x53530001\n");
	expect_not("chain own");
	teardown(NULL);
	plan.output_all = true;
	plan.nft_tcp = tcp;
	plan.nft_udp = udp;
	write_plan(&plan);
	expect("meta l4proto tcp tcp dport { 80, 443 } meta mark set 0x53530001\n");
	expect("meta l4proto udp udp dport 53 meta mark set 0x53530002\n");
	expect_order(own);
	expect("meta l4proto tcp jump own\n");
	nat_list_free(&plan.lists[NAT_SPARED]);
	nat_list_free(&plan.lists[NAT_WHOLE]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(always, teardown),
		cmocka_unit_test_teardown(redirect, teardown),
		cmocka_unit_test_teardown(tproxy_of_all_and_output, teardown),
		cmocka_unit_test_teardown(who, teardown),
		cmocka_unit_test_teardown(listed_only, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
