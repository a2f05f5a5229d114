/* The options reader, over a small table of its own; its flags are compared with getopt_long(). */
#include "core/options.h"

#include "tests/unit.h"

#include <getopt.h>
#include <unistd.h>

enum { ONE = 1, TWO = 2 };

struct fields {
	bool verbose, fast;
	uint8_t mode;
	char *name, *secret, *plugin, *plugin_opts;
	unsigned times, limit, workers;
	uint16_t port;
	char list[64];
};

static int add(struct options *o, const struct option_value *value)
{
	struct fields *f = o->into;

	if (!value->text) {
		f->list[0] = 0;
		return 0;
	}
	if (!strcmp(value->text, "bad"))
		return options_fail(o, "must not be bad");
	strncat(f->list, value->text, sizeof f->list - strlen(f->list) - 1);
	strncat(f->list, ",", sizeof f->list - strlen(f->list) - 1);
	return 0;
}

static const char *const words[] = { "low", "middle", "high", NULL };

#define AT(field) .offset = offsetof(struct fields, field)

static const struct option_row rows[] = {
	{ OPTION_FLAG("-v", "talk"), .programs = ONE | TWO, .type = OPTION_BOOL, AT(verbose) },
	{ OPTION_FLAG("--fast-open", "hurry"), .key = "fast_open", .programs = ONE | TWO,
	  .type = OPTION_BOOL, AT(fast) },
	{ OPTION_FLAG("-u", "middle"), .programs = ONE | TWO, .type = OPTION_SET, .value = 1,
	  AT(mode) },
	{ .key = "mode", .programs = ONE | TWO, .type = OPTION_WORD, .words = words, AT(mode) },
	{ OPTION_FLAG("-n, --name NAME", "help"), .key = "name", .programs = ONE | TWO,
	  .type = OPTION_STRING, AT(name) },
	{ OPTION_FLAG("-k, --password TEXT", "help"), .key = "password", .programs = ONE | TWO,
	  .type = OPTION_STRING, .bits = OPTION_SECRET, AT(secret) },
	{ OPTION_FLAG("-t N", "help"), .key = "times", .programs = ONE | TWO, .type = OPTION_NUMBER,
	  .bits = OPTION_LENIENT | OPTION_TEXT, .range = { 0, 1000 }, AT(times) },
	{ OPTION_FLAG("--limit N", "help"), .key = "limit", .programs = ONE | TWO,
	  .type = OPTION_NUMBER, .range = { 2, UINT32_MAX }, AT(limit) },
	{ OPTION_FLAG("--workers N", "help"), .key = "workers", .programs = ONE,
	  .type = OPTION_NUMBER, .bits = OPTION_OURS, .range = { 0, 9 }, AT(workers) },
	{ OPTION_FLAG("--workdir DIR", "help"), .programs = ONE, .type = OPTION_STRING,
	  .bits = OPTION_FILLED, AT(name) },
	{ OPTION_FLAG("-p PORT", "help"), .key = "port", .programs = ONE | TWO, .type = OPTION_PORT,
	  AT(port) },
	{ OPTION_FLAG("-s ITEM", "help"), .key = "list", .programs = ONE | TWO, .type = OPTION_LIST,
	  .custom = add, AT(list) },
	{ OPTION_FLAG("--plugin P", "help"), .key = "plugin", .needs = 4, .programs = ONE,
	  .type = OPTION_STRING, AT(plugin) },
	{ OPTION_FLAG("--plugin-opts P", "help"), .programs = ONE, .type = OPTION_STRING,
	  AT(plugin_opts) },
	{ .key = "two", .programs = TWO, .type = OPTION_BOOL, AT(fast) },
	{ OPTION_FLAG("-l PORT", "help"), .programs = ONE | TWO, .type = OPTION_IGNORE },
	{ OPTION_FLAG("-h, --help", "this"), .programs = ONE | TWO, .type = OPTION_STOP,
	  .value = OPTIONS_HELP },
	{ OPTION_FLAG("-A", "no more"), .key = "auth", .programs = ONE | TWO, .type = OPTION_REFUSE,
	  .bits = OPTION_HIDDEN },
};

static const char *program_name(unsigned bit)
{
	return bit == ONE ? "one" : "two";
}

static struct fields fields;
static struct options_reason reason;
static struct options options;
static unsigned lacking;

