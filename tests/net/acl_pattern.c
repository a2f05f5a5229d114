/* Patterns: what they mean, what is refused, which are tables, and the time a hostile one takes. */
#include "net/acl_pattern.h"

#include "tests/unit.h"

#include <regex.h>
#include <time.h>

static struct acl_pattern pattern;
static uint16_t room[4 * (ACL_PROGRAM_MAX + 1)];

static bool matches(const char *text, const char *name)
{
	if (acl_pattern_read(&pattern, text, strlen(text)) < 0)
		fail_msg("%s: %s", text, pattern.why);
	return acl_pattern_match(pattern.code, pattern.size, name, strlen(name), room);
}

/* A pattern, then names that match, then those that do not. */
struct meaning {
	const char *pattern, *yes[6], *no[6];
};

static void meanings(void **state)
{
	static const struct meaning rows[] = {
		{ "a\\.b", { "a.b", "xa.bx" }, { "a-b", "a" } },
		{ "a.b", { "a.b", "a-b" }, { "ab" } },
		{ "^a", { "a", "ab" }, { "ba", "" } },
		{ "a$", { "a", "ba" }, { "ab" } },
		{ "(^|\\.)a\\.b$", { "a.b", "x.a.b" }, { "xa.b", "a.b.c" } },
		{ "(?:^|\\.)a$", { "a", "b.a" }, { "ba" } },
		{ "(^|\\.)?a$", { "a", "b.a", "ba" }, { "ab" } },
		{ "(^|\\.)a|b", { "a", "x.a", "xb" }, { "xa" } },
		{ "^(.*\\.)?a$", { "a", "x.a", ".a" }, { "xa" } },
		{ "^(com|net|)$", { "com", "net", "" }, { "co" } },
		{ "a|b|cd", { "a", "b", "cd" }, { "c" } },
		{ "^a*$", { "", "a", "aaa" }, { "ab" } },
		{ "^a+?b", { "ab", "aab" }, { "b" } },
		{ "^ab?c", { "ac", "abc" }, { "abbc" } },
		{ "^a{3}$", { "aaa" }, { "aa", "aaaa" } },
		{ "^a{2,}$", { "aa", "aaaaa" }, { "a" } },
		{ "^a{1,3}b", { "ab", "aab", "aaab" }, { "b", "aaaab" } },
		{ "^a{0,2}b", { "b", "ab", "aab" }, { "aaab" } },
		{ "^(ab){2}$", { "abab" }, { "ab", "ababab" } },
		{ "^(a{1,2}b){2}$", { "abab", "aabab", "abaab" }, { "ab", "aaabab" } },
		{ "^a{0}b", { "b" }, { "ab" } },
		{ "^a{,2}$", { "a{,2}" }, { "aa" } },
		{ "^a{x$", { "a{x" }, { "a" } },
		{ "^()*a", { "a" }, { "b" } },
		{ "^(a*)*$", { "", "aaa" }, { "b" } },
		{ "^(a|b*)+c", { "c", "abbac" }, { "d" } },
		{ "^[abc]$", { "a", "c" }, { "d", "" } },
		{ "^[^abc]$", { "d" }, { "a" } },
		{ "^[a-c-]$", { "b", "-" }, { "d" } },
		{ "^[]a]$", { "]", "a" }, { "b" } },
		{ "^[^]a]$", { "b" }, { "]", "a" } },
		{ "^[\\d.]+$", { "1.2" }, { "a" } },
		{ "^[\\]\\-]+$", { "]-" }, { "\\" } },
		{ "^[[:alpha:][:digit:]]$", { "a", "7" }, { "-" } },
		{ "^[^[:space:]]$", { "a" }, { " " } },
		{ "^\\d\\w\\s$", { "1_ ", "0a\t" }, { "aa ", "1a1" } },
		{ "^\\D\\W\\S$", { "a-x" }, { "1-x", "aax", "a- " } },
		{ "\\bad\\b", { "ad", "x-ad.com", "ad-x" }, { "bad", "ads" } },
		{ "\\Bad", { "bad" }, { "ad", "-ad" } },
		{ "\\Aa\\z", { "a" }, { "ab", "ba" } },
		{ "^\\x61\\x4A$", { "aj" }, { "bj" } },
		{ "^[\\x61-\\x63]\\-\\/$", { "a-/" }, { "d-/" } },
		/* names are in lower case, patterns are not */
		{ "^UPPER\\.test$", { "upper.test" }, { "uppe.test" } },
		{ "^[A-C][^X]$", { "ad", "cz" }, { "dd", "ax" } },
		{ "(?i)^A$", { "a" }, { "b" } },
		{ "(?i:A)$", { "ba" }, { "ab" } },
		{ "", { "", "a" }, { NULL } },
		{ "^\xc3\xa9$", { "\xc3\xa9" }, { "\xc3" } },
		{ "^.{2}$", { "\xc3\xa9" }, { "a" } },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned k = 0; k < 6; k++) {
			if (rows[i].yes[k] && !matches(rows[i].pattern, rows[i].yes[k]))
				fail_msg("%s: not %s", rows[i].pattern, rows[i].yes[k]);
			if (rows[i].no[k] && matches(rows[i].pattern, rows[i].no[k]))
				fail_msg("%s: %s", rows[i].pattern, rows[i].no[k]);
		}
}

