/*
 * The functions of libc that static executables have in smaller form (dist/static), against libc's.
 */
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define memmem small_memmem
#define strstr small_strstr
#include "dist/static/search.c"
#undef memmem
#undef strstr

#define qsort small_qsort
#include "dist/static/sort.c"
#undef qsort

static unsigned memory_left = UINT_MAX; /* times that there is more */

static void *scarce_realloc(void *old, size_t n)
{
	if (memory_left == 0)
		return NULL;
	memory_left--;
	return realloc(old, n);
}

#define getdelim small_getdelim
#define getline small_getline
#define realloc scarce_realloc
#include "dist/static/lines.c"
#undef getdelim
#undef getline
#undef realloc

#define strtol small_strtol
#define strtoul small_strtoul
#define strtoll small_strtoll
#define strtoull small_strtoull
#include "dist/static/numbers.c"
#undef strtol
#undef strtoul
#undef strtoll
#undef strtoull

static unsigned seed = 1;

/* Something below n. */
static unsigned any(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

/* Of few letters, so that much is found. */
static size_t letters(char *to, size_t most)
{
	size_t n = any((unsigned)most);

	for (size_t i = 0; i < n; i++)
		to[i] = "abab\0"[any(5)];
	to[n] = '\0';
	return n;
}

static void search(void **state)
{
	unsigned found = 0;
	char in[40], what[6];

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		size_t n = letters(in, sizeof in), m = letters(what, sizeof what);

		assert_ptr_equal(small_memmem(in, n, what, m), memmem(in, n, what, m));
		assert_ptr_equal(small_strstr(in, what), strstr(in, what));
		found += m > 1 && memmem(in, n, what, m);
	}
	assert_true(found > 1000);
}

struct thing {
	unsigned short key;
	char name[5];
};

static int by_key(const void *a, const void *b)
{
	const struct thing *x = a, *y = b;

	return x->key != y->key ? (x->key < y->key ? -1 : 1) : memcmp(x->name, y->name, 5);
}

static void sort(void **state)
{
	struct thing right[200], got[201];

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		unsigned n = any(200), keys = 1 + any(300);

		memset(right, 0, sizeof right);
		for (unsigned k = 0; k < n; k++) {
			right[k].key = (unsigned short)(i % 3 == 0 ? k : any(keys));
			right[k].name[0] = (char)any(256);
		}
		memcpy(got, right, sizeof right);
		memset(got + n, 0x55, sizeof *got);
		qsort(right, n, sizeof *right, by_key);
		small_qsort(got, n, sizeof *got, by_key);
		assert_memory_equal(got, right, n * sizeof *right);
		assert_int_equal(got[n].key, 0x5555);
	}
}

static unsigned compared;

static int counting(const void *a, const void *b)
{
	compared++;
	return by_key(a, b);
}

/* What is in order costs one look, and nothing is worse than n log n. */
static void sort_costs(void **state)
{
	enum { MANY = 4096 };
	static struct thing things[MANY];

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		things[i].key = (unsigned short)i;
	small_qsort(things, MANY, sizeof *things, counting);
	assert_int_equal(compared, MANY - 1);

	for (unsigned i = 0; i < MANY; i++)
		things[i].key = (unsigned short)(i ^ 1);
	compared = 0;
	small_qsort(things, MANY, sizeof *things, counting);
	assert_true(compared < 2 * MANY * 12);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(things[i].key, i);
}

/* Lines of all lengths around the buffer's, with zeros in them, with and without an end. */
static void lines(void **state)
{
	static char text[3000];
	char *right = NULL, *got = NULL;
	size_t right_room = 0, got_room = 0;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		size_t n = 1 + any(sizeof text);
		FILE *a, *b;
		ssize_t r, g;

		for (size_t k = 0; k < n; k++)
			text[k] = any(1 + i) ? (char)any(256) : '\n';
		a = fmemopen(text, n, "r");
		b = fmemopen(text, n, "r");
		do {
			r = i % 2 ? getline(&right, &right_room, a)
				  : getdelim(&right, &right_room, 0, a);
			g = i % 2 ? small_getline(&got, &got_room, b)
				  : small_getdelim(&got, &got_room, 0, b);
			assert_int_equal(g, r);
			assert_true(r < 0 || got_room > (size_t)r);
			if (r >= 0)
				assert_memory_equal(got, right, (size_t)r + 1);
		} while (r >= 0);
		assert_true(feof(b));
		fclose(a);
		fclose(b);
	}
	free(right);
	free(got);

	assert_int_equal(small_getline(NULL, &got_room, stdin), -1);
	assert_int_equal(errno, EINVAL);
}