static void begin(void)
{
	options_free(&options);
	fields = (struct fields){ .workers = 1 };
	reason = (struct options_reason){ 0 };
	options = (struct options){ .rows = rows,
				    .count = sizeof rows / sizeof rows[0],
				    .program_name = program_name,
				    .program = ONE,
				    .lacks = lacking,
				    .without = "bells whistles",
				    .into = &fields,
				    .reason = &reason };
}

enum { WORDS = 16 };

/* Split at blanks into a fresh argv, whose words may be written to. */
static int split(const char *line, char *text, size_t size, char **argv)
{
	int argc = 1;

	argv[0] = "program";
	snprintf(text, size, "%s", line);
	for (char *p = strtok(text, " "); p && argc < WORDS - 1; p = strtok(NULL, " "))
		argv[argc++] = p;
	argv[argc] = NULL;
	return argc;
}

static char line_text[256];
static char *line_argv[WORDS];

static int flags(const char *line)
{
	int argc = split(line, line_text, sizeof line_text, line_argv);

	begin();
	return options_flags(&options, argc, line_argv);
}

static int json_again(const char *text)
{
	struct json_document document;
	struct json_error error;
	int result;

	assert_int_equal(json_parse(&document, text, strlen(text), &error), 0);
	result = options_json(&options, "f.json", document.root);
	json_free(&document);
	return result;
}

static int json(const char *text)
{
	begin();
	return json_again(text);
}

static void refuses_flags(const char *line, enum options_why why, const char *text)
{
	assert_int_equal(flags(line), -1);
	assert_string_equal(reason.text, text);
	assert_int_equal(reason.why, why);
}

static void refuses_json(const char *text, const char *why)
{
	assert_int_equal(json(text), -1);
	assert_string_equal(reason.text, why);
	assert_int_equal(reason.why, OPTIONS_FATAL);
}

/* A long name and what the help shows behind it, in one word. */
static void test_no_blank_in_names(void **state)
{
	char name[] = "x", word[] = "--limit N";
	char *argv[] = { name, word, NULL };

	(void)state;
	begin();
	assert_int_equal(options_flags(&options, 2, argv), -1);
	assert_string_equal(reason.text, "Unrecognized option: --limit N");
}

static void test_flags(void **state)
{
	(void)state;
	assert_int_equal(flags("-vu operand -p8388 --fast -s a -sb --password=x -t 7 -- -h"), 0);
	assert_true(fields.verbose && fields.fast);
	assert_int_equal(fields.mode, 1);
	assert_int_equal(fields.port, 8388);
	assert_int_equal(fields.times, 7);
	assert_string_equal(fields.list, "a,b,");
	assert_string_equal(fields.secret, "x");
	assert_int_equal(flags("--name -v -l 99999 --na=y"), 0);
	assert_false(fields.verbose);
	assert_string_equal(fields.name, "y");
	assert_int_equal(flags("- -v --limit 0xffffffff"), 0);
	assert_int_equal(fields.limit, UINT32_MAX);
	/* An older name wins over one of ours; a whole name over longer ones. */
	assert_int_equal(flags("--work d"), 0);
	assert_string_equal(fields.name, "d");
	assert_int_equal(flags("--plugin-o d"), 0);
	assert_int_equal(flags("--workers 1"), 0);
	assert_int_equal(flags("-h"), -1);
	assert_int_equal(reason.why, OPTIONS_HELP);
	assert_int_equal(flags("-vh --no-such"), -1);
	assert_int_equal(reason.why, OPTIONS_HELP);
	assert_int_equal(flags(""), 0);
}

static void test_bad_flags(void **state)
{
	(void)state;
	refuses_flags("--no-such=1", OPTIONS_USAGE, "Unrecognized option: --no-such");
	refuses_flags("-vx", OPTIONS_USAGE, "Unrecognized option: -x");
	refuses_flags("-p", OPTIONS_USAGE, "option -p needs an argument: PORT");
	refuses_flags("--limit", OPTIONS_USAGE, "option --limit needs an argument: N");
	refuses_flags("--fast-open=yes", OPTIONS_USAGE, "option --fast-open takes no argument");
	refuses_flags("--plug x", OPTIONS_USAGE, "option --plug may mean several");
	refuses_flags("-s bad", OPTIONS_FATAL, "option -s must not be bad");
	refuses_flags("-A", OPTIONS_FATAL, "no more");
	refuses_flags("--workdir=", OPTIONS_FATAL, "option --workdir must not be empty");
	refuses_flags("--limit 1", OPTIONS_FATAL,
		      "option --limit must be an integer from 2 to 4294967295, not '1'");
	refuses_flags("--limit 4294967296", OPTIONS_FATAL,
		      "option --limit must be an integer from 2 to 4294967295, not '4294967296'");
	begin();
	options.program = TWO;
	assert_int_equal(options_flags(&options,
				       split("--workers 1", line_text, sizeof line_text, line_argv),
				       line_argv),
			 -1);
	assert_int_equal(reason.why, OPTIONS_USAGE);
}

