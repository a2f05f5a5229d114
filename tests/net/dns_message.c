/* DNS messages: the question byte by byte, answers of every shape and every cut of them. */
#include "net/dns_message.h"

#include "tests/unit.h"

#include <dirent.h>

#define HEAD(flags, answers, authorities)                         \
	"\x12\x34" flags "\0\1\0" answers "\0" authorities "\0\0" \
	"\1a\4test\0\0\1\0\1"
#define A(ttl, ip) "\xc0\x0c\0\1\0\1\0\0\0" ttl "\0\4" ip
#define SOA(ttl, minimum)                   \
	"\0\0\6\0\1\0\0\0" ttl "\0\x16\0\0" \
	"1234"                              \
	"1234"                              \
	"1234"                              \
	"1234"                              \
	"\0\0\0" minimum

struct message {
	const char *bytes;
	size_t n;
};

#define MESSAGE(text) ((struct message){ text, sizeof(text) - 1 })

static struct dns_reply read_message(struct message m, enum dns_type type)
{
	struct dns_reply reply;
	unsigned char *bytes = malloc(m.n + 1); /* so that reading past the end is seen */

	memcpy(bytes + 1, m.bytes, m.n);
	dns_read_reply(&reply, bytes + 1, m.n, type);
	free(bytes);
	return reply;
}

static void questions(void **state)
{
	(void)state;
	unsigned char to[DNS_QUESTION_MAX];
	const char want[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0\7example\3com\0\0\x1c\0\1";

	assert_int_equal(dns_write_question(to, 0x1234, "example.com", DNS_AAAA), sizeof(want) - 1);
	assert_memory_equal(to, want, sizeof(want) - 1);
	assert_int_equal(dns_write_question(to, 0x1234, "example.com.", DNS_AAAA),
			 sizeof(want) - 1);
	assert_int_equal(dns_write_question(to, 1, "", DNS_A), 0);
	assert_int_equal(dns_write_question(to, 1, ".", DNS_A), 0);
	assert_int_equal(dns_write_question(to, 1, "a..b", DNS_A), 0);
	assert_int_equal(dns_write_question(to, 1, ".a", DNS_A), 0);
}

static void longest_names(void **state)
{
	(void)state;
	unsigned char to[DNS_QUESTION_MAX];
	char name[400];

	for (unsigned i = 0; i < 399; i++)
		name[i] = i % 64 == 63 ? '.' : 'a';
	name[253] = '\0'; /* 63.63.63.61 */
	assert_int_equal(dns_write_question(to, 1, name, DNS_A), DNS_QUESTION_MAX);
	memcpy(name + 253, "a", 2);
	assert_int_equal(dns_write_question(to, 1, name, DNS_A), 0);
	memset(name, 'a', 399);
	name[64] = '\0';
	assert_int_equal(dns_write_question(to, 1, name, DNS_A), 0);
	name[63] = '\0';
	assert_int_equal(dns_write_question(to, 1, name, DNS_A), 12 + 65 + 4);
}

static void found(void **state)
{
	(void)state;
	struct dns_reply r =
		read_message(MESSAGE(HEAD("\x81\x80", "\2", "\0") A("\x3c", "\xc0\0\2\1")
					     A("\5", "\xc0\0\2\2")),
			     DNS_A);

	assert_int_equal(r.outcome, DNS_FOUND);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.ttl, 5);
	assert_int_equal(r.addresses[1].family, 4);
	assert_memory_equal(r.addresses[1].ip, "\xc0\0\2\2", 4);

	/* asked for AAAA these are no answer */
	r = read_message(MESSAGE(HEAD("\x81\x80", "\1", "\0") A("\x3c", "\xc0\0\2\1")), DNS_AAAA);
	assert_int_equal(r.outcome, DNS_NO_DATA);
	assert_int_equal(r.ttl, 0);

	r = read_message(
		MESSAGE(HEAD("\x81\x80", "\2",
			     "\0") "\xc0\x0c\0\5\0\1\0\0\0\3\0\4\1b\xc0\x0e" /* a CNAME, b.test */
				   "\xc0\x24\0\x1c\0\1\0\0\0\x3c\0\x10"
				   "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1"),
		DNS_AAAA);
	assert_int_equal(r.outcome, DNS_FOUND);
	assert_int_equal(r.ttl, 3);
	assert_int_equal(r.addresses[0].family, 4); /* mapped */

	r = read_message(MESSAGE(HEAD("\x81\x80", "\1",
				      "\0") "\xc0\x0c\0\1\0\1\xff\xff\xff\xff\0\4\1\2\3\4"),
			 DNS_A);
	assert_int_equal(r.outcome, DNS_FOUND);
	assert_int_equal(r.ttl, 0); /* RFC 2181 8 */
}

