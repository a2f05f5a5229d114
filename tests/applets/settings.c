/*
 * What the programs are told: values and defaults through settings_read_text() and settings_read(), and in
 * child processes what ends a program, with which status, words and streams.
 */
#include "applets/settings.h"

#include "core/log.h"
#include "core/options.h"
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct settings settings;
static struct options_reason reason;
static char shown[ENDPOINT_TEXT];

static const enum program all[] = { PROGRAM_LOCAL, PROGRAM_SERVER, PROGRAM_TUNNEL, PROGRAM_REDIR,
				    PROGRAM_MANAGER };

static int read_text(enum program program, const char *text)
{
	return settings_read_text(&settings, program, "f.json", text, strlen(text), &reason);
}

static void accepts(enum program program, const char *text)
{
	if (read_text(program, text) < 0)
		fail_msg("%s: %s", text, reason.text);
}

static void refuses(enum program program, const char *text, const char *why)
{
	if (read_text(program, text) == 0)
		fail_msg("%s was accepted", text);
	assert_string_equal(reason.text, why);
}

static const char *print(const struct endpoint *endpoint)
{
	return endpoint_print(endpoint, shown, sizeof shown);
}

static const char local_json[] =
	"{\"server\": \"192.0.2.1\", \"server_port\": 8388, \"local_port\": 1080, "
	"\"password\": \"foobar\"";

/* The smallest file of ss-local with one more member. */
static const char *with(const char *member)
{
	static char text[1024];

	snprintf(text, sizeof text, "%s, %s}", local_json, member);
	return text;
}

static void test_memory_limit(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = { { "0", 0 },
		     { "\"0\"", 0 },
		     { "1048576", 1 << 20 },
		     { "\"1024K\"", 1 << 20 },
		     { "\"8m\"", 8 << 20 },
		     { "\"16G\"", (uint64_t)16 << 30 },
		     { "\"1048576G\"", (uint64_t)1 << 50 },
		     { "4294967296", (uint64_t)1 << 32 } };
	static const char *const bad[] = { "1M1",
					   "M",
					   "8MB",
					   "-8M",
					   "8T",
					   " 8M",
					   "0x8",
					   "1048575",
					   "1023K",
					   "1048577G",
					   "99999999999999999999999",
					   "18014398509481985K",
					   "8.5M",
					   "" };
	char text[100], why[200];

	(void)state;
	for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
		snprintf(text, sizeof text, "\"memory_limit\": %s", good[i].text);
		accepts(PROGRAM_LOCAL, with(text));
		assert_int_equal(settings.memory_limit, good[i].bytes);
		settings_free(&settings);
	}
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text, "\"memory_limit\": \"%s\"", bad[i]);
		snprintf(why, sizeof why,
			 "f.json:1:88: key 'memory_limit' must be 0 or a size from 1M up, such as "
			 "8M or 1G, not '%s'",
			 bad[i]);
		refuses(PROGRAM_LOCAL, with(text), why);
	}
}

static void test_defaults(void **state)
{
	(void)state;
	accepts(PROGRAM_LOCAL, with("\"acl\": null"));
	assert_string_equal(settings.name, "ss-local");
	assert_int_equal(settings.top.servers, 1);
	assert_string_equal(print(&settings.top.server[0]), "192.0.2.1:8388");
	assert_string_equal(print(&settings.local), "127.0.0.1:1080");
	assert_string_equal(settings.top.method->name, "chacha20-ietf-poly1305");
	assert_int_equal(settings.top.key.key_len, 32);
	/* EVP_BytesToKey of "foobar" */
	assert_memory_equal(settings.top.key.key,
			    "\x38\x58\xf6\x22\x30\xac\x3c\x91\x5f\x30\x0c\x66", 12);
	assert_null(settings.top.password);
	assert_int_equal(settings.timeout, 60);
	assert_int_equal(settings.workers, 1);
	assert_int_equal(settings.replay_size, 0);
	assert_int_equal(settings.buffer_limit, 0);
	assert_int_equal(settings.memory_limit, 0);
	assert_int_equal(settings.mode, MODE_TCP_ONLY);
	assert_true(settings.socket.no_delay);
	assert_false(settings.socket.fast_open);
	assert_int_equal(settings.socket.dscp, -1);
	assert_null(settings.acl);
	settings_free(&settings);

	accepts(PROGRAM_SERVER, "{\"server_port\": \"8388\", \"password\": 123}");
	assert_string_equal(print(&settings.top.server[0]), "0.0.0.0:8388");
	assert_int_equal(settings.replay_size, 0);
	settings_free(&settings);

	accepts(PROGRAM_REDIR, with("\"timeout\": 0"));
	assert_int_equal(settings.timeout, 600);
	settings_free(&settings);

	accepts(PROGRAM_MANAGER, "{}");
	assert_int_equal(settings.top.key.key_len, 0);
	settings_free(&settings);
}

static void test_all_keys(void **state)
{
	(void)state;
	accepts(PROGRAM_LOCAL,
		"{\"server\": [\"192.0.2.1:1\", \"[2001:db8::1]:2\", \"example.com\", \"::1\"],"
		"\"server_port\": \"3\", \"local_address\": \"::\", \"local_port\": \"1080\","
		"\"key\": \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\", \"method\": "
		"\"AES-256-GCM\","
		"\"timeout\": \"300\", \"user\": 65534, \"plugin\": null, \"plugin_opts\": \"\","
		"\"fast_open\": true, \"reuse_port\": true, \"no_delay\": false, \"mptcp\": true,"
		"\"ipv6_first\": true, \"use_syslog\": true, \"tcp_incoming_sndbuf\": 20000,"
		"\"tcp_incoming_rcvbuf\": 20001, \"tcp_outgoing_sndbuf\": 20002,"
		"\"tcp_outgoing_rcvbuf\": 20003, \"nofile\": 2048, \"mtu\": 1400,"
		"\"nameserver\": \"192.0.2.53\", \"mode\": \"tcp_only\", \"acl\": \"\","
		"\"keep_alive\": 30, \"tcp_congestion\": \"system\", \"dscp\": \"AF21\", "
		"\"fwmark\": 255, \"interface\": \"lo\","
		"\"udp_timeout\": 90, \"replay_size\": 5000, \"max_sessions\": 7, "
		"\"buffer_limit\": 8, \"memory_limit\": \"24M\","
		"\"socks_auth\": [{\"user\": \"u\", \"password\": \"p\"}, {\"user\": \"v\", "
		"\"password\":"
		" \"q\"}]}");
	assert_int_equal(settings.top.servers, 4);
	assert_string_equal(print(&settings.top.server[0]), "192.0.2.1:1");
	assert_string_equal(print(&settings.top.server[1]), "[2001:db8::1]:2");
	assert_string_equal(print(&settings.top.server[2]), "example.com:3");
	assert_string_equal(print(&settings.top.server[3]), "[::1]:3");
	assert_string_equal(print(&settings.local), "[::]:1080");
	assert_string_equal(settings.top.method->name, "aes-256-gcm");
	for (int i = 0; i < 32; i++)
		assert_int_equal(settings.top.key.key[i], i);
	assert_int_equal(settings.timeout, 300);
	assert_string_equal(settings.user, "65534");
	assert_true(settings.socket.fast_open && settings.socket.reuse_port &&
		    settings.socket.multipath && settings.ipv6_first && settings.syslog);
	assert_false(settings.socket.no_delay);
	assert_int_equal(settings.socket.near_sndbuf, 20000);
	assert_int_equal(settings.socket.near_rcvbuf, 20001);
	assert_int_equal(settings.socket.far_sndbuf, 20002);
	assert_int_equal(settings.socket.far_rcvbuf, 20003);
	assert_int_equal(settings.nofile, 2048);
	assert_int_equal(settings.mtu, 1400);
	assert_string_equal(settings.nameserver, "192.0.2.53");
	assert_int_equal(settings.socket.keep_alive, 30);
	assert_string_equal(settings.socket.congestion, "system");
	assert_int_equal(settings.socket.dscp, 18);
	assert_int_equal(settings.socket.mark, 255);
	assert_string_equal(settings.socket.interface, "lo");
	assert_int_equal(settings.udp_timeout, 90);
	assert_int_equal(settings.replay_size, 5000);
	assert_int_equal(settings.max_sessions, 7);
	assert_int_equal(settings.buffer_limit, 8);
	assert_int_equal(settings.memory_limit, 24 << 20);
	assert_int_equal(settings.socks_auths, 2);
	assert_string_equal(settings.socks_auth[1].user, "v");
	assert_string_equal(settings.socks_auth[0].password, "p");
	settings_free(&settings);
	assert_null(settings.user);
	assert_null(settings.socks_auth);
}

static void tunnels_fail(const char *text, const char *why)
{
	assert_int_equal(read_text(PROGRAM_TUNNEL, text), -1);
	assert_non_null(strstr(reason.text, why));
}