static void test_ports(void **state)
{
	static const char *const wrong[] = { "0",     "65536", "-1",	"8388x", " 8388",      "",
					     "70000", "1e4",   "+8388", "0x50",	 "99999999999" };
	uint16_t port = 7;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		assert_int_equal(options_port(wrong[i], &port), -1);
	assert_int_equal(port, 7);
	assert_int_equal(options_port("65535", &port), 0);
	assert_int_equal(port, 65535);
	assert_int_equal(options_port("1", &port), 0);
	assert_int_equal(port, 1);
	refuses_flags("-p 8388x", OPTIONS_FATAL,
		      "option -p must be a port from 1 to 65535, not '8388x'");
	refuses_json("{\n \"port\": \" 8388\"}",
		     "f.json:2:2: key 'port' must be a port from 1 to 65535, not ' 8388'");
	refuses_json("{\"port\": -1}",
		     "f.json:1:2: key 'port' must be a port from 1 to 65535, not '-1'");
	refuses_json("{\"port\": 1e4}",
		     "f.json:1:2: key 'port' must be a port from 1 to 65535, not '1e4'");
	refuses_json("{\"port\": 80.0}",
		     "f.json:1:2: key 'port' must be a port from 1 to 65535, not '80.0'");
	refuses_json("{\"port\": \"\"}",
		     "f.json:1:2: key 'port' must be a port from 1 to 65535, not ''");
	refuses_json("{\"port\": true}", "f.json:1:2: key 'port' must be a port, not true");
	assert_int_equal(json("{\"port\": \"443\"}"), 0);
	assert_int_equal(fields.port, 443);
}

static void test_json(void **state)
{
	(void)state;
	assert_int_equal(
		json("{\"fast_open\": true, \"mode\": \"high\", \"name\": 17, \"times\": \"9\","
		     "\"limit\": 3, \"list\": [\"a\", 5], \"workers\": null, \"x\": {},"
		     "\"two\": 5, \"plugin\": \"\"}"),
		0);
	assert_true(fields.fast);
	assert_int_equal(fields.mode, 2);
	assert_string_equal(fields.name, "17");
	assert_int_equal(fields.times, 9);
	assert_int_equal(fields.limit, 3);
	assert_string_equal(fields.list, "a,5,");
	/* A second "list" begins anew; null is nothing. */
	assert_int_equal(
		json("{\"list\": \"a\", \"list\": \"b\", \"name\": \"n\", \"name\": null}"), 0);
	assert_string_equal(fields.list, "b,");
	assert_string_equal(fields.name, "n");
	refuses_json("[]",
		     "f.json:1:1: Invalid config file: it must be an object ('{'), not an array");
	refuses_json("{\"fast_open\": 1}",
		     "f.json:1:2: key 'fast_open' must be a boolean (true or false), not 1");
	refuses_json("{\"fast_open\": \"yes\"}", "f.json:1:2: key 'fast_open' must be a boolean "
						 "(true or false), not the string 'yes'");
	refuses_json("{\"fast_open\": []}",
		     "f.json:1:2: key 'fast_open' must be a boolean (true or "
		     "false), not an array");
	refuses_json("{\"name\": []}", "f.json:1:2: key 'name' must be a string, not an array");
	refuses_json("{\"name\": \"a\\u0000b\"}",
		     "f.json:1:2: key 'name' must not have a NUL character inside");
	refuses_json("{\"limit\": \"1\"}", "f.json:1:2: key 'limit' must be an integer from 2 to "
					   "4294967295, not the string '1'");
	refuses_json("{\"limit\": \"x\"}", "f.json:1:2: key 'limit' must be an integer from 2 to "
					   "4294967295, not the string 'x'");
	refuses_json("{\"limit\": {}}", "f.json:1:2: key 'limit' must be an integer from 2 to "
					"4294967295, not an object");
	refuses_json("{\"times\": 1.5}",
		     "f.json:1:2: key 'times' must be an integer from 0 to 1000, not 1.5");
	refuses_json("{\"times\": \"\\u00001\"}",
		     "f.json:1:2: key 'times' must be an integer from 0 to 1000, not a string");
	/* Digits in quotes are a number everywhere. */
	assert_int_equal(json("{\"limit\": \"3\", \"times\": \"0x10\"}"), 0);
	assert_int_equal(fields.limit, 3);
	assert_int_equal(fields.times, 16);
	refuses_json("{\"list\": [\"a\",\n  {}]}",
		     "f.json:2:3: key 'list' must be an array of strings, not an object");
	refuses_json("{\"list\": [\"a\",\n  \"bad\"]}", "f.json:2:3: key 'list' must not be bad");
	refuses_json("{\"auth\": null}", "f.json:1:2: no more");
}

