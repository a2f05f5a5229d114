/* See acl_program.h. */
#include "net/acl_program.h"

#include <string.h>

int acl_program_fail(struct acl_pattern *to, const char *why)
{
	if (to->why == NULL)
		to->why = why;
	return -1;
}

void acl_program_emit(struct acl_pattern *to, enum acl_op op, unsigned arg, int jump)
{
	if (to->size == ACL_PROGRAM_MAX)
		acl_program_fail(to, "it is too large");
	else
		to->code[to->size++] =
			(struct acl_code){ (uint8_t)op, (uint8_t)arg, (int16_t)jump };
}

void acl_program_emit_set(struct acl_pattern *to, const unsigned char set[32])
{
	acl_program_emit(to, ACL_OP_SET, 0, 0);
	if (to->size + ACL_SET > ACL_PROGRAM_MAX) {
		acl_program_fail(to, "it is too large");
		return;
	}
	memcpy(&to->code[to->size], set, 32);
	to->size += ACL_SET;
}

/* Append what stands at [from, from + n). */
static void append(struct acl_pattern *to, unsigned from, unsigned n)
{
	if (to->size + n > ACL_PROGRAM_MAX) {
		acl_program_fail(to, "it is too large");
		return;
	}
	memmove(&to->code[to->size], &to->code[from], n * sizeof(struct acl_code));
	to->size += n;
}

void acl_program_split(struct acl_pattern *to, unsigned at, unsigned behind)
{
	struct acl_code *code = to->code;
	unsigned n = to->size - at;

	acl_program_emit(to, ACL_OP_SPLIT, 0, 0);
	memmove(&code[at + 1], &code[at], n * sizeof(*code));
	code[at] = (struct acl_code){ ACL_OP_SPLIT, 0, (int16_t)(n + 1 + behind) };
}

void acl_program_repeat(struct acl_pattern *to, unsigned at, int min, int max)
{
	unsigned n = to->size - at;

	if (max == 0) {
		to->size = at;
		return;
	}
	for (int i = 1; i < min && to->why == NULL; i++)
		append(to, at, n);
	if (max == ACL_ENDLESS && min > 0)
		acl_program_emit(to, ACL_OP_SPLIT, 0, -(int)n);
	if (max == ACL_ENDLESS && min == 0) {
		acl_program_split(to, at, 1);
		acl_program_emit(to, ACL_OP_JUMP, 0, -(int)(n + 1));
	}
	if (max == ACL_ENDLESS)
		return;
	/* x{1,3} is x(x(x)?)?: each split goes to the end, which is known now */
	unsigned more = (unsigned)(max - (min > 0 ? min : 1));
	if (more > ACL_PROGRAM_MAX / (n + 1)) {
		acl_program_fail(to, "it is too large");
		return;
	}
	if (min == 0)
		acl_program_split(to, at++, more * (n + 1));
	for (; more > 0 && to->why == NULL; more--) {
		acl_program_emit(to, ACL_OP_SPLIT, 0, (int)(more * (n + 1)));
		append(to, at, n);
	}
}