/* That of the top level comes first, and others have its address. */
static void test_tunnels(void **state)
{
	(void)state;
	accepts(PROGRAM_TUNNEL,
		with("\"tunnels\": [{\"local_port\": 7, \"tunnel_address\": \"a.test:70\"},"
		     " {\"local_address\": \"[::1]:8\", \"tunnel_address\": \"[2001:db8::2]:80\"},"
		     " {\"local_address\": \"::1\", \"local_port\": \"9\","
		     " \"tunnel_address\": \"b:90\"}], \"tunnel_address\": \"top:60\""));
	assert_int_equal(settings.tunnel_count, 4);
	assert_string_equal(print(&settings.tunnels[0].target), "top:60");
	assert_string_equal(print(&settings.tunnels[0].local), print(&settings.local));
	assert_string_equal(print(&settings.tunnels[1].target), "a.test:70");
	assert_string_equal(print(&settings.tunnels[1].local), "127.0.0.1:7");
	assert_string_equal(print(&settings.tunnels[2].local), "[::1]:8");
	assert_string_equal(print(&settings.tunnels[3].local), "[::1]:9");
	assert_string_equal(print(&settings.tunnels[3].target), "b:90");
	settings_free(&settings);
	assert_null(settings.tunnels);
	/* Without one at the top level its port is not needed. */
	accepts(PROGRAM_TUNNEL, "{\"server\": \"a:1\", \"password\": \"x\", \"tunnels\":"
				" [{\"local_port\": 7, \"tunnel_address\": \"a:70\"}]}");
	assert_int_equal(settings.tunnel_count, 1);
	settings_free(&settings);
	tunnels_fail(with("\"tunnels\": {}"), "key 'tunnels' must be an array of objects");
	tunnels_fail(with("\"tunnels\": [7]"), "of a number here");
	tunnels_fail(with("\"tunnels\": [{\"local_port\": 7}]"), "needs a 'tunnel_address' here");
	tunnels_fail(with("\"tunnels\": [{\"tunnel_address\": \"a:1\"}]"),
		     "needs a 'local_port' here");
	tunnels_fail(with("\"tunnels\": [{\"local_port\": 7, \"tunnel_address\": \"a\"}]"),
		     "must be host:port or [v6]:port, not 'a'");
	tunnels_fail(with("\"tunnels\": [{\"local_port\": 7, \"tunnel_address\": \"a:1\"},"
			  " {\"local_port\": 7, \"tunnel_address\": \"b:1\"}]"),
		     "two tunnels begin at port 7");
	tunnels_fail(with("\"tunnels\": []"), "tunnel_addr is NULL");
}

static void test_other_programs(void **state)
{
	(void)state;
	accepts(PROGRAM_TUNNEL, with("\"tunnel_address\": \"[2001:db8::2]:53\""));
	assert_string_equal(print(&settings.tunnels[0].target), "[2001:db8::2]:53");
	settings_free(&settings);
	accepts(PROGRAM_REDIR,
		with("\"tcp_tproxy\": true, \"dscp\": {\"443\": \"EF\", \"80\": \"0x0a\"}"));
	assert_true(settings.tproxy);
	assert_int_equal(settings.dscp_rules, 2);
	assert_int_equal(settings.dscp[0].port, 443);
	assert_int_equal(settings.dscp[0].dscp, 46);
	assert_int_equal(settings.dscp[1].dscp, 10);
	settings_free(&settings);
	accepts(PROGRAM_MANAGER, "{\"port_password\": {\"8001\": \"a\", \"8002\": 7},"
				 " \"manager_address\": \"127.0.0.1:6001\"}");
	assert_int_equal(settings.ports, 2);
	assert_int_equal(settings.port_password[1].port, 8002);
	assert_string_equal(settings.port_password[1].password, "7");
	settings_free(&settings);
	refuses(PROGRAM_MANAGER, "{\"port_password\": {\"8001\": \"a\",\n\"99999\": \"b\"}}",
		"f.json:2:1: key 'port_password' must have ports from 1 to 65535 as names, not "
		"'99999'");
}

/* Case CF05: what a server may look like. */
static void test_server_forms(void **state)
{
	static const char *const good[][2] = {
		{ "127.0.0.1:8388", "127.0.0.1:8388" },
		{ "[::1]:8388", "[::1]:8388" },
		{ "[::1]", "[::1]:9" },
		{ "::1", "[::1]:9" },
		{ "::", "[::]:9" },
		{ "127.0.0.1:", "127.0.0.1:9" },
		{ "[::0]", "[::]:9" },
		{ "localhost", "127.0.0.1:9" },
	};
	static const char *const bad[] = {
		":8388", "[::1", "]", "", ":", "a:b:c", "h:0", "h:99999"
	};
	char text[600], longest[301];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		snprintf(text, sizeof text,
			 "{\"server\": \"%s\", \"server_port\": 9, \"password\": \"x\"}",
			 good[i][0]);
		accepts(PROGRAM_SERVER, text);
		assert_string_equal(print(&settings.top.server[0]), good[i][1]);
		settings_free(&settings);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text,
			 "{\"server\": \"%s\", \"server_port\": 9, \"password\": \"x\"}", bad[i]);
		if (read_text(PROGRAM_SERVER, text) == 0)
			fail_msg("'%s' was accepted", bad[i]);
		assert_non_null(
			strstr(reason.text, "f.json:1:2: key 'server' must be host, host:port"));
	}
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = 0;
	snprintf(text, sizeof text, "{\"server\": \"%s\", \"server_port\": 9, \"password\": \"x\"}",
		 longest);
	assert_int_equal(read_text(PROGRAM_SERVER, text), -1);
}

static void test_server_list(void **state)
{
	(void)state;
	accepts(PROGRAM_LOCAL,
		"{\"server\": [\"a:1\", \"b:2\", \"c:3\", \"d:4\", \"e:5\", \"f:6\", \"g:7\","
		" \"h:8\", \"i:9\", \"j:10\", \"k:11\"], \"local_port\": 1, \"password\": \"x\"}");
	assert_int_equal(settings.top.servers, SETTINGS_SERVERS);
	assert_string_equal(print(&settings.top.server[9]), "j:10");
	settings_free(&settings);
	/* All servers are IPv6 literals: so is our loopback address. */
	accepts(PROGRAM_LOCAL, "{\"server\": [\"::1\", \"[::2]:5\"], \"server_port\": 4, "
			       "\"local_port\": 1, \"key\":"
			       " \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"}");
	assert_string_equal(print(&settings.local), "[::1]:1");
	settings_free(&settings);
}

static void test_sources(void **state)
{
	(void)state;
	accepts(PROGRAM_SERVER,
		"{\"server_port\": 9, \"password\": \"x\", \"local_ipv4_address\": \"192.0.2.7\","
		" \"local_ipv6_address\": \"2001:db8::7\"}");
	assert_int_equal(settings.socket.source4.family, 4);
	assert_int_equal(settings.socket.source6.family, 6);
	assert_memory_equal(settings.socket.source4.ip, "\xc0\x00\x02\x07", 4);
	settings_free(&settings);
	/* Only if there is no local_address. */
	accepts(PROGRAM_SERVER,
		"{\"server_port\": 9, \"password\": \"x\", \"local_ipv6_address\": \"2001:db8::7\","
		" \"local_address\": \"192.0.2.8\"}");
	assert_memory_equal(settings.socket.source4.ip, "\xc0\x00\x02\x08", 4);
	assert_int_equal(settings.socket.source6.family, 0);
	settings_free(&settings);
	refuses(PROGRAM_SERVER, "{\"local_address\": \"example.com\"}",
		"f.json:1:2: key 'local_address' must be an IP address, not 'example.com'");
	refuses(PROGRAM_SERVER, "{\"local_ipv4_address\": \"::1\"}",
		"f.json:1:2: key 'local_ipv4_address' must be an IPv4 address, not '::1'");
}

/* Case CF03: null is absent, and so is "" where nothing else makes sense. */
static void test_null_and_empty(void **state)
{
	static const char *const keys[] = { "plugin",	  "mode",	   "acl",
					    "nameserver", "local_address", "plugin_opts",
					    "user",	  "method",	   "interface" };
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		snprintf(text, sizeof text, "\"%s\": null, \"%s\": \"\"", keys[i], keys[i]);
		accepts(PROGRAM_LOCAL, with(text));
		assert_null(settings.top.plugin);
		assert_null(settings.user);
		assert_string_equal(print(&settings.local), "127.0.0.1:1080");
		settings_free(&settings);
	}
	for (size_t i = 0; i < 2; i++) {
		snprintf(text, sizeof text, "{\"server_port\": 9, \"password\": %s}",
			 i ? "null" : "\"\"");
		assert_int_equal(read_text(PROGRAM_SERVER, text), -1);
		assert_int_equal(reason.why, OPTIONS_USAGE);
	}
}

static void test_wrong_values(void **state)
{
	(void)state;
	refuses(PROGRAM_LOCAL, "{\n  \"fast_open\": \"yes\"}",
		"f.json:2:3: key 'fast_open' must be a boolean (true or false), not the string "
		"'yes'");
	refuses(PROGRAM_LOCAL, "{\"mtu\": \"big\"}",
		"f.json:1:2: key 'mtu' must be an integer from 0 to 65535, not the string 'big'");
	refuses(PROGRAM_LOCAL, "{\"server_port\": 65536}",
		"f.json:1:2: key 'server_port' must be a port from 1 to 65535, not '65536'");
	refuses(PROGRAM_LOCAL, "{\"server\": {\"a\": 1}}",
		"f.json:1:2: key 'server' must be a string or an array of strings, not an object");
	refuses(PROGRAM_LOCAL, "{\"password\": \"a\\u0000b\"}",
		"f.json:1:2: key 'password' must not have a NUL character inside");
	refuses(PROGRAM_LOCAL, "{\"auth\": false}",
		"f.json:1:2: One time auth has been deprecated. Try AEAD ciphers instead.");
	refuses(PROGRAM_LOCAL, "{\"socks_auth\": []}",
		"f.json:1:2: key 'socks_auth' must not be an empty array");
	refuses(PROGRAM_LOCAL,
		"{\"socks_auth\": [{\"user\": \"u\", \"password\": \"p\"},\n {\"user\": \"u\"}]}",
		"f.json:2:2: key 'socks_auth' needs a 'password' of 1 to 255 bytes here");
	refuses(PROGRAM_LOCAL, "{\"tcp_congestion\": \"no-such\"}",
		"f.json:1:2: key 'tcp_congestion' must be 'system' or what this kernel "
		"has, not 'no-such'");
	refuses(PROGRAM_LOCAL, "{\"dscp\": 64}",
		"f.json:1:2: key 'dscp' must be EF, CS0 to CS7, AF11 to AF43 or a number up to "
		"0x3f, not '64'");
	refuses(PROGRAM_LOCAL, "{\"a\" 1}", "f.json:1:6: expected ':' after a name");
	assert_int_equal(read_text(PROGRAM_LOCAL, "{\"method\": \"no-such\"}"), -1);
	assert_non_null(strstr(reason.text,
			       "f.json:1:2: key 'method' has an invalid cipher name: no-such"));
	assert_non_null(
		strstr(reason.text, "aes-256-gcm and more: shadowsocks --version lists them"));
	assert_int_equal(reason.why, OPTIONS_FATAL);
}

