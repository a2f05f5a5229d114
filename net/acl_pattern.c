/*
 * Compiles a pattern (acl_pattern.h) in one pass over its text: an item appends its code, and a
 * quantifier or an alternative moves and copies what was just appended. Along the way it notes the
 * longest literal that stands outside of all groups, and whether the pattern is no more than that.
 */
#include "net/acl_pattern.h"

#include "core/text.h"
#include "net/acl_program.h"
#include "net/acl_set.h"

#include <string.h>

enum { DEPTH_MAX = 100, NO_CHAR = -1, FAILED = -2 };

struct reader {
	struct acl_pattern *to;
	const char *at, *end;
	unsigned depth;
	unsigned run;	   /* bytes of the literal that ends where we are */
	bool started;	   /* an item was read */
	bool alternatives; /* outside of all groups */
	char literal[ACL_LITERAL_MAX];
};

static int fail(struct reader *r, const char *why)
{
	acl_program_fail(r->to, why);
	return FAILED;
}

static bool skip(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
		return false;
	r->at += n;
	return true;
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* What stands behind a backslash, if it is one byte. */
static int escaped_char(struct reader *r, char c)
{
	static const char letters[] = "tnrfae", bytes[] = "\t\n\r\f\a\x1b";
	const char *letter = strchr(letters, c);

	if (c == 'x' && r->end - r->at >= 2 && text_hex(r->at[0]) >= 0 && text_hex(r->at[1]) >= 0) {
		r->at += 2;
		return text_hex(r->at[-2]) << 4 | text_hex(r->at[-1]);
	}
	if (c != '\0' && letter != NULL)
		return bytes[letter - letters];
	if (c >= '0' && c <= '9')
		return fail(r, "it refers back to a group");
	if (is_alnum(c))
		return fail(r, "a backslash before this letter has no meaning here");
	return (unsigned char)c;
}

/* One member of a set: a byte, or NO_CHAR if several were added. */
static int set_member(struct reader *r, unsigned char *set)
{
	char c = *r->at++;

	if (c == '[' && skip(r, ":")) {
		size_t n = acl_set_add_class(set, r->at, (size_t)(r->end - r->at));
		if (n == 0)
			return fail(r, "there is no such class of characters");
		r->at += n;
		return skip(r, ":]") ? NO_CHAR : fail(r, "a [ is not closed");
	}
	if (c != '\\')
		return (unsigned char)c;
	if (r->at == r->end)
		return fail(r, "it ends in a backslash");
	c = *r->at++;
	if (acl_set_add_escape(set, c))
		return NO_CHAR;
	return c == 'b' ? '\b' : escaped_char(r, c);
}

static int read_set(struct reader *r)
{
	unsigned char set[32] = { 0 };
	bool negative = skip(r, "^");

	for (const char *first = r->at; r->at == r->end || *r->at != ']' || r->at == first;) {
		int from, to;

		if (r->at == r->end)
			return fail(r, "a [ is not closed");
		from = to = set_member(r, set);
		if (from >= 0 && r->end - r->at >= 2 && *r->at == '-' && r->at[1] != ']') {
			r->at++;
			to = set_member(r, set);
			if (to < from)
				return fail(r, "a range in [] has its ends the wrong way round");
		}
		if (r->to->why)
			return FAILED;
		if (from >= 0)
			acl_set_add(set, (unsigned)from, (unsigned)to);
	}
	r->at++;
	acl_set_fold(set);
	if (negative)
		acl_set_flip(set);
	acl_program_emit_set(r->to, set);
	return NO_CHAR;
}

static int read_escape(struct reader *r)
{
	unsigned char set[32] = { 0 };
	char c;

	if (r->at == r->end)
		return fail(r, "it ends in a backslash");
	c = *r->at++;
	if (acl_set_add_escape(set, c))
		acl_program_emit_set(r->to, set);
	else if (c == 'b' || c == 'B')
		acl_program_emit(r->to, ACL_OP_WORD, c == 'b', 0);
	else if (c == 'A')
		acl_program_emit(r->to, ACL_OP_BEGIN, 0, 0);
	else if (c == 'z' || c == 'Z')
		acl_program_emit(r->to, ACL_OP_END, 0, 0);
	else
		return escaped_char(r, c);
	return NO_CHAR;
}

static void read_alternatives(struct reader *r);

static int read_group(struct reader *r)
{
	if (skip(r, "?i)"))
		return NO_CHAR;
	if (!skip(r, "?:") && !skip(r, "?i:") && skip(r, "?"))
		return fail(r, "it has a (? other than (?: and (?i)");
	if (++r->depth > DEPTH_MAX)
		return fail(r, "its groups are too deep");
	read_alternatives(r);
	r->depth--;
	return skip(r, ")") ? NO_CHAR : fail(r, "a ( is not closed");
}

/* A number, at most what could ever fit; or -1. */
static int read_number(const char **at, const char *end)
{
	int n = -1;

	for (; *at < end && **at >= '0' && **at <= '9'; (*at)++)
		if (n <= ACL_PROGRAM_MAX)
			n = (n < 0 ? 0 : n) * 10 + **at - '0';
	return n;
}

/* {m}, {m,}, {m,n}; anything else that begins with { is text. */
static bool read_braces(struct reader *r, int *min, int *max)
{
	const char *at = r->at + 1;

	if (r->at == r->end || *r->at != '{')
		return false;
	*min = *max = read_number(&at, r->end);
	if (*min < 0)
		return false;
	if (at < r->end && *at == ',') {
		at++;
		*max = read_number(&at, r->end); /* none is -1: ACL_ENDLESS */
	}
	if (at == r->end || *at != '}')
		return false;
	r->at = at + 1;
	return true;
}

static bool read_quantifier(struct reader *r, int *min, int *max)
{
	*max = ACL_ENDLESS;
	if (skip(r, "*"))
		*min = 0;
	else if (skip(r, "+"))
		*min = 1;
	else if (skip(r, "?"))
		*max = 1 + (*min = 0);
	else if (!read_braces(r, min, max))
		return false;
	else if (*max >= 0 && *max < *min)
		fail(r, "its {} has its ends the wrong way round");
	/* greedy or not, the answer is the same */
	if (!skip(r, "?") && skip(r, "+"))
		fail(r, "it has a possessive quantifier");
	return true;
}

/* An item that is one byte: that byte, whose code is appended. */
static int read_item(struct reader *r)
{
	char c = *r->at++;
	int byte = (unsigned char)c, min, max;

	switch (c) {
	case '^':
		acl_program_emit(r->to, ACL_OP_BEGIN, 0, 0);
		return NO_CHAR;
	case '$':
		acl_program_emit(r->to, ACL_OP_END, 0, 0);
		return NO_CHAR;
	case '.':
		acl_program_emit(r->to, ACL_OP_ANY, 0, 0);
		return NO_CHAR;
	case '(':
		return read_group(r);
	case '[':
		return read_set(r);
	case '\\':
		byte = read_escape(r);
		break;
	default:
		r->at--;
		if (read_quantifier(r, &min, &max))
			return fail(r, "a quantifier has nothing to repeat");
		r->at++;
	}
	if (byte < 0)
		return byte;
	if (byte >= 'A' && byte <= 'Z')
		byte += 'a' - 'A';
	acl_program_emit(r->to, ACL_OP_CHAR, (unsigned)byte, 0);
	return byte;
}

/* The literal that ends here is over. */
static void end_run(struct reader *r)
{
	struct acl_pattern *to = r->to;

	if (r->run > to->n) {
		memcpy(to->literal, r->literal, r->run);
		to->n = (uint8_t)r->run;
	}
	r->run = 0;
}

/* Letters of other alphabets may be in names that nobody can resolve. */
static bool is_of_names(int byte)
{
	return byte >= 0x80 || is_alnum((char)byte) || byte == '.' || byte == '-' || byte == '_';
}

/* What an item outside of all groups means for the literal: `byte` is its only one, or NO_CHAR;
 * then `op` is its only instruction, if it has one. */
static void note(struct reader *r, int byte, enum acl_op op)
{
	struct acl_pattern *to = r->to;

	to->foreign |= byte >= 0 && !is_of_names(byte);
	if (byte >= 0 && r->run < ACL_LITERAL_MAX) {
		r->literal[r->run++] = (char)byte;
		to->plain &= !to->end;
		r->started = true;
		return;
	}
	end_run(r);
	if (op == ACL_OP_BEGIN && !r->started)
		to->begin = ACL_BEGIN;
	else if (op == ACL_OP_END)
		to->end = true;
	else
		to->plain = false;
	r->started = true;
}

/* (^|\.) before all else and once. */
static void read_label(struct reader *r)
{
	const char *at = r->at;
	int min, max;

	if (r->depth > 0 || r->started || (!skip(r, "(^|\\.)") && !skip(r, "(?:^|\\.)")))
		return;
	if (read_quantifier(r, &min, &max)) {
		r->at = at;
		return;
	}
	acl_program_emit(r->to, ACL_OP_SPLIT, 0, 3);
	acl_program_emit(r->to, ACL_OP_BEGIN, 0, 0);
	acl_program_emit(r->to, ACL_OP_JUMP, 0, 2);
	acl_program_emit(r->to, ACL_OP_CHAR, '.', 0);
	r->to->begin = ACL_LABEL;
	r->started = true;
}

static void read_sequence(struct reader *r)
{
	read_label(r);
	while (r->to->why == NULL && r->at < r->end && *r->at != '|' && *r->at != ')') {
		unsigned at = r->to->size;
		int byte = read_item(r), min, max;
		enum acl_op op = at + 1 == r->to->size ? r->to->code[at].op : ACL_OP_MATCH;

		if (byte == FAILED)
			return;
		if (read_quantifier(r, &min, &max)) {
			if (r->to->why == NULL)
				acl_program_repeat(r->to, at, min, max);
			byte = NO_CHAR;
			op = ACL_OP_MATCH;
		}
		if (r->depth == 0)
			note(r, byte, op);
	}
}

/* a|b|c is: split to a, or behind its jump to the end; and so on. */
static void read_alternatives(struct reader *r)
{
	struct acl_code *code = r->to->code;
	unsigned at = r->to->size;
	int last = -1; /* the jumps are chained until the end is known */

	for (;;) {
		read_sequence(r);
		bool more = skip(r, "|");
		r->alternatives |= r->depth == 0 && more;
		if (r->depth == 0 && r->alternatives && r->to->size == at)
			fail(r, "an alternative is empty: it would match every name");
		if (r->to->why || !more)
			break;
		acl_program_split(r->to, at, 1);
		acl_program_emit(r->to, ACL_OP_JUMP, 0, last);
		last = (int)r->to->size - 1;
		at = r->to->size;
	}
	while (last >= 0 && r->to->why == NULL) {
		int before = code[last].jump;
		code[last].jump = (int16_t)((int)r->to->size - last);
		last = before;
	}
}

int acl_pattern_read(struct acl_pattern *pattern, const char *text, size_t n)
{
	struct reader r = { .to = pattern, .at = text, .end = text + n };

	pattern->n = 0;
	pattern->plain = true;
	pattern->end = pattern->foreign = false;
	pattern->begin = ACL_ANYWHERE;
	pattern->size = 0;
	pattern->why = NULL;
	read_alternatives(&r);
	if (pattern->why == NULL && r.at < r.end)
		fail(&r, "a ) closes nothing");
	acl_program_emit(pattern, ACL_OP_MATCH, 0, 0);
	end_run(&r);
	if (r.alternatives) {
		pattern->n = 0;
		pattern->foreign = false;
	}
	pattern->plain &= pattern->n > 0;
	return pattern->why ? -1 : 0;
}
