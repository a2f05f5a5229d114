/*
 * An access control list as it lies in memory, for the files that read it (acl_read.c), find names
 * in it (acl_names.c, acl_match.c) and addresses (acl_nets.c), and decide (acl.c). [no I/O]
 */
#ifndef NET_ACL_RULES_H
#define NET_ACL_RULES_H

#include "net/acl.h"
#include "net/acl_pattern.h"

enum { ACL_BLACK, ACL_WHITE, ACL_BLOCK, ACL_PASS, ACL_LISTS }; /* PASS: outbound_allow_list */

/* A rule for names: its literal must occur; then begin and end, or a program, decide. */
struct acl_rule {
	uint32_t line;
	uint32_t literal; /* offset into literals */
	uint32_t program; /* offset into code, or ACL_NONE: the literal is all there is */
	uint32_t next;	  /* of those with the same gram, ACL_NONE after the last */
	uint32_t tried;	  /* the look-up in which the program ran */
	uint16_t size;	  /* of the program */
	uint16_t gram;	  /* offset in the literal of what the index looks for */
	uint8_t n;	  /* of the literal */
	uint8_t list : 4, begin : 2, end : 1; /* begin: enum acl_begin */
};

/* A network. Sorted; an address is in the last one that begins at or before it, or in one of those
 * around that one. */
struct acl_net {
	struct address base;
	uint8_t bits, list;
	uint32_t line;
	uint32_t around; /* the smallest network that holds this one, or ACL_NONE */
};

enum { ACL_GRAM = 4 };
#define ACL_NONE UINT32_MAX

/* What is written while names are looked up. */
struct acl_scratch {
	uint32_t look_up; /* counts them */
	uint16_t *room;	  /* four times the largest program */
};

struct acl {
	struct acl_rule *rules;
	struct acl_net *nets;
	char *literals;
	struct acl_code *code;
	uint32_t *heads; /* the index: chains of rules, by the hash of a gram */
	struct acl_scratch *scratch;
	uint32_t rule_count, net_count, literal_size, code_size;
	uint32_t no_literal; /* chain of the rules that have none */
	uint8_t shift;	     /* of the hash, for the number of heads */
	uint8_t gram_sizes;  /* a bit for each length of grams */
	uint8_t net_lists;   /* a bit for each list that has networks */
	bool white_mode, block_all, no_bytes;
	unsigned patterns, inactive;
};

/* What was found in each list: the line of a rule, or 0. */
struct acl_hits {
	uint32_t line[ACL_LISTS];
};

/* Build the index. 0, or -1: no memory. */
int acl_names_index(struct acl *acl);

/* The first rule of each list in `lists` (bits) that the name matches. `name` is in lower case and
 * has ACL_GRAM zeros behind it. */
void acl_names_find(const struct acl *acl, const char *name, size_t n, unsigned lists,
		    struct acl_hits *hits);

/* Sort the networks and find what is around each. */
void acl_nets_sort(struct acl *acl);

/* The smallest network of each list in `lists` that the address is in; what *hits has stays. */
void acl_nets_find(const struct acl *acl, const struct address *address, unsigned lists,
		   struct acl_hits *hits);

#endif