static void test_mode(void **state)
{
	static const struct {
		const char *text;
		enum mode mode;
	} cases[] = {
		{ "tcp_only", MODE_TCP_ONLY },
		{ "tcp_and_udp", MODE_TCP_AND_UDP },
		{ "udp_only", MODE_UDP_ONLY },
		{ "both", MODE_TCP_ONLY },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		snprintf(text, sizeof text, "\"mode\": \"%s\"", cases[i].text);
		accepts(PROGRAM_LOCAL, with(text));
		assert_int_equal(settings.mode, cases[i].mode);
		settings_free(&settings);
	}
	/* An element says it for itself, or takes the top level's. */
	accepts(PROGRAM_SERVER,
		"{\"mode\": \"udp_only\", \"servers\": [{\"server_port\": 1, \"password\": \"a\","
		"\"mode\": \"tcp_only\"}, {\"server_port\": 2, \"password\": \"b\"}]}");
	assert_int_equal(settings.mode, MODE_UDP_ONLY);
	assert_int_equal(settings_place(&settings, 0)->mode, MODE_TCP_ONLY + 1);
	assert_int_equal(settings_place(&settings, 1)->mode, 0);
	settings_free(&settings);
}

static void test_keys_of_others(void **state)
{
	(void)state;
	/* No program fails over what is meant for another one, or for nobody. */
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		accepts(all[i],
			with("\"tunnel_address\": \"a:1\", \"tcp_tproxy\": true, "
			     "\"manager_address\": \"a:1\","
			     "\"port_password\": {\"1\": \"a\"}, \"local_ipv4_address\": "
			     "\"192.0.2.1\","
			     "\"dscp\": {\"443\": \"EF\"}, \"workdir\": \"d\", \"udp_timeout\": "
			     "\"5\","
			     "\"workers\": \"1\", \"obfs\": \"tls\", \"//comment\": 1, "
			     "\"servers\": [],"
			     "\"local_address\": \"127.0.0.1\", \"route\": \"all\", \"remarks\": "
			     "\"\""));
		assert_int_equal(settings.workers, 1);
		settings_free(&settings);
	}
}

static void test_workers(void **state)
{
	static const char *const wrong[] = {
		"\"workers\": 0",	 "\"workers\": \"257\"", "\"workers\": \"+1\"",
		"\"workers\": \"many\"", "\"workers\": []",	 "\"workers\": -1",
	};

	(void)state;
	accepts(PROGRAM_LOCAL, with("\"workers\": 5"));
	assert_int_equal(settings.workers, 5);
	settings_free(&settings);
	accepts(PROGRAM_SERVER, with("\"workers\": \"12\""));
	assert_int_equal(settings.workers, 12);
	settings_free(&settings);
	accepts(PROGRAM_LOCAL, with("\"workers\": \"auto\""));
	assert_in_range(settings.workers, 1, 256);
	settings_free(&settings);
	accepts(PROGRAM_MANAGER, with("\"workers\": 2"));
	assert_int_equal(settings.workers, 1);
	settings_free(&settings);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		if (read_text(PROGRAM_LOCAL, with(wrong[i])) == 0)
			fail_msg("%s was accepted", wrong[i]);
		assert_non_null(strstr(reason.text, "key 'workers' must be"));
	}
}

static void test_small_values(void **state)
{
	(void)state;
	accepts(PROGRAM_LOCAL,
		with("\"tcp_incoming_sndbuf\": 16382, \"tcp_outgoing_rcvbuf\": 16383,"
		     "\"nofile\": 1024"));
	assert_int_equal(settings.socket.near_sndbuf, 0);
	assert_int_equal(settings.socket.far_rcvbuf, 16383);
	assert_int_equal(settings.nofile, 0);
	settings_free(&settings);
}

/* --- methods and their keys */

static const char psk16[] = "LCTSqb8wAfNqCkDbgDWu/Q==", upsk16[] = "3SGSqCks7mX0ZA9GrUEykQ==";
static const char psk32[] = "LCTSqb8wAfNqCkDbgDWu/aQZD6bwN+NULlzQih4t4k0=";
static const unsigned char psk_bytes[] = { /* psk32, decoded */
					   0x2c, 0x24, 0xd2, 0xa9, 0xbf, 0x30, 0x01, 0xf3,
					   0x6a, 0x0a, 0x40, 0xdb, 0x80, 0x35, 0xae, 0xfd,
					   0xa4, 0x19, 0x0f, 0xa6, 0xf0, 0x37, 0xe3, 0x54,
					   0x2e, 0x5c, 0xd0, 0x8a, 0x1e, 0x2d, 0xe2, 0x4d
};

/* The smallest file of a server with this method and password. */
static const char *of_server(const char *method, const char *password)
{
	static char text[1024];

	snprintf(text, sizeof text,
		 "{\"server_port\": 9, \"method\": \"%s\", \"password\": \"%s\"}", method,
		 password);
	return text;
}

static const char *of_client(const char *method, const char *password, const char *more)
{
	static char text[1024];

	snprintf(text, sizeof text,
		 "{\"server\": \"a\", \"server_port\": 9, \"local_port\": 8, \"method\": \"%s\","
		 " \"password\": \"%s\"%s}",
		 method, password, more);
	return text;
}

/* Aliases and any case of letters; a password is enough for all that are not of 2022. */
static void test_method_names(void **state)
{
	static const char *const names[][2] = {
		{ "aEs-256-GCM", "aes-256-gcm" },
		{ "AEAD_AES_128_GCM", "aes-128-gcm" },
		{ "aead_chacha20_poly1305", "chacha20-ietf-poly1305" },
		{ "RC4-MD5", "rc4-md5" },
		{ "Aes-256-CFB", "aes-256-cfb" },
		{ "TABLE", "table" },
		{ "Plain", "none" },
		{ "NONE", "none" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		accepts(PROGRAM_SERVER, of_server(names[i][0], "foobar"));
		assert_string_equal(settings.top.method->name, names[i][1]);
		assert_true(settings.top.key.server);
		/* EVP_BytesToKey of "foobar": the first bytes, whatever its length */
		assert_memory_equal(settings.top.key.key, "\x38\x58\xf6\x22\x30\xac\x3c\x91", 8);
		settings_free(&settings);
	}
	refuses(PROGRAM_SERVER, of_server("rot13", "x"),
		"f.json:1:20: key 'method' has an invalid cipher name: rot13 (failed to initialize "
		"ciphers; there are 2022-blake3-aes-256-gcm, aes-256-gcm and more: shadowsocks "
		"--version lists them)");
}

/* Only the method without encryption needs no password. */
static void test_no_password(void **state)
{
	(void)state;
	accepts(PROGRAM_SERVER, "{\"server_port\": 9, \"method\": \"plain\"}");
	settings_free(&settings);
	accepts(PROGRAM_LOCAL, "{\"server\": \"a:1\", \"local_port\": 9, \"method\": \"none\"}");
	assert_false(settings.top.key.server);
	settings_free(&settings);
	assert_int_equal(read_text(PROGRAM_SERVER, "{\"server_port\": 9, \"method\": \"table\"}"),
			 -1);
	assert_int_equal(reason.why, OPTIONS_USAGE);
}

static void test_psk(void **state)
{
	static const char *const methods[] = { "2022-blake3-aes-128-gcm", "2022-blake3-AES-256-gcm",
					       "2022-blake3-chacha20-poly1305",
					       "2022-blake3-chacha12-poly1305",
					       "2022-blake3-chacha8-poly1305" };
	char bare[64];

	(void)state;
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		const char *psk = i ? psk32 : psk16;
		size_t n = i ? 32 : 16;

		for (int padded = 0; padded < 2; padded++) {
			snprintf(bare, sizeof bare, "%s", psk);
			if (!padded)
				bare[strcspn(bare, "=")] = 0;
			accepts(PROGRAM_SERVER, of_server(methods[i], bare));
			assert_int_equal(settings.top.key.key_len, n);
			assert_memory_equal(settings.top.key.key, psk_bytes, n);
			settings_free(&settings);
		}
	}
	/* The key 'key' is the same, and wins. */
	snprintf(bare, sizeof bare, "x\", \"key\": \"%s", psk16);
	accepts(PROGRAM_SERVER, of_server("2022-blake3-aes-128-gcm", bare));
	assert_memory_equal(settings.top.key.key, psk_bytes, 16);
	settings_free(&settings);
}

/* Right length, what was given, and how to make one. */
static void test_bad_psk(void **state)
{
	static const char front[] = "f.json:1:57: key 'password': the key of "
				    "2022-blake3-aes-256-gcm must be 32 random bytes in "
				    "base64 (44 characters), ";
	static const char back[] = "; make one with: shadowsocks key 2022-blake3-aes-256-gcm";
	static const char *const cases[][2] = {
		{ psk16, "not 16 bytes" },
		{ "LCTSqb8wAfNqCkDbgDWu/aQZD6bwN+NULlzQih4t4k1B", "not 33 bytes" },
		{ "AA==", "not 1 bytes" },
		{ "barfoo!", "which this is not" },
		{ "LCTSqb8wAfNqCkDbgDWu_aQZD6bwN-NULlzQih4t4k0=",
		  "in the alphabet with '+' and '/', not with '-' and '_'" },
		{ "LCTSqb8wAfNqCkDbgDWu/aQZD6bwN+NULlzQih4t4k0==", "which this is not" },
		{ "LCTSqb8wAfNqCkDbgDWu/aQZD6bwN+NULlzQih4t4k0 ", "which this is not" },
		{ "LCTSqb8wAfNqCkDbgDWu/aQZD6bwN+NULlzQih4t4k1=", "which this is not" },
	};
	char wanted[400];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		snprintf(wanted, sizeof wanted, "%s%s%s", front, cases[i][1], back);
		refuses(PROGRAM_SERVER, of_server("2022-blake3-aes-256-gcm", cases[i][0]), wanted);
		assert_int_equal(reason.why, OPTIONS_FATAL);
	}
}