static void test_precedence(void **state)
{
	(void)state;
	assert_int_equal(flags("-u -s flag -p 1 -v"), 0);
	assert_int_equal(json_again("{\"mode\": \"high\", \"list\": [\"file\"], \"port\": 2, "
				    "\"times\": 3}"),
			 0);
	assert_int_equal(fields.mode, 1);
	assert_string_equal(fields.list, "flag,");
	assert_int_equal(fields.port, 1);
	assert_int_equal(fields.times, 3);
}

/* What atoi() would swallow is warned about, and counts as there. */
static void test_copy(void **state)
{
	struct fields original;

	(void)state;
	assert_int_equal(flags("-n name -k secret -t 7"), 0);
	assert_true(options_reads(&options, "list"));
	assert_false(options_reads(&options, "times")); /* a flag has it */
	assert_false(options_reads(&options, "no_such"));
	original = fields;
	assert_int_equal(options_own(&options), 0);
	assert_string_equal(fields.name, "name");
	assert_ptr_not_equal(fields.name, original.name);
	assert_null(fields.secret);
	options_free(&options);
	fields = original;
	options_free(&options);
}

static void test_lenient(void **state)
{
	static const struct {
		const char *line;
		unsigned times;
	} cases[] = {
		{ "-t abc", 0 },      { "-t 12abc", 12 }, { "-t -5", 0 },
		{ "-t 99999", 1000 }, { "-t 1e3", 1 },	  { "-t 99999999999999999999", 1000 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(flags(cases[i].line), 0);
		assert_int_equal(fields.times, cases[i].times);
	}
	assert_int_equal(json("{\"mode\": \"loud\", \"times\": \"abc\"}"), 0);
	assert_int_equal(fields.mode, 0);
	assert_int_equal(fields.times, 0);
}

static void test_secrets(void **state)
{
	(void)state;
	assert_int_equal(flags("-vksecret1 --password secret2 --pass=secret3 -k secret4"), 0);
	assert_string_equal(fields.secret, "secret4");
	assert_string_equal(line_argv[1], "-vk");
	assert_string_equal(line_argv[3], "");
	assert_string_equal(line_argv[4], "--pass=");
	for (size_t i = 0; i + 6 <= sizeof line_text; i++)
		assert_memory_not_equal(line_text + i, "secret", 6);
	/* A value of the wrong kind is not shown either. */
	refuses_json("{\"password\": [\"secret\"]}",
		     "f.json:1:2: key 'password' must be a string, not an array");
}

static void test_help(void **state)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	begin();
	options_help(&options, f);
	fclose(f);
	assert_non_null(strstr(text, "  -k, --password TEXT "));
	assert_non_null(strstr(text, "      --fast-open                 hurry\n"));
	assert_null(strstr(text, "-A"));
	free(text);
}

/* What a build lacks is known, so that it can be refused by name; where it is empty, nobody asks. */
static void test_lacking(void **state)
{
	static const char why[] = "is not in this build, which was made without bells whistles";
	char text[200], *help = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&help, &n);

	(void)state;
	lacking = 4 | 8;
	snprintf(text, sizeof text, "option --plugin %s", why);
	refuses_flags("--plugin x", OPTIONS_USAGE, text);
	refuses_flags("--plugin=", OPTIONS_USAGE, text);
	snprintf(text, sizeof text, "f.json:1:2: key 'plugin' %s", why);
	refuses_json("{\"plugin\": \"x\"}", text);
	refuses_json("{\"plugin\": []}", text);
	assert_int_equal(json("{\"plugin\": \"\", \"plugin\": null}"), 0);
	assert_int_equal(flags("--plugin-opts x"), 0);
	options_help(&options, f);
	fclose(f);
	assert_null(strstr(help, "--plugin "));
	assert_non_null(strstr(help, "--plugin-opts "));
	free(help);
	lacking = 0;
	assert_int_equal(flags("--plugin x"), 0);
}

