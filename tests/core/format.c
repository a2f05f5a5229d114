/*
 * format_write() against what libc's vsnprintf() makes of the same.
 */
#include "core/format.h"

#include "tests/unit.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>

static char ours[4096], theirs[4096];

/* What is printed into `ours`, and its length or -1. */
__attribute__((format(printf, 1, 2))) static int print(const char *format, ...)
{
	va_list values;
	FILE *to = fmemopen(ours, sizeof(ours), "w");

	assert_non_null(to);
	memset(ours, 0, sizeof(ours));
	va_start(values, format);
	int n = format_write(to, format, values);
	va_end(values);
	fclose(to);
	return n;
}

#define same(...)                                                                   \
	do {                                                                        \
		int n = print(__VA_ARGS__);                                         \
		assert_int_equal(n, snprintf(theirs, sizeof(theirs), __VA_ARGS__)); \
		assert_string_equal(ours, theirs);                                  \
	} while (0)

/* The formats are many and made here: no compiler can look at them. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"

static const char *const flags[] = { "",   "-",	 "0",  "+",  " ",   "#",  "-0",
				     "-+", "0+", "0 ", "#0", "-#0", "+ ", "-+ #0" };
static const char *const sizes[] = { "", "1", "7", "30", ".0", ".1", ".9", "12.5", "5.12", "." };

/* The format "<%FLAGS SIZE KIND>"; false: the flag means nothing to this kind, and C says no word. */
static bool make(char *format, size_t size, unsigned i, unsigned j, const char *kind)
{
	char last = kind[strlen(kind) - 1];

	snprintf(format, size, "<%%%s%s%s>", flags[i], sizes[j], kind);
	if (strchr("cs", last))
		return !strpbrk(flags[i], "0+ #");
	if (strchr("di", last))
		return !strchr(flags[i], '#');
	return !strpbrk(flags[i], "+ ") && !(last == 'u' && strchr(flags[i], '#'));
}

#define same_in_all(kind, value)                                                  \
	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)           \
		for (unsigned j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) { \
			char format[40];                                          \
			if (make(format, sizeof(format), i, j, kind))             \
				same(format, value);                              \
		}

static void numbers_are_as_libc_prints_them(void **unused)
{
	static const long long values[] = { 0,	  1,	 -1,	  7,	   8,	      255,	256,
					    -129, 65536, INT_MAX, INT_MIN, LLONG_MAX, LLONG_MIN };

	(void)unused;
	for (unsigned k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
		same_in_all("d", (int)values[k]);
		same_in_all("i", (int)values[k]);
		same_in_all("u", (unsigned)values[k]);
		same_in_all("x", (unsigned)values[k]);
		same_in_all("X", (unsigned)values[k]);
		same_in_all("o", (unsigned)values[k]);
		same_in_all("hd", (int)values[k]);
		same_in_all("hhd", (int)values[k]);
		same_in_all("hu", (unsigned)values[k]);
		same_in_all("hhx", (unsigned)values[k]);
		same_in_all("ld", (long)values[k]);
		same_in_all("lu", (unsigned long)values[k]);
		same_in_all("lld", values[k]);
		same_in_all("llx", (unsigned long long)values[k]);
		same_in_all("zu", (size_t)values[k]);
		same_in_all("td", (ptrdiff_t)values[k]);
		same_in_all("jo", (uintmax_t)values[k]);
		same_in_all("jd", (intmax_t)values[k]);
	}
}

static void text_is_as_libc_prints_it(void **unused)
{
	static char longer[1000];

	(void)unused;
	memset(longer, 'x', sizeof(longer) - 1);
	same_in_all("s", "");
	same_in_all("s", "four");
	same_in_all("s", "a longer one than any width");
	same_in_all("c", 'c');
	same("%s", longer);
	same("<%s|%s|%500s>", longer, "in the middle", longer);
	same("%c%s", '\0', "after a NUL");
	/* not one byte past the precision is read */
	same("%.3s", (const char[]){ 'a', 'b', 'c' });
}

static void widths_come_from_values_too(void **unused)
{
	(void)unused;
	same("<%*d|%-*d|%.*d|%*.*s>", 5, 42, 5, 42, 3, 7, 9, 2, "text");
	same("<%*d|%.*s|%.*d>", -6, 42, -1, "all of it", -1, 0);
}

static void several_stand_in_one_format(void **unused)
{
	(void)unused;
	same("100%% of %s:%u, %lld of %zu (%c)\n", "127.0.0.1", 8388U, -1LL, (size_t)7, '!');
	same("no directive at all");
	same("%s", "");
	assert_int_equal(print("%p", (void *)0x1234), 6);
	assert_string_equal(ours, "0x1234");
	const char *none = NULL;
	assert_int_equal(print("%s", none), 6);
	assert_string_equal(ours, "(null)");
}

static void what_is_not_known_is_refused(void **unused)
{
	static const char *const formats[] = { "%f", "%n", "%ls", "%lc", "50%", "%k", "%-" };
	int nowhere = 7;

	(void)unused;
	for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		errno = 0;
		assert_int_equal(print(formats[i], &nowhere), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(nowhere, 7);
	}
}

/* A stream that keeps nothing: each call of write() is one. */
static ssize_t count_call(void *calls, const char *bytes, size_t n)
{
	(void)bytes;
	++*(unsigned *)calls;
	return (ssize_t)n;
}

static int print_to(FILE *to, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	int n = format_write(to, format, values);
	va_end(values);
	return n;
}

static void a_line_is_one_write_to_a_stream_without_buffer(void **unused)
{
	unsigned calls = 0;
	FILE *to = fopencookie(&calls, "w", (cookie_io_functions_t){ .write = count_call });

	(void)unused;
	setvbuf(to, NULL, _IONBF, 0);
	assert_int_equal(print_to(to, "%s: %d of %u%c", "line", 1, 2U, '\n'), 13);
	assert_int_equal(calls, 1);
	fclose(to);
}

static void a_stream_that_fails_is_noticed(void **unused)
{
	FILE *to = fopen("/dev/full", "w");

	(void)unused;
	if (!to) {
		print_message("SKIPPED a_stream_that_fails_is_noticed: no /dev/full here\n");
		skip();
	}
	setvbuf(to, NULL, _IONBF, 0);
	assert_int_equal(print_to(to, "%s", "anything"), -1);
	fclose(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_as_libc_prints_them),
		cmocka_unit_test(text_is_as_libc_prints_it),
		cmocka_unit_test(widths_come_from_values_too),
		cmocka_unit_test(several_stand_in_one_format),
		cmocka_unit_test(what_is_not_known_is_refused),
		cmocka_unit_test(a_line_is_one_write_to_a_stream_without_buffer),
		cmocka_unit_test(a_stream_that_fails_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