static void refused(void **state)
{
	static const char *const rows[][2] = {
		{ "[", "a [ is not closed" },
		{ "[]", "a [ is not closed" },
		{ "[a", "a [ is not closed" },
		{ "[[:alpha:", "a [ is not closed" },
		{ "[[:alhpa:]]", "there is no such class of characters" },
		{ "[b-a]", "a range in [] has its ends the wrong way round" },
		{ "a||b", "an alternative is empty: it would match every name" },
		{ "|a", "an alternative is empty: it would match every name" },
		{ "a|", "an alternative is empty: it would match every name" },
		{ "(", "a ( is not closed" },
		{ "(a", "a ( is not closed" },
		{ ")", "a ) closes nothing" },
		{ "a)", "a ) closes nothing" },
		{ "*", "a quantifier has nothing to repeat" },
		{ "a|+", "a quantifier has nothing to repeat" },
		{ "a**", "a quantifier has nothing to repeat" },
		{ "a{2}{3}", "a quantifier has nothing to repeat" },
		{ "a{2,1}", "its {} has its ends the wrong way round" },
		{ "a++", "it has a possessive quantifier" },
		{ "\\", "it ends in a backslash" },
		{ "[\\", "it ends in a backslash" },
		{ "(a)\\1", "it refers back to a group" },
		{ "\\p{L}", "a backslash before this letter has no meaning here" },
		{ "\\Qa", "a backslash before this letter has no meaning here" },
		{ "(?", "it has a (? other than (?: and (?i)" },
		{ "(?=a)", "it has a (? other than (?: and (?i)" },
		{ "(?!a)", "it has a (? other than (?: and (?i)" },
		{ "(?P<x>a)", "it has a (? other than (?: and (?i)" },
		{ "a{99999}", "it is too large" },
		{ "a{0,99999}", "it is too large" },
		{ "(a{1,200}){1,200}", "it is too large" },
		{ "(((a{1,99}){1,99}){1,99}){1,99}", "it is too large" },
	};
	char deep[400] = "";

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (acl_pattern_read(&pattern, rows[i][0], strlen(rows[i][0])) == 0)
			fail_msg("%s", rows[i][0]);
		assert_string_equal(pattern.why, rows[i][1]);
	}
	memset(deep, '(', 200);
	memset(deep + 200, ')', 199);
	assert_int_equal(acl_pattern_read(&pattern, deep, 400), -1);
	assert_string_equal(pattern.why, "its groups are too deep");
}

/* What becomes a row of a table, and what literal the others must have. */
static void literals(void **state)
{
	static const struct {
		const char *pattern, *literal;
		bool plain, end;
		uint8_t begin;
	} rows[] = {
		{ "(^|\\.)example\\.com$", "example.com", true, true, ACL_LABEL },
		{ "(?:^|\\.)Example\\.com", "example.com", true, false, ACL_LABEL },
		{ "^example\\.com$", "example.com", true, true, ACL_BEGIN },
		{ "^example\\.com", "example.com", true, false, ACL_BEGIN },
		{ "example\\.com$", "example.com", true, true, ACL_ANYWHERE },
		{ "example\\.com", "example.com", true, false, ACL_ANYWHERE },
		{ "\\.a\\-b", ".a-b", true, false, ACL_ANYWHERE },
		{ "example.com", "example", false, false, ACL_ANYWHERE },
		{ "(a|b)\\.com$", ".com", false, true, ACL_ANYWHERE },
		{ "^.*\\.cn$", ".cn", false, true, ACL_BEGIN },
		{ "ab+cd", "cd", false, false, ACL_ANYWHERE },
		{ "abc?", "ab", false, false, ACL_ANYWHERE },
		{ "abc{3}", "ab", false, false, ACL_ANYWHERE },
		{ "a|b", "", false, false, ACL_ANYWHERE },
		{ "(^|\\.)a|b", "", false, false, ACL_LABEL },
		{ "(a)", "", false, false, ACL_ANYWHERE },
		{ "a$b", "a", false, true, ACL_ANYWHERE },
		{ "a^b", "a", false, false, ACL_ANYWHERE },
		{ "^", "", false, false, ACL_BEGIN },
		{ "", "", false, false, ACL_ANYWHERE },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(acl_pattern_read(&pattern, rows[i].pattern,
						  strlen(rows[i].pattern)),
				 0);
		if (pattern.n != strlen(rows[i].literal) ||
		    memcmp(pattern.literal, rows[i].literal, pattern.n) != 0 ||
		    pattern.plain != rows[i].plain || pattern.end != rows[i].end ||
		    pattern.begin != rows[i].begin)
			fail_msg("%s: %.*s %d %d %d", rows[i].pattern, pattern.n, pattern.literal,
				 pattern.plain, pattern.end, pattern.begin);
	}
}

