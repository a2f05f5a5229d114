/*
 * The JSON reader: one loop over the text, with the open containers on a small stack of its own, so
 * that neither nesting nor size can exhaust the C stack. Nodes come from chunks that are freed as a
 * whole; names, strings and numbers are decoded into one copy that is never longer than the text.
 * Called for configuration files, and for what is said to a running program.
 */
#include "core/json.h"

#include "core/text.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_PER_CHUNK = 128, TEXT_MAX = 1 << 30 };

struct json_nodes {
	struct json_nodes *older;
	size_t used;
	struct json nodes[NODES_PER_CHUNK];
};

struct level {
	struct json *container;
	struct json *last; /* child, or NULL */
};

struct reader {
	const unsigned char *p, *end;
	const unsigned char *counted; /* line and column are those of this place */
	unsigned line, column;
	char *out; /* next free byte of document->text */
	struct json_document *document;
	struct json_error *error;
	struct level open[JSON_DEPTH];
	unsigned depth;
};

/* Bring line and column up to the place `to`, which never lies before the last one asked for. */
static void locate(struct reader *r, const unsigned char *to)
{
	for (; r->counted < to; r->counted++) {
		if (*r->counted == '\n') {
			r->line++;
			r->column = 1;
		} else if ((*r->counted & 0xc0) != 0x80) {
			r->column++;
		}
	}
}

__attribute__((format(printf, 2, 3))) static int fail(struct reader *r, const char *format, ...)
{
	struct json_error *error = r->error;
	va_list args;

	locate(r, r->p);
	error->line = r->line;
	error->column = r->column;
	va_start(args, format);
	vsnprintf(error->text, sizeof error->text, format, args);
	va_end(args);
	return -1;
}

static int expected(struct reader *r, const char *what)
{
	return fail(r, r->p == r->end ? "expected %s, but the text ends here" : "expected %s",
		    what);
}

static bool at(const struct reader *r, char c)
{
	return r->p < r->end && *r->p == (unsigned char)c;
}

static bool take(struct reader *r, char c)
{
	if (!at(r, c))
		return false;
	r->p++;
	return true;
}

static bool digit(const struct reader *r)
{
	return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

/* Past a comment, whose slash is at r->p. */
static int comment(struct reader *r)
{
	const unsigned char *close;

	if (r->end - r->p < 2 || (r->p[1] != '/' && r->p[1] != '*'))
		return expected(r, "a comment ('//' or '/*') after '/'");
	if (r->p[1] == '/') {
		close = memchr(r->p, '\n', (size_t)(r->end - r->p));
		r->p = close ? close : r->end;
		return 0;
	}
	close = memmem(r->p + 2, (size_t)(r->end - r->p - 2), "*/", 2);
	if (!close)
		return fail(r, "this comment has no '*/'");
	r->p = close + 2;
	return 0;
}

/* Past white space and comments. */
static int space(struct reader *r)
{
	for (;;) {
		while (at(r, ' ') || at(r, '\n') || at(r, '\r') || at(r, '\t'))
			r->p++;
		if (!at(r, '/'))
			return 0;
		if (comment(r) < 0)
			return -1;
	}
}

static char *utf8_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*to++ = (char)(0xe0 | c >> 12);
		} else {
			*to++ = (char)(0xf0 | c >> 18);
			*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

/* The four digits behind \u. */
static int hex4(struct reader *r, uint32_t *c)
{
	*c = 0;
	for (int i = 0; i < 4; i++, r->p++) {
		int x = r->p < r->end ? text_hex((char)*r->p) : -1;

		if (x < 0)
			return expected(r, "four hexadecimal digits after '\\u'");
		*c = *c << 4 | (uint32_t)x;
	}
	return 0;
}

static int unicode_escape(struct reader *r)
{
	uint32_t c, low;

	if (hex4(r, &c) < 0)
		return -1;
	if (c >= 0xdc00 && c <= 0xdfff)
		return fail(r, "the second half of a surrogate pair has no first half");
	if (c >= 0xd800 && c <= 0xdbff) {
		if (!take(r, '\\') || !take(r, 'u'))
			return expected(r, "the second half of a surrogate pair");
		if (hex4(r, &low) < 0)
			return -1;
		if (low < 0xdc00 || low > 0xdfff)
			return fail(r, "this is not the second half of a surrogate pair");
		c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
	}
	r->out = utf8_put(r->out, c);
	return 0;
}

static int escape(struct reader *r)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (take(r, 'u'))
		return unicode_escape(r);
	found = r->p < r->end && *r->p ? strchr(from, *r->p) : NULL;
	if (!found)
		return expected(r, "one of \"\\/bfnrtu after a backslash");
	*r->out++ = to[found - from];
	r->p++;
	return 0;
}

/* The string whose quote is at r->p; *text gets a NUL behind it. */
static int string(struct reader *r, const char **text, uint32_t *len)
{
	const char *start = r->out;

	r->p++;
	while (!take(r, '"')) {
		size_t n;

		if (r->p == r->end || *r->p == '\n')
			return expected(r, "a closing '\"' before the end of the line");
		if (*r->p < 0x20)
			return fail(r, "a control character in a string must be written as \\u%04x",
				    *r->p);
		if (take(r, '\\')) {
			if (escape(r) < 0)
				return -1;
			continue;
		}
		n = text_utf8(r->p, (size_t)(r->end - r->p));
		if (!n)
			return fail(r, "this byte of a string (0x%02x) is not UTF-8", *r->p);
		memcpy(r->out, r->p, n);
		r->out += n;
		r->p += n;
	}
	*text = start;
	*len = (uint32_t)(r->out - start);
	*r->out++ = 0; /* in the room of the closing quote */
	return 0;
}

