/*
 * Runs the program of a pattern. At each place in the name there is a list of the instructions that
 * some way through the program has reached; those that take no byte add to the list they are in,
 * those that take one add to the list of the next place. No instruction enters a list twice.
 */
#include "net/acl_pattern.h"

#include <string.h>

struct list {
	uint16_t *at;	/* instructions, in the order they were reached */
	uint16_t *seen; /* by instruction: the place (+ 1) at which it was last reached */
	size_t count;
};

static void reach(struct list *list, size_t place, size_t instruction)
{
	if (list->seen[instruction] == place + 1)
		return;
	list->seen[instruction] = (uint16_t)(place + 1);
	list->at[list->count++] = (uint16_t)instruction;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool at_edge(const char *name, size_t n, size_t place)
{
	return (place > 0 && is_word(name[place - 1])) != (place < n && is_word(name[place]));
}

/* Whether an instruction that takes a byte takes this one; the instruction behind it, or 0. */
static size_t take(const struct acl_code *code, size_t i, unsigned char c)
{
	const unsigned char *set = (const unsigned char *)(code + i + 1);

	if (code[i].op == ACL_OP_SET)
		return set[c >> 3] >> (c & 7) & 1 ? i + 1 + ACL_SET : 0;
	return code[i].op == ACL_OP_ANY || code[i].arg == c ? i + 1 : 0;
}

/* Whether an instruction that takes no byte lets pass. */
static bool passes(const struct acl_code *code, const char *name, size_t n, size_t place)
{
	switch (code->op) {
	case ACL_OP_SPLIT:
		return true;
	case ACL_OP_BEGIN:
		return place == 0;
	case ACL_OP_END:
		return place == n;
	case ACL_OP_WORD:
		return at_edge(name, n, place) == code->arg;
	default:
		return false;
	}
}

/* True once the program has matched. */
static bool step(const struct acl_code *code, const char *name, size_t n, size_t place,
		 struct list *here, struct list *next)
{
	for (size_t k = 0; k < here->count; k++) {
		size_t i = here->at[k];

		if (code[i].op == ACL_OP_MATCH)
			return true;
		if (code[i].op >= ACL_OP_SPLIT) {
			if (code[i].op <= ACL_OP_JUMP)
				reach(here, place, i + (size_t)code[i].jump);
			if (passes(&code[i], name, n, place))
				reach(here, place, i + 1);
		} else if (place < n) {
			size_t to = take(code, i, (unsigned char)name[place]);
			if (to > 0)
				reach(next, place + 1, to);
		}
	}
	return false;
}

bool acl_pattern_match(const struct acl_code *code, size_t size, const char *name, size_t n,
		       uint16_t *room)
{
	struct list lists[2] = { { .at = room, .seen = room + size },
				 { .at = room + 2 * size, .seen = room + 3 * size } };

	memset(lists[0].seen, 0, size * sizeof(*room));
	memset(lists[1].seen, 0, size * sizeof(*room));
	for (size_t place = 0; place <= n; place++) {
		struct list *here = &lists[place & 1], *next = &lists[~place & 1];

		next->count = 0;
		reach(here, place, 0);
		if (step(code, name, n, place, here, next))
			return true;
	}
	return false;
}