static void test_chain(void **state)
{
	char chain[400];

	(void)state;
	snprintf(chain, sizeof chain, "%s:%s", upsk16, psk16);
	accepts(PROGRAM_LOCAL, of_client("2022-blake3-aes-128-gcm", chain, ""));
	assert_memory_equal(settings.top.key.key, psk_bytes, 16);
	assert_int_equal(settings.top.key.identity_count, 1);
	assert_memory_equal(settings.top.key.identities[0].key, "\xdd\x21\x92\xa8", 4);
	/* SIP023: BLAKE3(uPSK) */
	assert_memory_equal(settings.top.key.identities[0].next, "\x43\xe6\x2a\xf7", 4);
	settings_free(&settings);

	refuses(PROGRAM_SERVER, of_server("2022-blake3-aes-128-gcm", chain),
		"f.json:1:57: key 'password': a server of 2022-blake3-aes-128-gcm has one key: "
		"chains are for clients, and the "
		"keys of clients belong under 'users'");
	snprintf(chain, sizeof chain, "%s:%s", psk32, psk32);
	refuses(PROGRAM_LOCAL, of_client("2022-blake3-chacha20-poly1305", chain, ""),
		"f.json:1:95: key 'password': 2022-blake3-chacha20-poly1305 has no users, so its "
		"key cannot be a chain: only "
		"the AES methods of 2022 have");
	snprintf(chain, sizeof chain, "%s::%s", psk16, psk16);
	assert_int_equal(read_text(PROGRAM_LOCAL, of_client("2022-blake3-aes-128-gcm", chain, "")),
			 -1);
	assert_non_null(strstr(reason.text, "not 0 bytes"));

	chain[0] = 0;
	for (int i = 0; i < WIRE_IDENTITIES + 1; i++)
		snprintf(chain + strlen(chain), sizeof chain - strlen(chain), "%s:", upsk16);
	snprintf(chain + strlen(chain), sizeof chain - strlen(chain), "%s", psk16);
	refuses(PROGRAM_LOCAL, of_client("2022-blake3-aes-128-gcm", chain, ""),
		"f.json:1:89: key 'password': a chain may have 8 keys at most before the last, not "
		"9");
	accepts(PROGRAM_LOCAL,
		of_client("2022-blake3-aes-128-gcm", chain + strlen(upsk16) + 1, ""));
	assert_int_equal(settings.top.key.identity_count, WIRE_IDENTITIES);
	settings_free(&settings);
}

/* --- users and servers */

static const char *with_users(const char *method, const char *key, const char *users)
{
	static char text[1024];

	snprintf(text, sizeof text,
		 "{\"server_port\": 9, \"method\": \"%s\", \"password\": \"%s\",\n\"users\": %s}",
		 method, key, users);
	return text;
}

static void test_users(void **state)
{
	static const char method[] = "2022-blake3-aes-128-gcm";
	static const char alice[] =
		"[{\"name\": \"alice\", \"password\": \"LCTSqb8wAfNqCkDbgDWu/Q==\"}]";

	(void)state;
	accepts(PROGRAM_SERVER, with_users(method, upsk16, alice));
	assert_int_equal(settings.top.user_count, 1);
	assert_string_equal(settings.top.users[0].name, "alice");
	assert_memory_equal(settings.top.users[0].key, psk_bytes, 16);
	assert_null(settings.top.users[0].password);
	settings_free(&settings);
	assert_null(settings.top.users);

	refuses(PROGRAM_SERVER,
		with_users(method, upsk16,
			   "[{\"name\": \"alice\", \"password\": \"LCTSqb8wAfNqCkDbgDWu/Q==\"},"
			   " {\"name\": \"carol\", \"password\": \"AAECAwQFBgcICQoLDA0ODw==\"},"
			   " {\"name\": \"bob\", \"password\": \"LCTSqb8wAfNqCkDbgDWu/Q\"}]"),
		"f.json:2:129: users 'alice' and 'bob' have the same key");
	refuses(PROGRAM_SERVER,
		with_users(method, upsk16,
			   "[{\"name\": \"alice\", \"password\": \"LCTSqb8wAfNqCkDbgDWu/Q==\"},"
			   " {\"name\": \"alice\", \"password\": \"AAECAwQFBgcICQoLDA0ODw==\"}]"),
		"f.json:2:70: there are two users named 'alice'");
	refuses(PROGRAM_SERVER, with_users(method, psk16, alice),
		"f.json:2:11: user 'alice' has the key of the server itself");
	refuses(PROGRAM_SERVER, with_users("2022-blake3-chacha20-poly1305", psk32, alice),
		"f.json:2:11: 2022-blake3-chacha20-poly1305 has no users: only the AES methods of "
		"2022 have");
	refuses(PROGRAM_SERVER, with_users("aes-128-gcm", psk32, alice),
		"f.json:2:11: aes-128-gcm has no users: only the AES methods of 2022 have");
	refuses(PROGRAM_SERVER, with_users("2022-blake3-aes-256-gcm", psk32, alice),
		"f.json:2:11: user 'alice': the key of 2022-blake3-aes-256-gcm must be 32 random "
		"bytes in "
		"base64 "
		"(44 characters), not 16 bytes; make one with: shadowsocks key "
		"2022-blake3-aes-256-gcm");
	refuses(PROGRAM_SERVER, with_users(method, upsk16, "[]"),
		"f.json:2:1: key 'users' must not be an empty array");
	refuses(PROGRAM_SERVER, with_users(method, upsk16, "{\"alice\": 1}"),
		"f.json:2:1: key 'users' must be an array of objects with name and password, not "
		"an "
		"object");
	refuses(PROGRAM_SERVER, with_users(method, upsk16, "[{\"name\": \"alice\"}]"),
		"f.json:2:11: key 'users' needs a 'password' of 1 to 255 bytes here");
	refuses(PROGRAM_SERVER, with_users(method, upsk16, "[\"alice\"]"),
		"f.json:2:11: key 'users' must be an array of objects with name and password, not "
		"a "
		"string");
	/* Clients have none. */
	accepts(PROGRAM_LOCAL, with("\"users\": []"));
	settings_free(&settings);
}

static void test_servers(void **state)
{
	static const char text[] =
		"{\"local_port\": 8, \"server_port\": 7, \"method\": \"aes-128-gcm\", \"servers\": "
		"[\n"
		"{\"address\": \"a\", \"port\": 1, \"method\": \"aes-256-gcm\", \"password\": "
		"\"x\"},\n"
		"{\"server\": \"b\", \"server_port\": 2, \"password\": \"y\", \"disabled\": "
		"true},\n"
		"{\"server\": \"c\", \"password\": \"foobar\", \"remarks\": \"r\", \"id\": 1},\n"
		"{\"server\": [\"d\", \"e:5\"], \"method\": \"none\"}]}";

	(void)state;
	accepts(PROGRAM_LOCAL, text);
	assert_int_equal(settings.element_count, 4);
	assert_string_equal(print(&settings_place(&settings, 0)->server[0]), "a:1");
	assert_int_equal(settings_place(&settings, 0)->key.key_len, 32);
	assert_string_equal(print(&settings_place(&settings, 1)->server[0]), "c:7");
	assert_string_equal(settings_place(&settings, 1)->method->name, "aes-128-gcm");
	assert_memory_equal(settings_place(&settings, 1)->key.key, "\x38\x58\xf6\x22", 4);
	assert_null(settings_place(&settings, 1)->password);
	assert_null(settings.elements[1].password);
	assert_string_equal(print(&settings_place(&settings, 2)->server[1]), "e:5");
	assert_null(settings_place(&settings, 3));
	settings_free(&settings);

	/* The top level is one more if it names a server. */
	accepts(PROGRAM_SERVER, "{\"server\": \"::\", \"server_port\": 1, \"password\": \"x\","
				" \"servers\": [{\"server_port\": 2, \"password\": \"y\"}]}");
	assert_string_equal(print(&settings_place(&settings, 0)->server[0]), "[::]:1");
	assert_string_equal(print(&settings_place(&settings, 1)->server[0]), "0.0.0.0:2");
	assert_null(settings_place(&settings, 2));
	settings_free(&settings);
}

/* A plugin of the top level is one for all elements, unless it has a server of its own. */
static void test_plugins(void **state)
{
	(void)state;
	assert_int_equal(
		read_text(PROGRAM_SERVER,
			  "{\"plugin\": \"p\", \"plugin_opts\": \"a=\\\";\", "
			  "\"plugin_mode\": \"tcp_and_udp\", \"servers\": ["
			  "{\"server_port\": 1, \"password\": \"x\"}, "
			  "{\"server_port\": 2, \"password\": \"x\", \"plugin\": \"q\"}]}"),
		0);
	assert_string_equal(settings_place(&settings, 0)->plugin, "p");
	assert_string_equal(settings_place(&settings, 0)->plugin_opts, "a=\";");
	assert_int_equal(settings_place(&settings, 0)->plugin_mode, MODE_TCP_AND_UDP);
	assert_string_equal(settings_place(&settings, 1)->plugin, "q");
	assert_null(settings_place(&settings, 1)->plugin_opts);
	assert_int_equal(settings_place(&settings, 1)->plugin_mode, MODE_TCP_ONLY);
	settings_free(&settings);
	assert_int_equal(read_text(PROGRAM_SERVER,
				   "{\"plugin\": \"/p\", \"server\": \"::\", \"server_port\": 3, "
				   "\"password\": \"x\", \"servers\": ["
				   "{\"server_port\": 1, \"password\": \"x\"}]}"),
			 0);
	assert_string_equal(settings_place(&settings, 0)->plugin, "/p");
	assert_null(settings_place(&settings, 1)->plugin);
	settings_free(&settings);
}

