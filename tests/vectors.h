/*
 * Test vectors from files of JSON beside the repository: ../shared, or $SS_SHARED. A test whose
 * file is missing says so and is skipped; every such test has a sibling with vectors of its own.
 */
#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include "tests/unit.h"

#include "core/json.h"

/* Read a file of vectors, or skip the test that asks. json_free() when done. */
static inline void vectors_load(struct json_document *document, const char *file)
{
	const char *shared = getenv("SS_SHARED");
	struct json_error error;
	char path[512];
	FILE *in;
	char *text;
	size_t n;

	snprintf(path, sizeof path, "%s/%s", shared ? shared : "../shared", file);
	in = fopen(path, "r");
	if (!in) {
		print_message("skipped, no vectors at %s: set SS_SHARED\n", path);
		skip();
	}
	text = malloc(1 << 20);
	assert_non_null(text);
	n = fread(text, 1, 1 << 20, in);
	assert_true(n > 0 && n < 1 << 20);
	fclose(in);
	if (json_parse(document, text, n, &error) < 0)
		fail_msg("%s:%u:%u: %s", path, error.line, error.column, error.text);
	free(text);
}

static inline const struct json *vectors_member(const struct json *object, const char *name)
{
	const struct json *member = json_member(object, name);

	if (!member)
		fail_msg("no member \"%s\"", name);
	return member;
}

static inline const char *vectors_text(const struct json *object, const char *name)
{
	return vectors_member(object, name)->text;
}

static inline size_t vectors_integer(const struct json *object, const char *name)
{
	int64_t value = -1;

	assert_int_equal(json_integer(vectors_member(object, name), &value), 0);
	assert_true(value >= 0);
	return (size_t)value;
}

/* Bytes from hex; how many. */
static inline size_t hex(const char *text, unsigned char *to, size_t size)
{
	size_t n = strlen(text) / 2;

	assert_true(strlen(text) % 2 == 0 && n <= size);
	for (size_t i = 0; i < n; i++) {
		char digits[3] = { text[2 * i], text[2 * i + 1], 0 };
		char *end;

		to[i] = (unsigned char)strtoul(digits, &end, 16);
		assert_true(*end == 0);
	}
	return n;
}

static inline size_t vectors_hex(const struct json *object, const char *name, unsigned char *to,
				 size_t size)
{
	return hex(vectors_text(object, name), to, size);
}

#endif