/* An error in a line is no end of it: the piece is not handed out. */
static void line_cut(void **state)
{
	char *line = NULL;
	size_t room = 0;
	int ends[2];
	FILE *from;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "one\ntw", 6), 6);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	from = fdopen(ends[0], "r");
	assert_non_null(from);
	assert_int_equal(small_getline(&line, &room, from), 4);
	assert_int_equal(small_getline(&line, &room, from), -1);
	assert_true(ferror(from) && !feof(from));
	fclose(from);
	close(ends[1]);
	free(line);
}

/* Nor is one that there is no memory for, and this is no end of the file either. */
static void line_without_memory(void **state)
{
	static char text[4 + 300 + 1] = "one\n";

	(void)state;
	memset(text + 4, 'x', 300);
	text[304] = '\n';
	for (unsigned n = 0; n <= 2; n++) { /* 128, 256, 512 bytes */
		FILE *from = fmemopen(text, sizeof text, "r");
		char *line = NULL;
		size_t room = 0;

		memory_left = n;
		if (n > 0)
			assert_int_equal(small_getline(&line, &room, from), 4);
		assert_int_equal(small_getline(&line, &room, from), -1);
		assert_false(feof(from));
		fclose(from);
		free(line);
	}
	memory_left = UINT_MAX;
}

#define SAME(function, text, base)                                                          \
	do {                                                                                \
		char *right_end, *got_end;                                                  \
		int right_errno;                                                            \
		errno = 0;                                                                  \
		long long right = (long long)function(text, &right_end, base);              \
		right_errno = errno == ERANGE ? ERANGE : 0;                                 \
		errno = 0;                                                                  \
		assert_int_equal((long long)small_##function(text, &got_end, base), right); \
		assert_int_equal(errno == ERANGE ? ERANGE : 0, right_errno);                \
		assert_ptr_equal(got_end, right_end);                                       \
	} while (0)

static void same_number(const char *text, int base)
{
	SAME(strtol, text, base);
	SAME(strtoul, text, base);
	SAME(strtoll, text, base);
	SAME(strtoull, text, base);
}

static void numbers(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"-",
		"+",
		"+-1",
		"0",
		"-0",
		"00",
		"0x",
		"0X1f",
		"0xg",
		"-0x10",
		" \t\n\v\f\r7x",
		"08",
		"077",
		"z",
		"Z1",
		"1_",
		"99999999999999999999",
		"-99999999999999999999",
		"18446744073709551615",
		"18446744073709551616",
		"-18446744073709551615",
		"-18446744073709551616",
		"9223372036854775807",
		"9223372036854775808",
		"-9223372036854775808",
		"-9223372036854775809",
		"2147483647",
		"2147483648",
		"-2147483648",
		"-2147483649",
		"4294967295",
		"4294967296",
		"-1",
		"0xffffffffffffffff",
		"0x10000000000000000",
		"\2001",
		"1\377",
		"/1",
		":1",
		"@1",
		"`1",
		"{1",
	};
	static const int bases[] = { 0, 2, 7, 8, 10, 16, 35, 36 };

	(void)state;
	for (unsigned b = 0; b < sizeof bases / sizeof *bases; b++) {
		for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
			same_number(texts[i], bases[b]);
		for (unsigned i = 0; i < 20000; i++) {
			char text[24];
			size_t n = any(sizeof text);

			for (size_t k = 0; k < n; k++)
				text[k] = "0123456789abfxXzZ+- 0123456789"[any(k ? 16 : 30)];
			text[n] = '\0';
			/* C23 has a prefix for base 2, and some libcs follow it */
			if ((bases[b] == 0 || bases[b] == 2) && strstr(text, "0b"))
				continue;
			same_number(text, bases[b]);
		}
	}
}

/* errno stays what it was where nothing is wrong; no digits and no such base are. */
static void numbers_errno(void **state)
{
	static const int none[] = { 1, 37, -1 };

	(void)state;
	errno = ENOENT;
	assert_int_equal(small_strtol("12", NULL, 10), 12);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(small_strtol("x", NULL, 10), 0);
	assert_int_equal(errno, EINVAL);
	for (unsigned i = 0; i < sizeof none / sizeof *none; i++) {
		errno = 0;
		assert_int_equal(small_strtoull("1", NULL, none[i]), 0);
		assert_int_equal(errno, EINVAL);
	}
}

/* What is right whatever is linked: in static executables, libc's are ours. */

