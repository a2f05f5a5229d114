/*
 * What the programs are told: values and defaults through settings_read_text() and settings_read(), and in
 * child processes what ends a program, with which status, words and streams.
 */
#include "applets/settings.h"

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
	/* PROTOCOL 2.1: the key of "foobar" */
	assert_memory_equal(settings.top.key.key,
			    "\x38\x58\xf6\x22\x30\xac\x3c\x91\x5f\x30\x0c\x66", 12);
	assert_null(settings.top.password);
	assert_int_equal(settings.timeout, 60);
	assert_int_equal(settings.workers, 1);
	assert_int_equal(settings.replay_size, 10000);
	assert_int_equal(settings.buffer_limit, 64);
	assert_int_equal(settings.mode, MODE_TCP_ONLY);
	assert_true(settings.socket.no_delay);
	assert_false(settings.socket.fast_open);
	assert_int_equal(settings.socket.dscp, -1);
	assert_null(settings.acl);
	settings_free(&settings);

	accepts(PROGRAM_SERVER, "{\"server_port\": \"8388\", \"password\": 123}");
	assert_string_equal(print(&settings.top.server[0]), "0.0.0.0:8388");
	assert_int_equal(settings.replay_size, 1000000);
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
		"\"keep_alive\": 30, \"dscp\": \"AF21\", \"fwmark\": 255, \"interface\": \"lo\","
		"\"udp_timeout\": 90, \"replay_size\": 5000, \"max_sessions\": 7, "
		"\"buffer_limit\": 8,"
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
	assert_int_equal(settings.socket.dscp, 18);
	assert_int_equal(settings.socket.mark, 255);
	assert_string_equal(settings.socket.interface, "lo");
	assert_int_equal(settings.udp_timeout, 90);
	assert_int_equal(settings.replay_size, 5000);
	assert_int_equal(settings.max_sessions, 7);
	assert_int_equal(settings.buffer_limit, 8);
	assert_int_equal(settings.socks_auths, 2);
	assert_string_equal(settings.socks_auth[1].user, "v");
	assert_string_equal(settings.socks_auth[0].password, "p");
	settings_free(&settings);
	assert_null(settings.user);
	assert_null(settings.socks_auth);
}

static void test_other_programs(void **state)
{
	(void)state;
	accepts(PROGRAM_TUNNEL, with("\"tunnel_address\": \"[2001:db8::2]:53\""));
	assert_string_equal(print(&settings.tunnel), "[2001:db8::2]:53");
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
		assert_null(settings.plugin);
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
		"f.json:2:3: option 'fast_open' must be a boolean (true or false), not a string");
	refuses(PROGRAM_LOCAL, "{\"mtu\": \"1400\"}",
		"f.json:1:2: key 'mtu' must be an integer from 0 to 65535");
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
	refuses(PROGRAM_LOCAL, "{\"dscp\": 64}",
		"f.json:1:2: key 'dscp' must be EF, CS0 to CS7, AF11 to AF43 or a number up to "
		"0x3f, not '64'");
	refuses(PROGRAM_LOCAL, "{\"a\" 1}", "f.json:1:6: expected ':' after a name");
	assert_int_equal(read_text(PROGRAM_LOCAL, "{\"method\": \"no-such\"}"), -1);
	assert_non_null(strstr(reason.text,
			       "f.json:1:2: key 'method' has an invalid cipher name: no-such"));
	assert_non_null(strstr(reason.text, "--version lists"));
	assert_int_equal(reason.why, OPTIONS_FATAL);
}

/* Nobody may believe that a rule, a plugin or UDP is active. */
static void test_unbuilt(void **state)
{
	static const struct {
		const char *member, *why;
	} cases[] = {
		{ "\"acl\": \"x\"", "key 'acl' is not built yet" },
		{ "\"plugin\": \"x\"", "key 'plugin' is not built yet" },
		{ "\"mode\": \"udp_only\"", "key 'mode': udp_only is not built yet" },
		{ "\"mode\": \"tcp_and_udp\"", "key 'mode': tcp_and_udp is not built yet" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(read_text(PROGRAM_LOCAL, with(cases[i].member)), -1);
		assert_non_null(strstr(reason.text, cases[i].why));
		assert_int_equal(reason.why, OPTIONS_FATAL);
	}
	accepts(PROGRAM_LOCAL, with("\"mode\": \"both\""));
	assert_int_equal(settings.mode, MODE_TCP_ONLY);
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
			     "\"workers\": 5, \"obfs\": \"tls\", \"//comment\": 1, \"servers\": [],"
			     "\"local_address\": \"127.0.0.1\", \"route\": \"all\", \"remarks\": "
			     "\"\""));
		assert_int_equal(settings.workers, 1);
		settings_free(&settings);
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

