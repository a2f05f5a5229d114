#include "core/text.h"

#include "tests/unit.h"

#include <stdbool.h>

static const struct {
	const char *before, *after;
} cases[] = {
	{ "", "" },
	{ "plain ~", "plain ~" },
	{ "a\nb\rc\td\033[2J\x7f", "a?b?c?d?[2J?" },
	{ "\xc2\xa0\xc3\xa4\xdf\xbf", "\xc2\xa0\xc3\xa4\xdf\xbf" },
	{ "\xe0\xa0\x80\xe2\x82\xac\xef\xbf\xbd", "\xe0\xa0\x80\xe2\x82\xac\xef\xbf\xbd" },
	{ "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf" },
	{ "\xc2\x80\xc2\x9f", "????" }, /* C1 */
	{ "\xff\xfe\x80\xbf", "????" }, /* never a first byte */
	{ "\xc0\xaf\xc1\xbf", "????" }, /* longer than need be */
	{ "\xe0\x9f\xbf\xf0\x8f\xbf\xbf", "???????" },
	{ "\xed\xa0\x80\xed\xbf\xbf", "??????" },	    /* surrogates */
	{ "\xf4\x90\x80\x80\xf5\x80\x80\x80", "????????" }, /* beyond Unicode */
	{ "\xe2\x82", "??" },				    /* cut short */
	{ "\xe2\x82x", "??x" },
	{ "\xf0\x9f\x98", "???" },
	{ "\xe2\xc3\xa4", "?\xc3\xa4" },
};

static void what_may_not_stand_in_a_line_is_replaced(void **unused)
{
	char text[64];

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].before);
		text_make_printable(text);
		assert_string_equal(text, cases[i].after);
	}
}

static void letters_are_those_of_ascii(void **unused)
{
	static const char digits[] = "0123456789abcdef";

	(void)unused;
	for (int c = -128; c < 128; c++) {
		bool capital = c >= 'A' && c <= 'Z';
		const char *digit = c > 0 ? strchr(digits, text_lower((char)c)) : NULL;

		assert_int_equal(text_lower((char)c), (char)(capital ? c + 'a' - 'A' : c));
		assert_int_equal(text_hex((char)c), digit ? digit - digits : -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_not_stand_in_a_line_is_replaced),
		cmocka_unit_test(letters_are_those_of_ascii),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
