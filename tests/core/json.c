/* The JSON reader and writer; JSONTestSuite from the shared data, found at $SS_SHARED or
 * ../shared. */
#include "core/json.h"

#include "tests/unit.h"

#include <dirent.h>

static struct json_document doc;
static struct json_error error;

static int parse(const char *text)
{
	return json_parse(&doc, text, strlen(text), &error);
}

static void accepts(const char *text)
{
	if (parse(text) < 0)
		fail_msg("'%s': %u:%u: %s", text, error.line, error.column, error.text);
	json_free(&doc);
}

static void refuses(const char *text, unsigned line, unsigned column, const char *reason)
{
	if (parse(text) == 0)
		fail_msg("'%s' was accepted", text);
	assert_null(doc.root);
	assert_string_equal(error.text, reason);
	assert_int_equal(error.line, line);
	assert_int_equal(error.column, column);
}

static void test_values(void **state)
{
	const struct json *j;

	(void)state;
	assert_int_equal(parse("\xef\xbb\xbf{\"a\": [1, -2.5e+3, true],\n"
			       " \"b\":\"x\", \"a\": null, \"c\": {}, \"d\": []}"),
			 0);
	j = doc.root;
	assert_int_equal(j->type, JSON_OBJECT);
	j = j->first;
	assert_string_equal(j->name, "a");
	assert_int_equal(j->type, JSON_ARRAY);
	assert_string_equal(j->first->text, "1");
	assert_string_equal(j->first->next->text, "-2.5e+3");
	assert_int_equal(j->first->next->next->type, JSON_TRUE);
	assert_null(j->first->next->next->next);
	j = json_member(doc.root, "b");
	assert_string_equal(j->text, "x");
	assert_int_equal(j->line, 2);
	assert_int_equal(j->column, 2);
	/* Of two members of one name the last counts. */
	assert_int_equal(json_member(doc.root, "a")->type, JSON_NULL);
	assert_null(json_member(doc.root, "d")->first);
	assert_null(json_member(doc.root, "none"));
	json_free(&doc);
}

static void test_strings(void **state)
{
	(void)state;
	assert_int_equal(parse("\"\\u00e4\\ud83d\\ude00\\n\\/\\u0000z\""), 0);
	assert_int_equal(doc.root->len, 2 + 4 + 1 + 1 + 1 + 1);
	assert_memory_equal(doc.root->text, "\xc3\xa4\xf0\x9f\x98\x80\n/\0z", 11);
	assert_false(json_plain(doc.root));
	json_free(&doc);
	refuses("\"\\ud83d\"", 1, 8, "expected the second half of a surrogate pair");
	refuses("\"\\ude00\"", 1, 8, "the second half of a surrogate pair has no first half");
	refuses("\"\\ud83d\\u0041\"", 1, 14, "this is not the second half of a surrogate pair");
	refuses("\"\xed\xa0\x80\"", 1, 2, "this byte of a string (0xed) is not UTF-8");
	refuses("\"a\tb\"", 1, 3, "a control character in a string must be written as \\u0009");
}

static void test_errors(void **state)
{
	(void)state;
	refuses("{\n  \"a\": 1,\n  \"b\": 2\n  \"c\": 3\n}", 4, 3,
		"expected ',' or '}' after a value");
	refuses("[1 2]", 1, 4, "expected ',' or ']' after a value");
	refuses("{\"a\" 1}", 1, 6, "expected ':' after a name");
	refuses("{'a': 1}", 1, 2, "expected a name in double quotes or '}'");
	refuses("{\"m\": aes-256-gcm}", 1, 7, "expected a value (text needs double quotes)");
	refuses("{\"m\": \"\xc3\xa4\", x}", 1, 12, "expected a name in double quotes");
	refuses("{\"a\": \"b\n\"}", 1, 9, "expected a closing '\"' before the end of the line");
	refuses("[1", 1, 3, "expected ',' or ']' after a value, but the text ends here");
	refuses("", 1, 1, "expected a value (text needs double quotes), but the text ends here");
	refuses("{} x", 1, 4, "expected nothing more after the value");
	refuses("[/* x", 1, 2, "this comment has no '*/'");
	refuses("[,]", 1, 2, "expected a value (text needs double quotes)");
	refuses("[1,,]", 1, 4, "expected a value (text needs double quotes)");
	refuses("{,}", 1, 2, "expected a name in double quotes or '}'");
	refuses("[01]", 1, 3, "a number must not begin with 0");
}

static void test_extensions(void **state)
{
	(void)state;
	accepts("[1,]");
	accepts("{\"a\":1,}");
	accepts("// one\n/* two **/[/**/1//\n,/*,*/2]//three");
	accepts("\xef\xbb\xbf[]");
	accepts("{\"a\":1 /* no comma */}");
}

