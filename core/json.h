/*
 * JSON (RFC 8259), read into a tree at start-up and written piece by piece. Users' files have a
 * little more than the standard, so a trailing comma, comments of both kinds and a byte order mark
 * are accepted too; nothing else is. Every node knows where it stood, for messages. No I/O, no
 * recursion, no floating point.
 */
#ifndef CORE_JSON_H
#define CORE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_DEPTH = 64 }; /* containers inside each other; deeper is an error */

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

struct json {
	struct json *next;  /* the next child of the same array or object */
	struct json *first; /* children, in the order of the text */
	const char *name;   /* of a member of an object: UTF-8 with a NUL behind it; else NULL */
	const char *text;   /* of strings (UTF-8) and numbers (as written), with a NUL behind it */
	uint32_t name_len;
	uint32_t len;	       /* bytes of text; a string may have NULs inside */
	uint32_t line, column; /* of the name, or of a value without one; from 1, in characters */
	uint8_t type;	       /* enum json_type */
};

struct json_nodes;

struct json_document {
	struct json *root;
	struct json_nodes *nodes; /* the rest belongs to json.c */
	char *text;
	size_t text_size;
};

struct json_error {
	unsigned line, column;
	char text[120]; /* "expected ',' or '}' after a value" */
};

/* Read text[0..n): 0, or -1 with *error filled and *document empty. A name that appears twice is
 * kept twice, see json_member(). A lone half of a surrogate pair is an error. */
int json_parse(struct json_document *document, const char *text, size_t n,
	       struct json_error *error);

/* Wipe and free everything; an empty document is fine. */
void json_free(struct json_document *document);

/* The member of an object with this name, the last one if it appears several times; or NULL. */
const struct json *json_member(const struct json *object, const char *name);

/* True if a string has no NUL inside, so that its text is all of it. */
bool json_plain(const struct json *string);

/* 0 with the value of a number that is written as an integer (no fraction, no exponent) and fits;
 * else -1. */
int json_integer(const struct json *number, int64_t *value);

/* "a string", "an object", ...: for messages. */
const char *json_type_name(const struct json *node);

/* Write text[0..n) as a JSON string with its quotes to to[0..size), cut and terminated as
 * snprintf() does; the length it has uncut. Bytes that are not UTF-8 become U+FFFD. */
size_t json_quote(char *to, size_t size, const char *text, size_t n);

#endif