/* A literal longer than any name still belongs to the pattern, as a whole. */
static void long_literal(void **state)
{
	char text[301];

	(void)state;
	memset(text, 'a', 300);
	text[300] = '\0';
	assert_false(matches(text, text + 45));
	assert_true(matches(text, text));
	assert_false(pattern.plain);
	assert_int_equal(pattern.n, ACL_LITERAL_MAX);
	assert_true(matches(text + 45, text));
	assert_true(pattern.plain);
}

static uint32_t draw(uint32_t below)
{
	static uint64_t seed = 7;

	seed = seed * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(seed >> 33) % below;
}

/* A pattern of what POSIX and PCRE read alike. */
static void invent(char *to, unsigned items)
{
	static const char *const item[] = { "a",   "b",	     "\\.",  ".",	"[ab]", "[^a]",
					    "(a)", "(a|b.)", "(b|)", "(^|\\.)", "(ab)", "(a*b)" };
	static const char *const times[] = {
		"", "", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}"
	};

	*to = '\0';
	if (draw(4) == 0)
		strcat(to, "^");
	for (unsigned i = 0; i < items; i++) {
		unsigned which = draw(12);
		strcat(to, item[which]);
		/* glibc takes (^|\\.){2}a for one of the two and any character */
		if (strchr(item[which], '^') == NULL || item[which][0] == '[')
			strcat(to, times[draw(10)]);
		if (draw(9) == 0)
			strcat(to, "|");
	}
	strcat(to, draw(3) ? "a" : "b$");
}

static void same_as_regcomp(void **state)
{
	char text[200], name[16];
	regex_t regex;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		invent(text, 1 + draw(5));
		assert_int_equal(regcomp(&regex, text, REG_EXTENDED | REG_NOSUB), 0);
		for (unsigned k = 0; k < 20; k++) {
			unsigned n = draw(10);
			for (unsigned c = 0; c < n; c++)
				name[c] = "aab.c"[draw(5)];
			name[n] = '\0';
			bool ours = matches(text, name);
			if (ours != (regexec(&regex, name, 0, NULL, 0) == 0))
				fail_msg("%s: %s: %d", text, name, ours);
			/* what the index relies on */
			if (ours && memmem(name, n, pattern.literal, pattern.n) == NULL)
				fail_msg("%s: literal %.*s", text, pattern.n, pattern.literal);
		}
		regfree(&regex);
	}
}

/* AC11: no pattern and no name takes long. */
static void hostile(void **state)
{
	static const char *const texts[] = { "^(a+)+$",
					     "(a|a)*b",
					     "(a*)*b",
					     "(.*a){20}b",
					     "^(([a-z])+.)+[A-Z]([a-z])+$",
					     "(a?){100}a{100}b",
					     "(((a*)*)*)*b" };
	struct timespec from, to;
	char name[256];

	(void)state;
	memset(name, 'a', 255);
	strcpy(name + 249, "!.test");
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		assert_false(matches(texts[i], name));
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		long ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
		if (ms >= 1000)
			fail_msg("%s took %ld ms", texts[i], ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meanings),	   cmocka_unit_test(refused),
		cmocka_unit_test(literals),	   cmocka_unit_test(long_literal),
		cmocka_unit_test(same_as_regcomp), cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests_name("acl_pattern", tests, NULL, NULL);
}