static void test_integers(void **state)
{
	static const struct {
		const char *text;
		int result;
		int64_t value;
	} rows[] = {
		{ "0", 0, 0 },
		{ "-0", 0, 0 },
		{ "65535", 0, 65535 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "9223372036854775808", -1, 0 },
		{ "-9223372036854775809", -1, 0 },
		{ "99999999999999999999999", -1, 0 },
		{ "1e4", -1, 0 },
		{ "1.0", -1, 0 },
		{ "\"1\"", -1, 0 },
		{ "null", -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int64_t value = 0;

		assert_int_equal(parse(rows[i].text), 0);
		assert_int_equal(json_integer(doc.root, &value), rows[i].result);
		assert_true(value == rows[i].value);
		json_free(&doc);
	}
}

static void test_depth(void **state)
{
	size_t n = 100000;
	char *text = malloc(5 * n + 1);

	(void)state;
	memset(text, '[', n);
	text[n] = 0;
	refuses(text, 1, JSON_DEPTH + 1, "nested deeper than 64");
	for (size_t i = 0; i < n; i++)
		memcpy(text + 5 * i, "{\"\": ", 5);
	text[5 * n] = 0;
	refuses(text, 1, 5 * JSON_DEPTH + 1, "nested deeper than 64");
	memset(text, '[', JSON_DEPTH);
	memset(text + JSON_DEPTH, ']', JSON_DEPTH);
	text[2 * JSON_DEPTH] = 0;
	accepts(text);
	free(text);
}

static void test_many_nodes(void **state)
{
	size_t n = 200000;
	char *text = malloc(2 * n + 2);
	unsigned count = 0;

	(void)state;
	for (size_t i = 0; i < n; i++)
		memcpy(text + 2 * i, i ? ",7" : "[7", 2);
	memcpy(text + 2 * n, "]", 2);
	assert_int_equal(parse(text), 0);
	for (const struct json *j = doc.root->first; j; j = j->next)
		count += j->text[0] == '7' && !j->text[1] && j->column == 2 * count + 2;
	assert_int_equal(count, n);
	json_free(&doc);
	free(text);
}

static void test_truncated(void **state)
{
	static const char text[] = "\xef\xbb\xbf// c\n{\"a\\u00e4\": [-1.5e-7, true, null, "
				   "\"\\ud83d\\ude00 \xe2\x82\xac\"],"
				   " /* x */ \"b\": {\"c\": false,}}";

	(void)state;
	for (size_t n = 0; n < sizeof text - 1; n++) {
		/* On the heap and without a NUL behind it, so that ASan sees a byte too many. */
		char *cut = malloc(n + !n);

		memcpy(cut, text, n);
		if (json_parse(&doc, cut, n, &error) == 0)
			fail_msg("the first %zu bytes were accepted", n);
		free(cut);
	}
	accepts(text);
}

static void test_quote(void **state)
{
	static const char from[] = "a\"\\\n\x01\x7f\0\xc3\xa4\xff";
	static const char quoted[] = "\"a\\\"\\\\\\n\\u0001\\u007f\\u0000\xc3\xa4\\ufffd\"";
	char to[64];

	(void)state;
	assert_int_equal(json_quote(to, sizeof to, from, sizeof from - 1), sizeof quoted - 1);
	assert_string_equal(to, quoted);
	accepts(to);
	assert_int_equal(json_quote(to, 0, from, sizeof from - 1), sizeof quoted - 1);
	for (size_t size = 1; size < sizeof quoted; size++) {
		memset(to, 'x', sizeof to);
		assert_int_equal(json_quote(to, size, from, sizeof from - 1), sizeof quoted - 1);
		assert_true(strlen(to) < size && !strncmp(to, quoted, strlen(to)));
	}
}

/* The files of the suite that RFC 8259 forbids and we read: our documented extensions. */
static const char *const extensions[] = {
	"n_array_extra_comma.json",		     /* trailing comma */
	"n_array_number_and_comma.json",	     /* trailing comma */
	"n_object_trailing_comma.json",		     /* trailing comma */
	"n_object_trailing_comment.json",	     /* comment */
	"n_object_trailing_comment_slash_open.json", /* comment */
	"n_structure_object_with_comment.json",	     /* comment */
};

static bool extension(const char *name)
{
	for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++) {
		if (!strcmp(name, extensions[i]))
			return true;
	}
	return false;
}

static int parse_file(const char *path)
{
	static char text[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t n;
	int result;

	assert_non_null(f);
	n = fread(text, 1, sizeof text, f);
	assert_true(n < sizeof text);
	fclose(f);
	result = json_parse(&doc, text, n, &error);
	json_free(&doc);
	return result;
}

static void test_suite(void **state)
{
	const char *shared = getenv("SS_SHARED");
	unsigned files = 0, wrong = 0, extended = 0;
	char path[4096];
	struct dirent *entry;
	DIR *dir;

	(void)state;
	snprintf(path, sizeof path, "%s/data/json/test_parsing", shared ? shared : "../shared");
	dir = opendir(path);
	if (!dir) {
		print_message("SKIPPED: JSONTestSuite is not at %s\n", path);
		skip();
	}
	while ((entry = readdir(dir))) {
		int wanted = entry->d_name[0] == 'y' || extension(entry->d_name) ? 0 : -1;
		int result;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/data/json/test_parsing/%s",
			 shared ? shared : "../shared", entry->d_name);
		result = parse_file(path);
		files++;
		extended += extension(entry->d_name);
		if (entry->d_name[0] != 'i' && result != wanted) {
			print_message("%s: %s\n", entry->d_name, result ? error.text : "accepted");
			wrong++;
		}
	}
	closedir(dir);
	assert_int_equal(wrong, 0);
	assert_int_equal(files, 318);
	assert_int_equal(extended, sizeof extensions / sizeof extensions[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	   cmocka_unit_test(test_strings),
		cmocka_unit_test(test_errors),	   cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_integers),   cmocka_unit_test(test_depth),
		cmocka_unit_test(test_many_nodes), cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_quote),	   cmocka_unit_test(test_suite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
