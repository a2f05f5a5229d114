/*
 * Names. Each rule has a literal that must occur in the name, and of that literal the four bytes
 * in a row that fewest other literals have: its gram (all of a literal that is shorter). The index
 * finds, at each place in the name, the rules whose gram is there, and each of these is looked at.
 */
#include "net/acl_rules.h"

#include "core/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { COUNTERS_BITS = 16, HEADS_BITS_MIN = 4 };

static uint32_t hash(uint32_t gram, unsigned shift)
{
	return gram * 2654435769U >> shift;
}

/* The bytes of a gram as a number. */
static uint32_t gram_of(const char *at, size_t n)
{
	unsigned char bytes[ACL_GRAM] = { 0 };

	memcpy(bytes, at, n < ACL_GRAM ? n : ACL_GRAM);
	return get_u32le(bytes);
}

/* Count how often each gram occurs in all literals. */
static void count_grams(const struct acl *acl, uint16_t *counters)
{
	for (uint32_t i = 0; i < acl->rule_count; i++) {
		const struct acl_rule *rule = &acl->rules[i];
		const char *literal = acl->literals + rule->literal;

		for (unsigned at = 0; at + ACL_GRAM <= rule->n; at++) {
			uint16_t *counter = &counters[hash(gram_of(literal + at, ACL_GRAM),
							   32 - COUNTERS_BITS)];
			*counter = (uint16_t)(*counter + (*counter < UINT16_MAX));
		}
	}
}

static void choose_gram(const struct acl *acl, struct acl_rule *rule, const uint16_t *counters)
{
	const char *literal = acl->literals + rule->literal;
	unsigned least = UINT16_MAX + 1;

	for (unsigned at = 0; at + ACL_GRAM <= rule->n; at++) {
		unsigned count =
			counters[hash(gram_of(literal + at, ACL_GRAM), 32 - COUNTERS_BITS)];

		if (count < least) {
			least = count;
			rule->gram = (uint16_t)at;
		}
	}
}

static void enter(struct acl *acl, uint32_t i)
{
	struct acl_rule *rule = &acl->rules[i];
	uint32_t *head = &acl->no_literal;
	unsigned size = rule->n < ACL_GRAM ? rule->n : ACL_GRAM;

	if (size > 0) {
		const char *gram = acl->literals + rule->literal + rule->gram;
		head = &acl->heads[hash(gram_of(gram, size), acl->shift)];
		acl->gram_sizes |= (uint8_t)(1U << size);
	}
	rule->next = *head;
	*head = i;
}

int acl_names_index(struct acl *acl)
{
	uint16_t *counters = calloc(1U << COUNTERS_BITS, sizeof(*counters));
	unsigned bits = HEADS_BITS_MIN;

	while (bits < 24 && 1U << bits < acl->rule_count * 2)
		bits++;
	acl->shift = (uint8_t)(32 - bits);
	acl->heads = malloc(sizeof(*acl->heads) << bits);
	if (counters == NULL || acl->heads == NULL) {
		free(counters);
		return -1;
	}
	memset(acl->heads, 0xff, sizeof(*acl->heads) << bits);
	acl->no_literal = ACL_NONE;
	count_grams(acl, counters);
	for (uint32_t i = acl->rule_count; i-- > 0;) {
		choose_gram(acl, &acl->rules[i], counters);
		enter(acl, i);
	}
	free(counters);
	return 0;
}

/* A look-up. */
struct look {
	const struct acl *acl;
	const char *name;
	size_t n;
	unsigned lists;
	struct acl_hits *hits;
};

static bool run(const struct look *look, struct acl_rule *rule)
{
	const struct acl *acl = look->acl;
	const struct acl_code *code = acl->code + rule->program;

	if (rule->tried == acl->scratch->look_up)
		return false;
	rule->tried = acl->scratch->look_up;
	return acl_pattern_match(code, rule->size, look->name, look->n, acl->scratch->room);
}

/* Whether the rule, whose gram is at `place`, matches. */
static bool matches(const struct look *look, struct acl_rule *rule, size_t place)
{
	size_t begin = place - rule->gram, n = look->n;

	if (place < rule->gram || n - begin < rule->n)
		return false;
	if (memcmp(look->name + begin, look->acl->literals + rule->literal, rule->n) != 0)
		return false;
	if (rule->program != ACL_NONE)
		return run(look, rule);
	if (rule->end && begin + rule->n != n)
		return false;
	return begin == 0 || rule->begin == ACL_ANYWHERE ||
	       (rule->begin == ACL_LABEL && look->name[begin - 1] == '.');
}

static void try_chain(const struct look *look, uint32_t first, size_t place)
{
	for (uint32_t i = first; i != ACL_NONE; i = look->acl->rules[i].next) {
		struct acl_rule *rule = &look->acl->rules[i];
		uint32_t *line = &look->hits->line[rule->list];

		if (look->lists >> rule->list & 1 && (*line == 0 || rule->line < *line) &&
		    matches(look, rule, place))
			*line = rule->line;
	}
}

/* In every look-up a program runs once at most; after 2^32 of them the count begins anew. */
static void count_look_up(const struct acl *acl)
{
	if (++acl->scratch->look_up > 0)
		return;
	for (uint32_t i = 0; i < acl->rule_count; i++)
		acl->rules[i].tried = 0;
	acl->scratch->look_up = 1;
}

void acl_names_find(const struct acl *acl, const char *name, size_t n, unsigned lists,
		    struct acl_hits *hits)
{
	const struct look look = { acl, name, n, lists, hits };

	count_look_up(acl);
	for (size_t place = 0; place < n; place++) {
		uint32_t four = get_u32le((const unsigned char *)name + place);
		for (unsigned size = 1; size <= ACL_GRAM; size++)
			if (acl->gram_sizes >> size & 1) {
				uint32_t gram = four & UINT32_MAX >> (32 - 8 * size);
				try_chain(&look, acl->heads[hash(gram, acl->shift)], place);
			}
	}
	try_chain(&look, acl->no_literal, 0);
}