/* A path is absolute, and a program in the working directory comes before those of PATH. */
static void test_plugin_is_found(void **state)
{
	static const char *const text =
		"{\"server_port\": 1, \"password\": \"x\", \"plugin\": \"%s\"}";
	static const struct {
		const char *name;
		mode_t mode; /* of a file `here` */
		bool here;
	} cases[] = {
		{ "here", 0700, true },
		{ "here", 0600, false },
		{ "./here", 0600, true },
		{ "elsewhere", 0700, false },
	};
	char json[200], whole[300], where[200];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		close(open("here", O_CREAT | O_WRONLY, 0700));
		assert_int_equal(chmod("here", cases[i].mode), 0);
		snprintf(json, sizeof json, text, cases[i].name);
		snprintf(whole, sizeof whole, "%s/%s", getcwd(where, sizeof where), cases[i].name);
		assert_int_equal(read_text(PROGRAM_SERVER, json), 0);
		assert_string_equal(settings.top.plugin, cases[i].here ? whole : cases[i].name);
		settings_free(&settings);
	}
	assert_int_equal(unlink("here"), 0);
}

static void test_bad_servers(void **state)
{
	(void)state;
	refuses(PROGRAM_SERVER, "{\"servers\": {}}",
		"f.json:1:2: key 'servers' must be an array of objects, not an object");
	refuses(PROGRAM_SERVER, "{\"servers\": [\n1]}",
		"f.json:2:1: key 'servers' must be an array of objects, not of a number here");
	refuses(PROGRAM_SERVER, "{\"servers\": [\n{\"server_port\": 0}]}",
		"f.json:2:2: key 'server_port' must be a port from 1 to 65535, not '0'");
	refuses(PROGRAM_SERVER, "{\"servers\": [{\"server_port\": 1, \"password\": \"x\"}, {}]}",
		"f.json:1:51: servers[1]: no server port is given: it needs a key 'server_port', "
		"or "
		"the top level one, or -p (remote_port is NULL)");
	assert_int_equal(reason.why, OPTIONS_FATAL);
	/* A password is of one place. */
	assert_int_equal(read_text(PROGRAM_SERVER,
				   "{\"password\": \"x\", \"servers\": [{\"server_port\": 1}]}"),
			 -1);
	assert_non_null(strstr(reason.text, "f.json:1:31: servers[0]: no password or key is given: "
					    "it needs a key 'password' or 'key' of its own"));
	refuses(PROGRAM_SERVER,
		"{\"servers\": [{\"server_port\": 1, \"password\": \"x\", \"disabled\": true}]}",
		"all servers are disabled");
	assert_int_equal(read_text(PROGRAM_SERVER,
				   "{\"servers\": [{\"server_port\": 1, \"password\": \"x\","
				   " \"method\": \"2022-blake3-aes-128-gcm\"}]}"),
			 -1);
	assert_non_null(strstr(reason.text, "f.json:1:33: servers[0]: key "
					    "'password': the key of 2022-blake3-aes-128-gcm must"));
}

/* --- how requests look */

static void test_looks(void **state)
{
	(void)state;
	accepts(PROGRAM_LOCAL, of_client("aes-256-gcm", "x",
					 ", \"prefix\": \"\\u0016\\u0003\\u0000\\u00a8\\u00ffG\","
					 " \"printable_salt\": true"));
	assert_int_equal(settings.top.key.prefix_len, 6);
	assert_memory_equal(settings.top.key.prefix, "\x16\x03\x00\xa8\xffG", 6);
	assert_true(settings.top.key.printable_salt);
	settings_free(&settings);
	accepts(PROGRAM_LOCAL,
		of_client("2022-blake3-aes-128-gcm", psk16, ", \"padding\": \"30-200\""));
	assert_int_equal(settings.top.key.padding_min, 30);
	assert_int_equal(settings.top.key.padding_max, 200);
	settings_free(&settings);
	accepts(PROGRAM_LOCAL, of_client("2022-blake3-aes-128-gcm", psk16, ", \"padding\": 900"));
	assert_int_equal(settings.top.key.padding_min, 900);
	assert_int_equal(settings.top.key.padding_max, 900);
	settings_free(&settings);
	accepts(PROGRAM_LOCAL, of_client("2022-blake3-aes-128-gcm", psk16, ""));
	assert_int_equal(settings.top.key.padding_min, 0);
	assert_int_equal(settings.top.key.padding_max, WIRE_PADDING_MAX);
	settings_free(&settings);
}

static void test_bad_looks(void **state)
{
	static const char *const paddings[] = { "901", "-1", "5-4",   "1-901", "1-",
						"-",   "a",  "1-2-3", "" };
	char more[80];

	(void)state;
	refuses(PROGRAM_LOCAL, of_client("aes-128-gcm", "x", ", \"prefix\": \"123456789\""),
		"key 'prefix' may have 8 bytes at most with aes-128-gcm, half of its salt, not 9");
	assert_int_equal(read_text(PROGRAM_LOCAL, with("\"prefix\": \"12345678901234567\"")), -1);
	assert_non_null(strstr(reason.text, "key 'prefix' must have 16 bytes at most"));
	assert_int_equal(read_text(PROGRAM_LOCAL, with("\"prefix\": \"\\u0100\"")), -1);
	assert_non_null(strstr(reason.text, "must have bytes, \\u0000 to \\u00ff, and no other"));
	assert_int_equal(read_text(PROGRAM_LOCAL, with("\"prefix\": 7")), -1);
	assert_non_null(strstr(reason.text, "key 'prefix' must be a string, not a number"));
	refuses(PROGRAM_LOCAL, of_client("aes-128-cfb", "x", ", \"prefix\": \"1\""),
		"key 'prefix': only AEAD and 2022 methods have salts, aes-128-cfb has none");
	refuses(PROGRAM_LOCAL, of_client("none", "x", ", \"printable_salt\": true"),
		"printable_salt: only AEAD and 2022 methods have salts, none has none");
	refuses(PROGRAM_LOCAL, of_client("aes-128-gcm", "x", ", \"padding\": \"1-2\""),
		"padding: only 2022 methods have it, not aes-128-gcm");
	for (size_t i = 0; i < sizeof paddings / sizeof paddings[0]; i++) {
		snprintf(more, sizeof more, ", \"padding\": \"%s\"", paddings[i]);
		assert_int_equal(read_text(PROGRAM_LOCAL,
					   of_client("2022-blake3-aes-128-gcm", psk16, more)),
				 -1);
		assert_non_null(
			strstr(reason.text, "must be MIN-MAX or one number, from 0 to 900"));
	}
}

static void test_truncated(void **state)
{
	char *text = strdup(
		with("\"socks_auth\": [{\"user\": \"u\", \"password\": \"p\"}], \"dscp\": \"EF\""));
	size_t length = strlen(text);

	(void)state;
	for (size_t n = 0; n < length; n++) {
		assert_int_equal(settings_read_text(&settings, PROGRAM_LOCAL, "f", text, n,
						    &reason),
				 -1);
		assert_int_equal(reason.why, OPTIONS_FATAL);
	}
	free(text);
}

/* --- in a process of its own: what is said, where, and how it ends */

enum { WORDS = 24, OUTPUT = 16384 };

static char out[2 * OUTPUT], err[OUTPUT];

static void slurp(FILE *f, char *to)
{
	rewind(f);
	to[fread(to, 1, OUTPUT - 1, f)] = 0;
	fclose(f);
}

/* The exit status of settings_read() with this command line, where $ is an empty word; 100 if it
 * returned. */
static int run(enum program program, const char *line)
{
	FILE *o = tmpfile(), *e = tmpfile();
	char text[512], *argv[WORDS] = { "ss" };
	int argc = 1, status;
	pid_t pid;

	assert_true(o && e);
	snprintf(text, sizeof text, "%s", line);
	for (char *p = strtok(text, " "); p && argc < WORDS - 1; p = strtok(NULL, " "))
		argv[argc++] = strcmp(p, "$") ? p : p + 1;
	log_warn("%s", line); /* the child's first line is not to be folded with one of ours */
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fileno(o), STDOUT_FILENO);
		dup2(fileno(e), STDERR_FILENO);
		settings_read(&settings, program, argc, argv);
		for (int i = 0; i < argc; i++)
			printf("[%s]", argv[i]);
		for (size_t i = 0; i < settings.top.key.key_len; i++)
			printf(" %02x", settings.top.key.key[i]);
		printf(" config %s pid %s env %s\n", settings.config ? settings.config : "none",
		       settings.pid_file ? settings.pid_file : "none",
		       getenv("SS_PASSWORD") ? "kept" : "gone");
		settings_free(&settings);
		fflush(stdout);
		_exit(100);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	slurp(o, out);
	slurp(e, err);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void ends(enum program program, const char *line, int status, const char *on_err,
		 const char *on_out)
{
	int got = run(program, line);

	if (got != status || !strstr(err, on_err) || !strstr(out, on_out))
		fail_msg("'%s': status %d, wanted %d\nstderr: %s\nstdout: %.300s", line, got,
			 status, err, out);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void test_help_and_version(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		ends(all[i], "-h", 0, "", "shadowsocks ");
		assert_int_equal(strncmp(out, "shadowsocks ", 12), 0);
		assert_string_equal(err, "");
		ends(all[i], "--he", 0, "", settings_program_name(all[i]));
		ends(all[i], "-v --version", 0, "", "shadowsocks ");
		assert_non_null(strstr(out, "\nmethods: "));
	}
}

