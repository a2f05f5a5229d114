/*
 * Text as a string of JSON, for what is written: reports, answers, links.
 */
#include "core/json.h"

#include "core/text.h"

#include <stdio.h>
#include <string.h>

/* How the character of n bytes at p (0: a byte that is not UTF-8) is written in a string; the
 * length. */
static size_t quoted(char to[8], const unsigned char *p, size_t n)
{
	static const char from[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *found = *p ? strchr(from, *p) : NULL;

	if (!n)
		return (size_t)snprintf(to, 8, "\\ufffd");
	if (found)
		return (size_t)snprintf(to, 8, "\\%c", letters[found - from]);
	if (*p < 0x20 || *p == 0x7f)
		return (size_t)snprintf(to, 8, "\\u%04x", *p);
	memcpy(to, p, n);
	return n;
}

struct quote {
	char *to;
	size_t size, kept, length;
};

/* Append; once something did not fit, nothing more is kept. */
static void put(struct quote *q, const char *piece, size_t n)
{
	if (q->kept == q->length && q->length + n < q->size) {
		memcpy(q->to + q->kept, piece, n);
		q->kept += n;
	}
	q->length += n;
}

size_t json_quote(char *to, size_t size, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + n;
	struct quote q = { .to = to, .size = size };

	put(&q, "\"", 1);
	while (p < end) {
		size_t used = text_utf8(p, (size_t)(end - p));
		char piece[8];

		put(&q, piece, quoted(piece, p, used));
		p += used ? used : 1;
	}
	put(&q, "\"", 1);
	if (size)
		to[q.kept] = 0;
	return q.length;
}