static const struct {
	unsigned bits;
	const char *text;
	long long number;
	int error; /* of that */
	unsigned long long magnitude;
	int magnitude_error;
} limits[] = {
	{ 32, "2147483647", INT32_MAX, 0, INT32_MAX, 0 },
	{ 32, "2147483648", INT32_MAX, ERANGE, 0x80000000, 0 },
	{ 32, "-2147483648", INT32_MIN, 0, 0x80000000, 0 },
	{ 32, "-2147483649", INT32_MIN, ERANGE, INT32_MAX, 0 },
	{ 32, "4294967295", INT32_MAX, ERANGE, UINT32_MAX, 0 },
	{ 32, "4294967296", INT32_MAX, ERANGE, UINT32_MAX, ERANGE },
	{ 32, "-4294967295", INT32_MIN, ERANGE, 1, 0 },
	{ 32, "-4294967296", INT32_MIN, ERANGE, UINT32_MAX, ERANGE },
	{ 64, "9223372036854775806", INT64_MAX - 1, 0, INT64_MAX - 1, 0 },
	{ 64, "9223372036854775807", INT64_MAX, 0, INT64_MAX, 0 },
	{ 64, "9223372036854775808", INT64_MAX, ERANGE, UINT64_C(1) << 63, 0 },
	{ 64, "-9223372036854775808", INT64_MIN, 0, UINT64_C(1) << 63, 0 },
	{ 64, "-9223372036854775809", INT64_MIN, ERANGE, INT64_MAX, 0 },
	{ 64, "18446744073709551615", INT64_MAX, ERANGE, UINT64_MAX, 0 },
	{ 64, "18446744073709551616", INT64_MAX, ERANGE, UINT64_MAX, ERANGE },
	{ 64, "-18446744073709551615", INT64_MIN, ERANGE, 1, 0 },
	{ 64, "-18446744073709551616", INT64_MIN, ERANGE, UINT64_MAX, ERANGE },
};

#define IS(function, row, right, right_error)                                           \
	do {                                                                            \
		char *end;                                                              \
		errno = 0;                                                              \
		assert_true(function(limits[row].text, &end, 10) == limits[row].right); \
		assert_int_equal(errno, limits[row].right_error);                       \
		assert_int_equal(*end, '\0');                                           \
	} while (0)

static void numbers_at_limits(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
		if (limits[i].bits == 8 * sizeof(long)) {
			IS(strtol, i, number, error);
			IS(small_strtol, i, number, error);
			IS(strtoul, i, magnitude, magnitude_error);
			IS(small_strtoul, i, magnitude, magnitude_error);
		}
		if (limits[i].bits == 8 * sizeof(long long)) {
			IS(strtoll, i, number, error);
			IS(small_strtoll, i, number, error);
			IS(strtoull, i, magnitude, magnitude_error);
			IS(small_strtoull, i, magnitude, magnitude_error);
		}
	}
}

static int by_byte(const void *a, const void *b)
{
	return *(const unsigned char *)a - *(const unsigned char *)b;
}

static void sorted_bytes(void **state)
{
	static const struct {
		const char *from, *to;
	} texts[] = {
		{ "", "" },	    { "a", "a" },
		{ "ba", "ab" },	    { "\xff\x01\x7f\x80", "\x01\x7f\x80\xff" },
		{ "dcba", "abcd" }, { "sphinx of black quartz", "   aabcfhiklnopqrstuxz" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
		char text[40];

		strcpy(text, texts[i].from);
		qsort(text, strlen(text), 1, by_byte);
		assert_string_equal(text, texts[i].to);
		strcpy(text, texts[i].from);
		small_qsort(text, strlen(text), 1, by_byte);
		assert_string_equal(text, texts[i].to);
	}
}

static void found(void **state)
{
	static const char nul[] = "a\0b";
	static const struct {
		const char *in, *what;
		int at;
	} texts[] = {
		{ "", "", 0 },	     { "", "a", -1 },	      { "abc", "", 0 },
		{ "abc", "abc", 0 }, { "abc", "abcd", -1 },   { "abc", "c", 2 },
		{ "aab", "ab", 1 },  { "ababac", "abac", 2 }, { "abab", "ba\xff", -1 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char *in = texts[i].in, *what = texts[i].what;
		const char *at = texts[i].at < 0 ? NULL : in + texts[i].at;

		assert_ptr_equal(strstr(in, what), at);
		assert_ptr_equal(small_strstr(in, what), at);
		assert_ptr_equal(memmem(in, strlen(in), what, strlen(what)), at);
		assert_ptr_equal(small_memmem(in, strlen(in), what, strlen(what)), at);
	}
	assert_ptr_equal(memmem(nul, 3, "\0b", 2), nul + 1);
	assert_ptr_equal(small_memmem(nul, 3, "\0b", 2), nul + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(search),
		cmocka_unit_test(sort),
		cmocka_unit_test(sort_costs),
		cmocka_unit_test(lines),
		cmocka_unit_test(numbers),
		cmocka_unit_test(numbers_errno),
		cmocka_unit_test(line_cut),
		cmocka_unit_test(numbers_at_limits),
		cmocka_unit_test(sorted_bytes),
		cmocka_unit_test(found),
		cmocka_unit_test(line_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