static void test_missing(void **state)
{
	(void)state;
	ends(PROGRAM_LOCAL, "-v", 1, "remote_num is 0", "usage: ss-local");
	ends(PROGRAM_LOCAL, "-s a", 1, "remote_port is NULL", "usage: ss-local");
	ends(PROGRAM_LOCAL, "-s a -p 1", 1, "local_port is NULL", "usage: ss-local");
	ends(PROGRAM_LOCAL, "-s a -p 1 -l 2", 1, "both password and key are NULL",
	     "usage: ss-local");
	ends(PROGRAM_LOCAL, "-s a:1 -l 2 -k x", 100, "", "");
	ends(PROGRAM_SERVER, "-s 127.0.0.1", 1, "remote_port is NULL", "usage: ss-server");
	ends(PROGRAM_SERVER, "-s 127.0.0.1:1 -s [::1] -k x", 1, "remote_port is NULL", "");
	ends(PROGRAM_SERVER, "-s 127.0.0.1:1 -s [::1]:2 -k x", 100, "", "");
	ends(PROGRAM_SERVER, "-p 1", 1, "both password and key are NULL", "usage: ss-server");
	ends(PROGRAM_TUNNEL, "-s a -p 1 -l 2 -k x", 1, "tunnel_addr is NULL", "usage: ss-tunnel");
	ends(PROGRAM_TUNNEL, "-s a -p 1 -k x -L a:1", 1, "local_port is NULL", "usage: ss-tunnel");
	ends(PROGRAM_TUNNEL, "-s a -p 1 -k x -L 2=a:1 -L 3=a:1", 100, "", "");
	ends(PROGRAM_TUNNEL, "-s a -p 1 -k x -L 2=a:1 -L 2=b:1", 255, "two tunnels begin at port 2",
	     "");
	ends(PROGRAM_TUNNEL, "-s a -p 1 -k x -L x=a:1", 255, "must have a local port", "");
	ends(PROGRAM_REDIR, "-s a -p 1 -k x", 1, "local_port is NULL", "usage: ss-redir");
	ends(PROGRAM_SERVER, "--no-such-option", 1, "Unrecognized option: --no-such-option",
	     "usage: ss-server");
	ends(PROGRAM_REDIR, "-i lo", 1, "Unrecognized option: -i", "usage: ss-redir");
	ends(PROGRAM_SERVER, "-p 1 -k", 1, "option -k needs an argument", "usage: ss-server");
	/* Not the whole help text, behind which the reason would be out of sight. */
	assert_non_null(strstr(out, "ss-server -h lists the options."));
	assert_null(strstr(out, "--no-delay"));
	write_file("c.json", "{\"servers\": [{\"server\": \"a:1\", \"password\": \"x\"}]}");
	ends(PROGRAM_LOCAL, "-c c.json", 1, "no local port is given: use -l", "usage: ss-local");
}

static void test_fatal(void **state)
{
	(void)state;
	ends(PROGRAM_SERVER, "-A", 255,
	     "One time auth has been deprecated. Try AEAD ciphers instead.", "");
	ends(PROGRAM_SERVER, "-p 1 -k x -m rot13", 255, "invalid cipher name: rot13", "");
	ends(PROGRAM_SERVER, "-p 0 -k x", 255, "must be a port from 1 to 65535, not '0'", "");
	ends(PROGRAM_SERVER, "-p 1 --key short", 255,
	     "option --key: the key is not base64url of at least 32 bytes, which "
	     "chacha20-ietf-poly1305 needs; here is a fresh random key of the right length: ",
	     "");
	ends(PROGRAM_SERVER, "-p 1 -k x -m 2022-blake3-aes-128-gcm", 255,
	     "-k, SS_PASSWORD or PASSWORD_FILE: the key of 2022-blake3-aes-128-gcm must", "");
	ends(PROGRAM_SERVER, "-c /nonexistent/c.json", 255,
	     "Invalid config path. cannot open /nonexistent/c.json: No such file or directory", "");
	ends(PROGRAM_SERVER, "-c /", 255, "Invalid config path.", "");
	/* What 3.3.5 swallows is warned about. */
	ends(PROGRAM_SERVER, "-p 1 -k x -t abc -l 99999", 100, "option -t should be an integer",
	     "");
	assert_non_null(strstr(err, "not 'abc': the default, 60, is used"));
	ends(PROGRAM_SERVER, "-p 1 -k x -t -5", 100, "not '-5': the default, 60, is used", "");
	ends(PROGRAM_REDIR, "-s a -p 1 -l 2 -k x -t abc", 100, "the default, 600, is used", "");
	ends(PROGRAM_SERVER, "-p 1 -k x -t 7x", 100, "not '7x': 7 is used", "");
	ends(PROGRAM_SERVER, "-p 1 -k x -t 0", 100, "", "");
	assert_string_equal(err, "");
	/* Empty where shadowsocks-libev fails, too: nothing may seem to be set that is not. */
	ends(PROGRAM_SERVER, "-p 1 -k x -f $", 255, "option -f must not be empty", "");
	ends(PROGRAM_SERVER, "-p 1 -k x -c $", 255, "option -c must not be empty", "");
	ends(PROGRAM_SERVER, "-p 1 -k x -a $", 255, "option -a must not be empty", "");
	ends(PROGRAM_SERVER, "-p 1 -k x -b 127.0.0.1", 100, "sends from a loopback address", "");
}

static void test_secrets(void **state)
{
	/* EVP_BytesToKey of "foobar", 16 bytes */
	static const char key[] = " 38 58 f6 22 30 ac 3c 91 5f 30 0c 66 43 12 c6 3f config";

	(void)state;
	ends(PROGRAM_SERVER, "-p 1 -m aes-128-gcm -vkfoobar", 100, "", key);
	assert_null(strstr(out, "foobar"));
	assert_non_null(strstr(out, "[-vk]"));
	ends(PROGRAM_SERVER, "-p 1 -m aes-128-gcm --passw=foobar", 100, "", key);
	assert_non_null(strstr(out, "[--passw=]"));
	ends(PROGRAM_SERVER, "-p 1 -k x --key AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", 100,
	     "the key is used", "[-k][][--key][] 00 01 02 03");

	setenv("SS_PASSWORD", "foobar", 1);
	ends(PROGRAM_SERVER, "-p 1 -m aes-128-gcm", 100, "", key);
	assert_non_null(strstr(out, "env gone"));
	ends(PROGRAM_SERVER, "-p 1 -m aes-128-gcm -k other", 100, "", "env gone");
	assert_null(strstr(out, key));
	unsetenv("SS_PASSWORD");

	write_file("password", "foobar\r\nmore\n");
	setenv("PASSWORD_FILE", "password", 1);
	ends(PROGRAM_SERVER, "-p 1 -m aes-128-gcm", 100, "", key);
	write_file("password", "\n");
	ends(PROGRAM_SERVER, "-p 1 -m aes-128-gcm", 255, "has no password in its first line", "");
	setenv("PASSWORD_FILE", "absent", 1);
	ends(PROGRAM_SERVER, "-p 1 -m aes-128-gcm", 255, "PASSWORD_FILE: absent: No such file", "");
	unsetenv("PASSWORD_FILE");
}

static void test_files(void **state)
{
	char cwd[4096], wanted[9000];

	(void)state;
	assert_non_null(getcwd(cwd, sizeof cwd));
	write_file("c.json", "{\"server_port\": 9, \"password\": \"x\", \"timeout\": 5}");
	snprintf(wanted, sizeof wanted, "config %s/c.json pid %s/p.pid", cwd, cwd);
	ends(PROGRAM_SERVER, "-c c.json -f p.pid", 100, "", wanted);
	write_file("c.json", "{\"server_port\": 9,\n \"password\": \"x\" \"timeout\": 5}");
	ends(PROGRAM_SERVER, "-c c.json", 255, "c.json:2:18: expected ',' or '}' after a value",
	     "");
	write_file("c.json",
		   "{\"server_port\": 9, \"password\": \"x\", \"tunnel_address\": \"a:1\","
		   " \"local_port\": 1, \"nonsense\": 1}");
	ends(PROGRAM_SERVER, "-c c.json", 100,
	     "c.json:1:37: key 'tunnel_address' is for ss-tunnel, ignored", "");
	assert_non_null(
		strstr(err, "key 'local_port' is for ss-local, ss-tunnel, ss-redir, ignored"));
	assert_non_null(strstr(err, "key 'nonsense' is not known, ignored"));
	assert_int_equal(truncate("c.json", SETTINGS_CONFIG_MAX + 1), 0);
	ends(PROGRAM_SERVER, "-c c.json", 255, "Too large config file.", "");
}

/* A server that has read c.json, which says this. */
static void start_server(const char *text)
{
	char name[] = "ss-server", c[] = "-c", file[] = "c.json", *argv[] = { name, c, file, NULL };

	write_file("c.json", text);
	settings_read(&settings, PROGRAM_SERVER, 3, argv);
}

static void reload_fails(const char *text, const char *why)
{
	if (text)
		write_file("c.json", text);
	assert_int_equal(settings_reload(&settings, &reason), -1);
	if (!strstr(reason.text, why))
		fail_msg("'%s' does not say '%s'", reason.text, why);
	assert_int_equal(settings.top.user_count, 1);
	assert_string_equal(settings.top.users[0].name, "alice");
}