/* The exit status of settings_read() with this command line; 100 if it returned. */
static int run(enum program program, const char *line)
{
	FILE *o = tmpfile(), *e = tmpfile();
	char text[512], *argv[WORDS] = { "ss" };
	int argc = 1, status;
	pid_t pid;

	assert_true(o && e);
	snprintf(text, sizeof text, "%s", line);
	for (char *p = strtok(text, " "); p && argc < WORDS - 1; p = strtok(NULL, " "))
		argv[argc++] = p;
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

static void test_help_and_version(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		ends(all[i], "-h", 0, "", "shadowsocks ");
		assert_int_equal(strncmp(out, "shadowsocks ", 12), 0);
		assert_string_equal(err, "");
		ends(all[i], "--he", 0, "", settings_program_name(all[i]));
		ends(all[i], "-v --version", 0, "", "shadowsocks ");
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
	ends(PROGRAM_REDIR, "-s a -p 1 -k x", 1, "local_port is NULL", "usage: ss-redir");
	ends(PROGRAM_SERVER, "--no-such-option", 1, "Unrecognized option: --no-such-option",
	     "usage: ss-server");
	ends(PROGRAM_REDIR, "-i lo", 1, "Unrecognized option: -i", "usage: ss-redir");
	ends(PROGRAM_SERVER, "-p 1 -k", 1, "option -k needs an argument", "usage: ss-server");
}

static void test_fatal(void **state)
{
	(void)state;
	ends(PROGRAM_SERVER, "-A", 255,
	     "One time auth has been deprecated. Try AEAD ciphers instead.", "");
	ends(PROGRAM_SERVER, "-p 1 -k x -m rot13", 255, "invalid cipher name: rot13", "");
	ends(PROGRAM_SERVER, "-p 0 -k x", 255, "must be a port from 1 to 65535, not '0'", "");
	ends(PROGRAM_SERVER, "-p 1 -k x -u", 255, "option -u is not built yet", "");
	ends(PROGRAM_LOCAL, "-s a -p 1 -l 2 -k x -U", 255, "option -U is not built yet", "");
	ends(PROGRAM_LOCAL, "--acl f -s a -p 1 -l 2 -k x", 255, "option --acl is not built yet",
	     "");
	ends(PROGRAM_SERVER, "-p 1 -k x --plugin obfs", 255, "option --plugin is not built yet",
	     "");
	ends(PROGRAM_SERVER, "-p 1 -k x --manager-address a:1", 255,
	     "option --manager-address is not built yet", "");
	ends(PROGRAM_SERVER, "-p 1 --key short", 255,
	     "here is a fresh random key of the right length: ", "");
	assert_non_null(strstr(err, "the key is not base64url of at least 32 bytes"));
	ends(PROGRAM_SERVER, "-c /nonexistent/c.json", 255, "Invalid config path.", "");
	ends(PROGRAM_SERVER, "-c /", 255, "Invalid config path.", "");
	/* What 3.3.5 swallows is warned about. */
	ends(PROGRAM_SERVER, "-p 1 -k x -t abc -l 99999", 100, "option -t should be an integer",
	     "");
	ends(PROGRAM_SERVER, "-p 1 -k x -b 127.0.0.1", 100, "sends from a loopback address", "");
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void test_secrets(void **state)
{
	/* The key of "foobar", 16 bytes: PROTOCOL 2.1 */
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
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all_keys),
		cmocka_unit_test(test_other_programs),
		cmocka_unit_test(test_server_forms),
		cmocka_unit_test(test_server_list),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_null_and_empty),
		cmocka_unit_test(test_wrong_values),
		cmocka_unit_test(test_unbuilt),
		cmocka_unit_test(test_keys_of_others),
		cmocka_unit_test(test_small_values),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_help_and_version),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_fatal),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_default_file),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
