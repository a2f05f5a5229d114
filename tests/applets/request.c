/*
 * The manager's language: what a datagram asks for, however sloppily; and lists cut into datagrams.
 */
#include "applets/request.h"

#include "tests/unit.h"

#include <stdio.h>
#include <string.h>

static struct request request;

static enum request_kind kind_of(const char *bytes, size_t n)
{
	request_free(&request);
	request_read(&request, bytes, n);
	return request.kind;
}

static enum request_kind kind(const char *text)
{
	return kind_of(text, strlen(text));
}

static void test_words(void **state)
{
	(void)state;
	assert_int_equal(kind("list"), REQUEST_LIST);
	assert_int_equal(kind("list\n"), REQUEST_LIST);
	assert_int_equal(kind("ping"), REQUEST_PING);
	assert_int_equal(kind("ping: {}"), REQUEST_PING);
	assert_int_equal(kind("ping:"), REQUEST_PING);
	assert_int_equal(kind("stats"), REQUEST_STATS);
	assert_int_equal(kind_of("stat: {\"1\":2}\0", 14), REQUEST_STAT);
	assert_int_equal(kind_of("ping\0", 5), REQUEST_PING);
	assert_int_equal(kind("Ping"), REQUEST_NONE);
	assert_int_equal(kind("pings"), REQUEST_NONE);
	assert_int_equal(kind(""), REQUEST_NONE);
	assert_int_equal(kind(" "), REQUEST_NONE);
	assert_int_equal(kind_of("\0\0", 2), REQUEST_NONE);
	assert_int_equal(kind("xyz: {}"), REQUEST_NONE);
	assert_int_equal(kind("{"), REQUEST_NONE);
	assert_int_equal(kind("\xff\xfe"), REQUEST_NONE);
	request_free(&request);
}

static void test_objects(void **state)
{
	static const char *const good[] = { "add: {\"server_port\":8001,\"password\":\"p\"}",
					    "add:{\"server_port\":\"8001\"}",
					    "add {\"server_port\":8001}\r\n",
					    "add: {\"server_port\":1,\"server_port\":8001}" };
	static const char *const bad[] = { "add",    "add:",	"add: {",
					   "add: }", "add: []", "add: {\"server_port\":}",
					   "remove" };
	static const char *const no_port[] = { "add: {}",
					       "add: {\"server_port\":0}",
					       "add: {\"server_port\":70000}",
					       "add: {\"server_port\":-1}",
					       "add: {\"server_port\":\"1;touch x\"}",
					       "add: {\"server_port\":[]}",
					       "add: {\"server_port\":1.0}",
					       "add: {\"server_port\":\"8001\\u0000\"}" };

	(void)state;
	for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_int_equal(kind(good[i]), REQUEST_ADD);
		assert_int_equal(request_port(request.document.root), 8001);
	}
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(kind(bad[i]), REQUEST_BAD);
	for (unsigned i = 0; i < sizeof no_port / sizeof no_port[0]; i++) {
		assert_int_equal(kind(no_port[i]), REQUEST_ADD);
		assert_int_equal(request_port(request.document.root), 0);
	}
	assert_int_equal(kind("add_user: {\"server_port\":1,\"name\":\"n\"}"), REQUEST_ADD_USER);
	assert_string_equal(request_text(request.document.root, "name"), "n");
	assert_null(request_text(request.document.root, "password"));
	request_free(&request);
}

static void test_reports(void **state)
{
	uint64_t bytes;
	uint16_t port;

	(void)state;
	kind("stat: {\"8001\":18446744073}");
	assert_int_equal(request_report(request.document.root, &port, &bytes), 0);
	assert_int_equal(port, 8001);
	assert_int_equal(bytes, 18446744073);
	kind("stat: {\"8001\":-1}");
	assert_int_equal(request_report(request.document.root, &port, &bytes), -1);
	kind("stat: {\"0\":1}");
	assert_int_equal(request_report(request.document.root, &port, &bytes), -1);
	kind("stat: {}");
	assert_int_equal(request_report(request.document.root, &port, &bytes), -1);
	assert_int_equal(kind("stat: {\"x\":"), REQUEST_NONE);
	request_free(&request);
}

/* --- answers */

static struct reply reply;
static char sent[4][REQUEST_MAX + 1];
static unsigned parts;

static void keep(void *to, const char *bytes, size_t n)
{
	assert_ptr_equal(to, sent);
	assert_in_range(n, 1, REQUEST_MAX);
	memcpy(sent[parts], bytes, n);
	sent[parts++][n] = 0;
}

static void begin(const struct reply_form *form)
{
	parts = 0;
	reply_begin(&reply, form, keep, sent);
}

static void test_short_answers(void **state)
{
	(void)state;
	begin(&reply_list);
	reply_end(&reply);
	assert_string_equal(sent[0], "[\n]");
	begin(&reply_list);
	reply_add(&reply, "{1}", 3);
	reply_add(&reply, "{2}", 3);
	reply_end(&reply);
	assert_string_equal(sent[0], "[\n\t{1},\n\t{2}\n]");
	begin(&reply_ping);
	reply_end(&reply);
	assert_string_equal(sent[0], "stat: {}");
	begin(&reply_ping);
	reply_add(&reply, "\"1\":2", 5);
	reply_add(&reply, "\"2\":3", 5);
	reply_end(&reply);
	assert_string_equal(sent[0], "stat: {\"1\":2,\"2\":3}");
	assert_int_equal(parts, 1);
}

/* Each part is valid JSON, the parts have all items, and only the last says that there is no more. */
static void test_long_answers(void **state)
{
	static const struct reply_form *const forms[] = { &reply_list, &reply_ping, &reply_stats };
	char item[REQUEST_MAX];

	(void)state;
	for (unsigned f = 0; f < 3; f++) {
		unsigned items = 0;

		begin(forms[f]);
		for (int i = 0; i < 10000; i++) {
			int n = snprintf(item, sizeof item, "\"%d\"%s", i, f == 1 ? ":1234" : "");

			reply_add(&reply, item, (size_t)n);
		}
		reply_add(&reply, item, sizeof item); /* too long */
		reply_end(&reply);
		assert_true(f == 0 || parts > 1);
		for (unsigned p = 0; p < parts; p++) {
			const char *text = f == 1 ? strchr(sent[p], '{') : sent[p];
			struct json_document document;
			struct json_error error;
			const struct json *list, *more;

			assert_int_equal(json_parse(&document, text, strlen(text), &error), 0);
			list = f == 2 ? json_member(document.root, "ports") : document.root;
			more = f == 2 ? json_member(document.root, "more") : NULL;
			assert_true(f != 2 || !more == (p == parts - 1));
			for (const struct json *j = list->first; j; j = j->next)
				items++;
			json_free(&document);
		}
		assert_int_equal(items, 10000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),	     cmocka_unit_test(test_objects),
		cmocka_unit_test(test_reports),	     cmocka_unit_test(test_short_answers),
		cmocka_unit_test(test_long_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