/* --- the same lines through getopt_long(), whose rules ours must be */

static char trace[256];

static void note(const char *what, const char *argument)
{
	size_t n = strlen(trace);

	snprintf(trace + n, sizeof trace - n, "%s=%s;", what, argument ? argument : "");
}

static bool by_getopt(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "fast-open", no_argument, NULL, 'F' },
		{ "password", required_argument, NULL, 'k' },
		{ "limit", required_argument, NULL, 'L' },
		{ "plugin-opts", required_argument, NULL, 'O' },
		{ "plugin", required_argument, NULL, 'P' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	trace[0] = 0;
	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, "vuk:s:", longs, NULL)) != -1) {
		if (c == '?')
			return false;
		note((char[]){ (char)c, 0 }, optarg);
	}
	return true;
}

static int note_flag(struct options *o, const struct option_value *value)
{
	/* The row is the one whose spelling is in o->what: "option -v", "option --limit". */
	static const char *const names[][2] = { { "--fast-open", "F" },
						{ "--password", "k" },
						{ "--limit", "L" },
						{ "--plugin-opts", "O" },
						{ "--plugin", "P" } };
	const char *what = o->what + strlen("option ");

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (!strcmp(what, names[i][0])) {
			note(names[i][1], value->text);
			return 0;
		}
	}
	note(what + 1, value->text);
	return 0;
}

#define ROW(flag_)                                                              \
	{                                                                       \
		OPTION_FLAG(flag_, ""), .programs = ONE, .type = OPTION_CUSTOM, \
					.custom = note_flag                     \
	}

static const struct option_row same_rows[] = {
	ROW("-v"),	    ROW("-u"),	      ROW("-k, --password X"), ROW("-s X"),
	ROW("--fast-open"), ROW("--limit X"), ROW("--plugin-opts X"),  ROW("--plugin X"),
};

static bool by_ours(int argc, char **argv)
{
	struct options_reason why;
	struct options o = { .rows = same_rows,
			     .count = sizeof same_rows / sizeof same_rows[0],
			     .program_name = program_name,
			     .program = ONE,
			     .reason = &why };

	trace[0] = 0;
	return options_flags(&o, argc, argv) == 0;
}

/* Random lines of pieces that mean something to one or the other parser. */
static void test_like_getopt(void **state)
{
	static const char *const pieces[] = {
		"-v",
		"-uv",
		"-vk",
		"-kx",
		"-k",
		"-s",
		"x",
		"--",
		"-",
		"--f",
		"--fast-open",
		"--fast=1",
		"--p",
		"--pl",
		"--plugin",
		"--plugin-o",
		"--plugin=a=b",
		"--pa",
		"--limit=",
		"--l",
		"-z",
		"--zz",
		"-vz",
		"operand",
		"--limit",
		"--password=-v",
		"---",
		"--=x",
	};
	unsigned seed = 1, agreed = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char line[256] = "", text[256], ours_trace[sizeof trace];
		char *argv[WORDS];
		bool ours, theirs;
		int argc;

		for (unsigned words_left = 1 + (seed >> 16) % 5; words_left; words_left--) {
			seed = seed * 1103515245 + 12345;
			strcat(line, pieces[(seed >> 16) % (sizeof pieces / sizeof pieces[0])]);
			strcat(line, " ");
		}
		argc = split(line, text, sizeof text, argv);
		ours = by_ours(argc, argv);
		memcpy(ours_trace, trace, sizeof trace);
		argc = split(line, text, sizeof text, argv);
		theirs = by_getopt(argc, argv);
		if (ours != theirs || strcmp(ours_trace, trace) != 0)
			fail_msg("'%s': ours %d %s, getopt_long %d %s", line, ours, ours_trace,
				 theirs, trace);
		agreed += ours;
	}
	assert_true(agreed > 1000);
}

static int end(void **state)
{
	(void)state;
	begin();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags),	    cmocka_unit_test(test_bad_flags),
		cmocka_unit_test(test_ports),	    cmocka_unit_test(test_json),
		cmocka_unit_test(test_copy),	    cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_lenient),	    cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_help),	    cmocka_unit_test(test_lacking),
		cmocka_unit_test(test_like_getopt), cmocka_unit_test(test_no_blank_in_names),
	};

	begin();
	return cmocka_run_group_tests(tests, NULL, end);
}