static void negative(void **state)
{
	(void)state;
	struct dns_reply r;

	r = read_message(MESSAGE(HEAD("\x81\x83", "\0", "\0")), DNS_A);
	assert_int_equal(r.outcome, DNS_NO_NAME);
	assert_int_equal(r.ttl, 0);
	r = read_message(MESSAGE(HEAD("\x81\x83", "\0", "\1") SOA("\x3c", "\7")), DNS_A);
	assert_int_equal(r.outcome, DNS_NO_NAME);
	assert_int_equal(r.ttl, 7);
	r = read_message(MESSAGE(HEAD("\x81\x80", "\0", "\1") SOA("\5", "\7")), DNS_A);
	assert_int_equal(r.outcome, DNS_NO_DATA);
	assert_int_equal(r.ttl, 5);
	for (unsigned rcode = 0; rcode < 16; rcode++) {
		char text[] = HEAD("\x81\x80", "\0", "\0");
		text[3] = (char)(0x80 | rcode);
		r = read_message(MESSAGE(text), DNS_A);
		assert_int_equal(r.outcome, rcode == 0	 ? DNS_NO_DATA
					    : rcode == 3 ? DNS_NO_NAME
							 : DNS_FAILED);
	}
}

static void malformed(void **state)
{
	(void)state;
	const struct message good =
		MESSAGE(HEAD("\x81\x80", "\2", "\0") A("\x3c", "\xc0\0\2\1") A("\5", "\xc0\0\2\2"));

	for (size_t n = 0; n < good.n; n++) {
		struct dns_reply r = read_message((struct message){ good.bytes, n }, DNS_A);
		assert_int_equal(r.outcome, DNS_FAILED);
		assert_int_equal(r.count, 0);
	}
	static const struct message bad[] = {
		{ HEAD("\x01\0", "\0", "\0"), 23 }, /* a question */
		{ HEAD("\x81\x80", "\1", "\0") "\xc0\x0c\0\1\0\1\0\0\0\1\0\3abc", 38 },
		{ HEAD("\x81\x80", "\1", "\0") "\xc0\x0c\0\1\0\1\0\0\0\1\0\5abcde", 40 },
		{ HEAD("\x81\x80", "\1", "\0") "\x40"
					       "aa\0\0\1\0\1\0\0\0\1\0\4abcd",
		  40 },
		{ HEAD("\x81\x80", "\1", "\0") "\xc0\x0c\0\1\0\1\0\0\0\1\xff\xff"
					       "abcd",
		  39 },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(read_message(bad[i], DNS_A).outcome, DNS_FAILED);
}

/* More records than are kept; what comes behind is still read. */
static void many(void **state)
{
	(void)state;
	char text[5000];
	size_t n = sizeof(HEAD("\x81\x80", "\0", "\0")) - 1;

	memcpy(text, HEAD("\x81\x80", "\xff", "\0"), n);
	for (unsigned i = 0; i < 255; i++, n += 16)
		memcpy(text + n, A("\x3c", "\xc0\0\2\1"), 16);
	assert_int_equal(read_message((struct message){ text, n }, DNS_A).count, DNS_ADDRESSES);
	assert_int_equal(read_message((struct message){ text, n - 1 }, DNS_A).outcome, DNS_FAILED);
}

/* Messages that were found by others to be hard: none may do harm. */
static void others_finds(void **state)
{
	(void)state;
	const char *shared = getenv("SS_SHARED");
	char path[512];
	unsigned files = 0;

	snprintf(path, sizeof(path), "%s/data/dns/test/fuzzinput", shared ? shared : "../shared");
	DIR *dir = opendir(path);
	if (dir == NULL) {
		print_message("SKIP: no %s\n", path);
		skip();
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		char file[1024], bytes[65536];
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		FILE *f = fopen(file, "rb");
		size_t n = f != NULL ? fread(bytes, 1, sizeof(bytes), f) : 0;
		if (f != NULL)
			fclose(f);
		read_message((struct message){ bytes, n }, DNS_A);
		read_message((struct message){ bytes, n }, DNS_AAAA);
		files += n > 0;
	}
	closedir(dir);
	assert_true(files > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions),	cmocka_unit_test(longest_names),
		cmocka_unit_test(found),	cmocka_unit_test(negative),
		cmocka_unit_test(malformed),	cmocka_unit_test(many),
		cmocka_unit_test(others_finds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
