/*
 * Regular expressions over names, of the kind that access control lists hold (PCRE's syntax and
 * meaning, less what needs backtracking). Each is compiled into a little program that is run for
 * all ways through it at once: the time is bounded by the length of name and program, whatever they
 * are, and nothing is allocated. Names and patterns are compared without case. [no I/O]
 */
#ifndef NET_ACL_PATTERN_H
#define NET_ACL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ACL_PROGRAM_MAX = 16384, /* instructions */
	ACL_LITERAL_MAX = 255
};

enum acl_op {
	ACL_OP_MATCH,
	ACL_OP_CHAR,  /* a byte equal to arg */
	ACL_OP_ANY,   /* a byte */
	ACL_OP_SET,   /* a byte of the set whose bits are in the ACL_SET instructions behind */
	ACL_OP_SPLIT, /* here on, and at jump */
	ACL_OP_JUMP,
	ACL_OP_BEGIN, /* the name begins here */
	ACL_OP_END,
	ACL_OP_WORD /* a word begins or ends here, if arg; or none does */
};

struct acl_code {
	uint8_t op, arg;
	int16_t jump; /* relative to this instruction, so that code can be moved and copied */
};

enum { ACL_SET = 32 / sizeof(struct acl_code) };

enum acl_begin { ACL_ANYWHERE, ACL_BEGIN, ACL_LABEL }; /* LABEL: ^ or behind a dot */

struct acl_pattern {
	/* Bytes in lower case that every name which matches has in a row; n may be 0. */
	char literal[ACL_LITERAL_MAX];
	uint8_t n;
	/* The pattern is no more than that literal, from `begin` on, up to the end of the name
	 * if `end`. */
	bool plain, end;
	bool foreign; /* it asks for a character that is in no name */
	uint8_t begin;
	uint32_t size; /* of code */
	const char *why;
	struct acl_code code[ACL_PROGRAM_MAX + 1];
};

/* 0, or -1 with why: a few words for "cannot use the pattern: ...". */
int acl_pattern_read(struct acl_pattern *pattern, const char *text, size_t n);

/* Whether the name, in lower case, matches. `room` has 4 * size elements. */
bool acl_pattern_match(const struct acl_code *code, size_t size, const char *name, size_t n,
		       uint16_t *room);

#endif