static void test_reload(void **state)
{
	static const char method[] = "2022-blake3-aes-128-gcm";
	static const char alice[] =
		"[{\"name\": \"alice\", \"password\": \"LCTSqb8wAfNqCkDbgDWu/Q==\"}]";

	(void)state;
	start_server(with_users(method, upsk16, alice));
	reload_fails("{\"server_port\": 9 \"x\"", "c.json:1:19: expected ',' or '}'");
	reload_fails(with_users(method, upsk16, "[{\"name\": \"a\", \"password\": \"x\"}]"),
		     "user 'a': the key of 2022-blake3-aes-128-gcm must be 16 random bytes");
	reload_fails(with_users(method, upsk16, "[]"), "must not be an empty array");
	reload_fails("{\"server_port\": 9}", "no password or key is given");
	reload_fails(of_server(method, upsk16),
		     "there are no users any more: that takes a new start");
	reload_fails(with_users("aes-128-gcm", upsk16, alice), "aes-128-gcm has no users");
	reload_fails("{\"server_port\": 0}", "must be a port from 1 to 65535");
	assert_int_equal(remove("c.json"), 0);
	reload_fails(NULL, "c.json: No such file or directory");

	write_file(
		"c.json",
		with_users(method, upsk16,
			   "[{\"name\": \"bob\", \"password\": \"LCTSqb8wAfNqCkDbgDWu/Q==\"},"
			   "{\"name\": \"carol\", \"password\": \"AAECAwQFBgcICQoLDA0ODw==\"}]"));
	assert_int_equal(settings_reload(&settings, &reason), 0);
	assert_int_equal(settings.top.user_count, 2);
	assert_string_equal(settings.top.users[0].name, "bob");
	assert_memory_equal(settings.top.users[0].key, psk_bytes, 16);
	assert_null(settings.top.users[1].password);
	assert_string_equal(settings.top.method->name, method);
	settings_free(&settings);
}

static void test_reload_of_servers(void **state)
{
	static const char form[] = "{\"method\": \"2022-blake3-aes-128-gcm\", \"servers\": ["
				   "{\"server_port\": 1, \"password\": \"%s\", \"users\": ["
				   "{\"name\": \"%s\", \"password\": \"%s\"}]}%s]}";
	static const char second[] =
		", {\"server_port\": 2, \"password\": \"LCTSqb8wAfNqCkDbgDWu/Q\"}";
	char text[1024];

	(void)state;
	snprintf(text, sizeof text, form, upsk16, "alice", psk16, "");
	start_server(text);
	snprintf(text, sizeof text, form, upsk16, "bob", psk16, second);
	write_file("c.json", text);
	assert_int_equal(settings_reload(&settings, &reason), 0);
	assert_true(settings.places_read);
	assert_int_equal(settings_place(&settings, 0)->was, 1);
	assert_int_equal(settings_place(&settings, 1)->was, 0);
	assert_int_equal(settings_place(&settings, 1)->server[0].port, 2);
	snprintf(text, sizeof text, form, upsk16, "bob", upsk16, "");
	write_file("c.json", text);
	assert_int_equal(settings_reload(&settings, &reason), -1);
	assert_non_null(strstr(reason.text, "/c.json:1:120: servers[0]: user 'bob' has the key of "
					    "the server itself"));
	assert_string_equal(settings_place(&settings, 0)->users[0].name, "bob");
	snprintf(text, sizeof text, form, upsk16, "carol", psk16, "");
	write_file("c.json", text);
	assert_int_equal(settings_reload(&settings, &reason), 0);
	assert_string_equal(settings_place(&settings, 0)->users[0].name, "carol");
	assert_null(settings_place(&settings, 1));
	settings_free(&settings);
}

/* What a reload with this file, which is accepted, writes. */
static const char *reloads(const char *text)
{
	FILE *e = tmpfile();
	int old = dup(STDERR_FILENO), result;

	assert_true(e && old >= 0);
	write_file("c.json", text);
	log_warn("%s", text);
	dup2(fileno(e), STDERR_FILENO);
	result = settings_reload(&settings, &reason);
	dup2(old, STDERR_FILENO);
	close(old);
	slurp(e, err);
	if (result < 0)
		fail_msg("%s: %s", text, reason.text);
	return err;
}

static void says(const char *text, const char *names)
{
	char wanted[400];

	snprintf(wanted, sizeof wanted, "but without effect before a new start: %s\n", names);
	if (!strstr(text, wanted))
		fail_msg("'%s' does not say '%s'", text, wanted);
}

/* Three elements of `servers`, in any order, each with other users. */
static const char *three_servers(const char *first, const char *second, const char *third)
{
	static char text[2048];

	snprintf(text, sizeof text,
		 "{\"method\": \"2022-blake3-aes-128-gcm\", \"servers\": [%s, %s, %s]}", first,
		 second, third);
	return text;
}

#define ELEMENT(port, key, more) "{\"server_port\": " port ", \"password\": \"" key "\"" more "}"
#define USER(name) \
	", \"users\": [{\"name\": \"" name "\", \"password\": \"LCTSqb8wAfNqCkDbgDWu/Q==\"}]"
#define KEY1 "AAECAwQFBgcICQoLDA0ODw=="
#define KEY2 "BBECAwQFBgcICQoLDA0ODw=="
#define KEY3 "CCECAwQFBgcICQoLDA0ODw=="

static void check_names(const char *first, const char *second)
{
	assert_string_equal(settings_place(&settings, 0)->users[0].name, first);
	assert_string_equal(settings_place(&settings, 1)->users[0].name, second);
}

/* The users follow their server, wherever it stands; what is no server of before is refused by name. */
static void test_reload_of_other_servers(void **state)
{
	static const struct {
		const char *first, *second, *third, *why;
	} refused[] = {
		{ ELEMENT("1", KEY1, USER("x")), ELEMENT("2", KEY2, USER("y")),
		  ELEMENT("9", KEY3, USER("z")), "servers[2]: there were no users" },
		{ ELEMENT("1", KEY1, USER("x")), ELEMENT("2", KEY2, ""), ELEMENT("9", KEY3, ""),
		  "servers[1]: there are no users any more" },
	};

	(void)state;
	start_server(three_servers(ELEMENT("1", KEY1, USER("alice")),
				   ELEMENT("2", KEY2, USER("bob")), ELEMENT("9", KEY3, "")));
	check_names("alice", "bob");
	assert_string_equal(reloads(three_servers(ELEMENT("9", KEY3, ""),
						  ELEMENT("2", KEY2, USER("bert")),
						  ELEMENT("1", KEY1, USER("anna")))),
			    "");
	check_names("anna", "bert");
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		write_file("c.json",
			   three_servers(refused[i].first, refused[i].second, refused[i].third));
		assert_int_equal(settings_reload(&settings, &reason), -1);
		if (!strstr(reason.text, refused[i].why))
			fail_msg("%u: '%s' does not say '%s'", (unsigned)i, reason.text,
				 refused[i].why);
		check_names("anna", "bert");
	}
	settings_free(&settings);
}

/* What a reload makes of the places 1, 2 and 3: which stay, and which follow one at the same address. */
static void test_reload_that_changes_places(void **state)
{
	static const struct {
		const char *first, *second, *third;
		unsigned was[3], heir_of[3], count;
	} changes[] = {
		{ ELEMENT("3", KEY1, USER("x")),
		  ELEMENT("2", KEY2, USER("y")),
		  ELEMENT("9", KEY3, ""),
		  { 0, 2, 3 },
		  { 0, 0, 0 },
		  3 },
		{ ELEMENT("1", KEY2, USER("x")),
		  ELEMENT("2", KEY1, USER("y")),
		  ELEMENT("9", KEY3, ""),
		  { 0, 0, 3 },
		  { 1, 2, 0 },
		  3 },
		{ ELEMENT("7", KEY3, ""),
		  ELEMENT("2", KEY2, USER("y")),
		  ELEMENT("1", KEY1, USER("x")),
		  { 0, 2, 1 },
		  { 0, 0, 0 },
		  3 },
		{ ELEMENT("1", KEY1, USER("x")),
		  ELEMENT("2", KEY2, ", \"disabled\": true"),
		  ELEMENT("9", KEY3, ""),
		  { 1, 3 },
		  { 0, 0 },
		  2 },
		{ ELEMENT("1", KEY1, USER("x")),
		  ELEMENT("2", KEY2, USER("y") ", \"mode\": \"udp_only\""),
		  ELEMENT("9", KEY3, ""),
		  { 1, 0, 3 },
		  { 0, 2, 0 },
		  3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		start_server(three_servers(ELEMENT("1", KEY1, USER("alice")),
					   ELEMENT("2", KEY2, USER("bob")),
					   ELEMENT("9", KEY3, "")));
		assert_string_equal(reloads(three_servers(changes[i].first, changes[i].second,
							  changes[i].third)),
				    "");
		assert_true(settings.places_read);
		for (unsigned n = 0; n < changes[i].count; n++) {
			assert_int_equal(settings_place(&settings, n)->was, changes[i].was[n]);
			assert_int_equal(settings_place(&settings, n)->heir_of,
					 changes[i].heir_of[n]);
		}
		assert_null(settings_place(&settings, changes[i].count));
		settings_free(&settings);
	}
}

static unsigned count(const char *text, const char *word)
{
	unsigned n = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		n++;
	}
	return n;
}

/* After 20 warnings about a file the others are summed up, wherever in it they stand. */
static void test_many_warnings(void **state)
{
	static const char ten[] = "\"a\": 1, \"a\": 1, \"a\": 1, \"a\": 1, \"a\": 1, "
				  "\"a\": 1, \"a\": 1, \"a\": 1, \"a\": 1, \"a\": 1, ";
	char text[2048];

	(void)state;
	snprintf(text, sizeof text,
		 "{%s\"timeout\": 1, \"timeout\": 2, \"servers\": [{%s\"password\": \"x\"}, "
		 "{%s\"server_port\": 2, \"password\": \"y\"}], %s\"server_port\": 1}",
		 ten, ten, ten, ten);
	write_file("c.json", text);
	ends(PROGRAM_SERVER, "-c c.json", 100, "c.json: ... and 21 more warnings like these\n", "");
	assert_int_equal(count(err, "key 'a' is not known, ignored"), 19);
	assert_int_equal(count(err, "key 'timeout' is there more than once"), 1);
	start_server(text);
	assert_int_equal(count(reloads(text), "key 'a' is not known, ignored"), 19);
	assert_int_equal(count(err, "more warnings like these"), 1);
	settings_free(&settings);
}

