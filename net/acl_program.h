/*
 * How the program of a pattern grows while the pattern is read: at its end, or by moving and
 * copying what was appended last. What does not fit is noted as the pattern's `why`, once, and
 * changes nothing else. For acl_pattern.c. [no I/O]
 */
#ifndef NET_ACL_PROGRAM_H
#define NET_ACL_PROGRAM_H

#include "net/acl_pattern.h"

enum { ACL_ENDLESS = -1 };

/* Note why the pattern cannot be used, if nothing is noted yet; returns -1. */
int acl_program_fail(struct acl_pattern *to, const char *why);

void acl_program_emit(struct acl_pattern *to, enum acl_op op, unsigned arg, int jump);
void acl_program_emit_set(struct acl_pattern *to, const unsigned char set[32]);

/* Put a split in front of what stands from `at` on: to it, or `behind` its end. */
void acl_program_split(struct acl_pattern *to, unsigned at, unsigned behind);

/* What stands from `at` on is to match min to max times; max may be ACL_ENDLESS. */
void acl_program_repeat(struct acl_pattern *to, unsigned at, int min, int max);

#endif