static int digits(struct reader *r, const char *what)
{
	if (!digit(r))
		return expected(r, what);
	while (digit(r))
		r->p++;
	return 0;
}

static int number(struct reader *r, struct json *node)
{
	const unsigned char *start = r->p;

	take(r, '-');
	if (take(r, '0')) {
		if (digit(r))
			return fail(r, "a number must not begin with 0");
	} else if (digits(r, "a digit after '-'") < 0) {
		return -1;
	}
	if (take(r, '.') && digits(r, "a digit after '.'") < 0)
		return -1;
	if (take(r, 'e') || take(r, 'E')) {
		if (!take(r, '+'))
			take(r, '-');
		if (digits(r, "a digit in the exponent") < 0)
			return -1;
	}
	node->type = JSON_NUMBER;
	node->len = (uint32_t)(r->p - start);
	node->text = memcpy(r->out, start, node->len);
	r->out += node->len;
	*r->out++ = 0; /* in the room of what must follow a number, or behind the whole text */
	return 0;
}

static int word(struct reader *r, struct json *node)
{
	static const struct {
		const char *text;
		uint8_t type;
	} words[] = { { "null", JSON_NULL }, { "false", JSON_FALSE }, { "true", JSON_TRUE } };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		size_t n = strlen(words[i].text);

		if ((size_t)(r->end - r->p) >= n && !memcmp(r->p, words[i].text, n)) {
			r->p += n;
			node->type = words[i].type;
			return 0;
		}
	}
	return expected(r, "a value (text needs double quotes)");
}

static int container(struct reader *r, struct json *node)
{
	if (r->depth == JSON_DEPTH)
		return fail(r, "nested deeper than %d", JSON_DEPTH);
	node->type = at(r, '{') ? JSON_OBJECT : JSON_ARRAY;
	r->open[r->depth++] = (struct level){ .container = node };
	r->p++;
	return 0;
}

/* The value at r->p. A container is only opened: its members are read by step(). */
static int value(struct reader *r, struct json *node)
{
	if (at(r, '"')) {
		node->type = JSON_STRING;
		return string(r, &node->text, &node->len);
	}
	if (at(r, '{') || at(r, '['))
		return container(r, node);
	if (at(r, '-') || digit(r))
		return number(r, node);
	return word(r, node);
}

/* A new node that stands at r->p. */
static struct json *node_new(struct reader *r)
{
	struct json_nodes *nodes = r->document->nodes;
	struct json *node;

	if (!nodes || nodes->used == NODES_PER_CHUNK) {
		nodes = malloc(sizeof *nodes);
		if (!nodes) {
			fail(r, "no memory for a text with so many values");
			return NULL;
		}
		nodes->older = r->document->nodes;
		nodes->used = 0;
		r->document->nodes = nodes;
	}
	locate(r, r->p);
	node = &nodes->nodes[nodes->used++];
	*node = (struct json){ .line = r->line, .column = r->column };
	return node;
}

static int name(struct reader *r, struct json *node, bool first)
{
	if (!at(r, '"'))
		return expected(r, first ? "a name in double quotes or '}'"
					 : "a name in double quotes");
	if (string(r, &node->name, &node->name_len) < 0 || space(r) < 0)
		return -1;
	if (!take(r, ':'))
		return expected(r, "':' after a name");
	return space(r);
}

/* In the innermost open container: close it, or read its next member. */
static int step(struct reader *r)
{
	struct level *level = &r->open[r->depth - 1];
	bool object = level->container->type == JSON_OBJECT;
	char closer = object ? '}' : ']';
	struct json *node;

	if (space(r) < 0)
		return -1;
	if (level->last && !at(r, closer)) {
		if (!take(r, ','))
			return expected(r, object ? "',' or '}' after a value"
						  : "',' or ']' after a value");
		if (space(r) < 0)
			return -1;
	}
	if (take(r, closer)) {
		r->depth--;
		return 0;
	}
	node = node_new(r);
	if (!node || (object && name(r, node, !level->last) < 0))
		return -1;
	*(level->last ? &level->last->next : &level->container->first) = node;
	level->last = node;
	return value(r, node);
}

static int document(struct reader *r)
{
	if (r->end - r->p >= 3 && !memcmp(r->p, "\xef\xbb\xbf", 3))
		r->counted = r->p += 3;
	if (space(r) < 0)
		return -1;
	r->document->root = node_new(r);
	if (!r->document->root || value(r, r->document->root) < 0)
		return -1;
	while (r->depth) {
		if (step(r) < 0)
			return -1;
	}
	if (space(r) < 0)
		return -1;
	return r->p == r->end ? 0 : expected(r, "nothing more after the value");
}

int json_parse(struct json_document *doc, const char *text, size_t n, struct json_error *error)
{
	struct reader r = {
		.p = (const unsigned char *)text,
		.counted = (const unsigned char *)text,
		.line = 1,
		.column = 1,
		.document = doc,
		.error = error,
	};

	*doc = (struct json_document){ 0 };
	r.end = r.p + n;
	if (n > TEXT_MAX)
		return fail(&r, "the text is too large");
	doc->text_size = n + 1;
	doc->text = r.out = malloc(doc->text_size);
	if (!doc->text)
		return fail(&r, "no memory for the text");
	if (document(&r) < 0) {
		json_free(doc);
		return -1;
	}
	return 0;
}

void json_free(struct json_document *doc)
{
	while (doc->nodes) {
		struct json_nodes *older = doc->nodes->older;

		free(doc->nodes);
		doc->nodes = older;
	}
	if (doc->text)
		sodium_memzero(doc->text, doc->text_size);
	free(doc->text);
	*doc = (struct json_document){ 0 };
}
