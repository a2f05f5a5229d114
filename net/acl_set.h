/*
 * Sets of bytes, a bit for each, as patterns have them in brackets. For acl_pattern.c. [no I/O]
 */
#ifndef NET_ACL_SET_H
#define NET_ACL_SET_H

#include <stdbool.h>
#include <stddef.h>

void acl_set_add(unsigned char set[32], unsigned from, unsigned to);
void acl_set_flip(unsigned char set[32]);

/* Names are in lower case: a set with 'X' takes 'x'. */
void acl_set_fold(unsigned char set[32]);

/* Add \d \w \s or, for all else, \D \W \S. False: the letter is none of these. */
bool acl_set_add_escape(unsigned char set[32], char letter);

/* Add the class that name[0..n) begins with ("alpha", "digit", ...): the length of its name, or 0:
 * there is none. */
size_t acl_set_add_class(unsigned char set[32], const char *name, size_t n);

#endif