/* A pipe may bring the settings at the start. Nobody waits for it to bring them again. */
static void test_pipe(void **state)
{
	static const char text[] = "{\"server_port\": 9, \"password\": \"x\"}";
	char name[] = "ss-server", c[] = "-c", file[] = "pipe", *argv[] = { name, c, file, NULL };
	pid_t pid;
	int status;

	(void)state;
	assert_int_equal(mkfifo(file, 0600), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = open(file, O_WRONLY);

		_exit(write(fd, text, sizeof text - 1) == sizeof text - 1 ? 0 : 1);
	}
	alarm(300);
	settings_read(&settings, PROGRAM_SERVER, 3, argv);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(settings_reload(&settings, &reason), -1);
	alarm(0);
	assert_non_null(strstr(reason.text, "pipe is no regular file and cannot be read again"));
	settings_free(&settings);
	assert_int_equal(remove(file), 0);
}

/* Whatever was changed and cannot be applied is named, until it is changed back. */
static void test_reload_of_what_stays(void **state)
{
	static const char good[] = "{\"server_port\": 9, \"password\": \"x\", \"timeout\": 9}";

	(void)state;
	start_server(good);
	assert_string_equal(reloads(good), "");
	assert_false(settings.places_read);
	assert_string_equal(reloads("{\"server_port\": 8, \"password\": \"x\", \"timeout\": 9}"),
			    "");
	assert_true(settings.places_read);
	assert_int_equal(settings.top.server[0].port, 8);
	says(reloads("{\"server_port\": 8, \"password\": \"y\", \"method\": \"aes-128-gcm\","
		     " \"server\": [\"::1\"], \"no_delay\": null, \"local_port\": 7}"),
	     "timeout");
	assert_null(strstr(err, "\"y\""));
	assert_string_equal(print(&settings.top.server[0]), "[::1]:8");
	assert_string_equal(reloads("{\"server_port\": 9, \"password\": \"x\", \"timeout\": 9,"
				    " \"servers\": [{\"server_port\": 1, \"password\": \"z\", "
				    "\"name\": \"n\"}]}"),
			    "");
	assert_string_equal(print(&settings_place(&settings, 0)->server[0]), "0.0.0.0:1");
	assert_null(settings_place(&settings, 1));
	assert_string_equal(reloads(good), "");
	settings_free(&settings);
}

/* Options hold for the file that is read again, and so does the key that they gave. */
static void test_reload_under_options(void **state)
{
	char name[] = "ss-server", c[] = "-c", file[] = "c.json", p[] = "-p8388";
	char k[] = "-kfoobar", m[] = "-maes-128-gcm", *argv[] = { name, k, c, file, p, m, NULL };

	(void)state;
	write_file("c.json", "{\"server\": \"127.0.0.1\", \"server_port\": 1}");
	settings_read(&settings, PROGRAM_SERVER, 6, argv);
	assert_string_equal(print(&settings.top.server[0]), "127.0.0.1:8388");
	assert_string_equal(reloads("{\"server\": \"127.0.0.1\", \"server_port\": 2,"
				    " \"method\": \"none\", \"password\": \"y\"}"),
			    "");
	assert_string_equal(reloads("{\"server\": \"::1\"}"), "");
	assert_string_equal(print(&settings.top.server[0]), "[::1]:8388");
	assert_memory_equal(settings.top.key.key, "\x38\x58\xf6\x22", 4);
	write_file("c.json", "{\"user\": []}");
	assert_int_equal(settings_reload(&settings, &reason), -1);
	settings_free(&settings);

	setenv("SS_PASSWORD", upsk16, 1);
	start_server("{\"server_port\": 9, \"method\": \"2022-blake3-aes-128-gcm\", \"users\": "
		     "[{\"name\": \"a\", \"password\": \"LCTSqb8wAfNqCkDbgDWu/Q==\"}]}");
	assert_string_equal(
		reloads("{\"server_port\": 9, \"method\": \"2022-blake3-aes-128-gcm\", \"users\": "
			"[{\"name\": \"b\", \"password\": \"LCTSqb8wAfNqCkDbgDWu/Q==\"}]}"),
		"");
	assert_string_equal(settings.top.users[0].name, "b");
	settings_free(&settings);
}

static void test_reload_without_users(void **state)
{
	(void)state;
	start_server(of_server("2022-blake3-aes-128-gcm", upsk16));
	assert_int_equal(settings_reload(&settings, &reason), 0);
	write_file("c.json",
		   with_users("2022-blake3-aes-128-gcm", upsk16,
			      "[{\"name\": \"a\", \"password\": \"LCTSqb8wAfNqCkDbgDWu/Q==\"}]"));
	assert_int_equal(settings_reload(&settings, &reason), -1);
	assert_non_null(strstr(reason.text, "there were no users when the program was started"));
	settings_free(&settings);
	assert_int_equal(read_text(PROGRAM_SERVER, "{\"server_port\": 9, \"password\": \"x\"}"), 0);
	assert_int_equal(settings_reload(&settings, &reason), -1);
	assert_string_equal(reason.text, "there is no configuration file");
	settings_free(&settings);
}

/* What settings_announce() writes, of a server with this method. */
static const char *announced(const char *method)
{
	FILE *e = tmpfile();
	int old = dup(STDERR_FILENO);

	assert_true(e && old >= 0);
	accepts(PROGRAM_SERVER, of_server(method, psk16));
	dup2(fileno(e), STDERR_FILENO);
	settings_announce(&settings);
	dup2(old, STDERR_FILENO);
	close(old);
	slurp(e, err);
	settings_free(&settings);
	return err;
}

static void test_warnings(void **state)
{
	(void)state;
	assert_non_null(strstr(announced("rc4-md5"), "rc4-md5 is not safe: it has no integrity"));
	assert_non_null(strstr(announced("table"), "redirect attack"));
	assert_non_null(strstr(announced("plain"), "WARNING: NOTHING IS ENCRYPTED"));
	assert_null(strstr(err, "is not safe"));
	assert_string_equal(announced("aes-128-gcm"), "");
	assert_string_equal(announced("2022-blake3-aes-128-gcm"), "");
}

/* -s wins over both lists. */
static void test_flag_over_servers(void **state)
{
	char name[] = "ss-local", s[] = "-s", to[] = "127.0.0.1:5", k[] = "-kx", c[] = "-c",
	     file[] = "c.json";
	char *argv[] = { name, s, to, k, c, file, NULL };

	(void)state;
	write_file("c.json", "{\"local_port\": 8, \"server\": \"b:1\", \"servers\":"
			     " [{\"server\": \"a:1\", \"password\": \"y\"}]}");
	settings_read(&settings, PROGRAM_LOCAL, 6, argv);
	assert_string_equal(print(&settings_place(&settings, 0)->server[0]), "127.0.0.1:5");
	assert_null(settings_place(&settings, 1));
	settings_free(&settings);
}

static void test_default_file(void **state)
{
	char cwd[4096], path[4200];

	(void)state;
	assert_non_null(getcwd(cwd, sizeof cwd));
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", cwd, 1);
	if (access("/etc/shadowsocks-libev/config.json", F_OK) != 0) {
		ends(PROGRAM_SERVER, "", 255, "Invalid config path.", "");
	} else {
		/* Whatever is in this machine's file, it is the one that is looked at. */
		run(PROGRAM_SERVER, "");
		strcat(out, err);
		assert_non_null(strstr(out, "/etc/shadowsocks-libev/config.json"));
	}
	assert_int_equal(mkdir(".config", 0700), 0);
	assert_int_equal(mkdir(".config/shadowsocks-libev", 0700), 0);
	write_file(".config/shadowsocks-libev/config.json",
		   "{\"server_port\": 9, \"password\": \"x\"}");
	ends(PROGRAM_SERVER, "", 100, "", "/.config/shadowsocks-libev/config.json");
	/* With any argument it is not looked for. */
	ends(PROGRAM_SERVER, "-v", 1, "remote_port is NULL", "");
	assert_int_equal(mkdir("shadowsocks-libev", 0700), 0);
	write_file("shadowsocks-libev/config.json", "{\"server_port\": 9, \"password\": \"x\"}");
	setenv("XDG_CONFIG_HOME", cwd, 1);
	snprintf(path, sizeof path, "config %s/shadowsocks-libev/config.json", cwd);
	ends(PROGRAM_SERVER, "", 100, "", path);
}

/* Files are made in a directory of the test's own. */
static char directory[] = "/tmp/settings-test-XXXXXX";

static int enter(void **state)
{
	(void)state;
	unsetenv("SS_PASSWORD");
	unsetenv("PASSWORD_FILE");
	return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave(void **state)
{
	static const char *const made[] = { "password",
					    "c.json",
					    ".config/shadowsocks-libev/config.json",
					    ".config/shadowsocks-libev",
					    ".config",
					    "shadowsocks-libev/config.json",
					    "shadowsocks-libev" };
	int result = 0;

	(void)state;
	for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
		result |= remove(made[i]) < 0 && errno != ENOENT;
	return chdir("/") < 0 || rmdir(directory) < 0 || result ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_limit),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all_keys),
		cmocka_unit_test(test_tunnels),
		cmocka_unit_test(test_other_programs),
		cmocka_unit_test(test_server_forms),
		cmocka_unit_test(test_server_list),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_null_and_empty),
		cmocka_unit_test(test_wrong_values),
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_keys_of_others),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_small_values),
		cmocka_unit_test(test_method_names),
		cmocka_unit_test(test_no_password),
		cmocka_unit_test(test_psk),
		cmocka_unit_test(test_bad_psk),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_bad_servers),
		cmocka_unit_test(test_plugins),
		cmocka_unit_test(test_plugin_is_found),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_bad_looks),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_help_and_version),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_fatal),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_reload_of_servers),
		cmocka_unit_test(test_reload_of_other_servers),
		cmocka_unit_test(test_reload_that_changes_places),
		cmocka_unit_test(test_many_warnings),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_reload_of_what_stays),
		cmocka_unit_test(test_reload_under_options),
		cmocka_unit_test(test_reload_without_users),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_flag_over_servers),
		cmocka_unit_test(test_default_file),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
