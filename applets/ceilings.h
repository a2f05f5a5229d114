/*
 * How much of everything a program may have at once, so that all of it together stays below a
 * number of bytes: a quarter of them are for sessions, a quarter for tables, an eighth for
 * associations; what these do not want, and the rest, is for blocks. Arithmetic only; see places.c.
 * [no I/O]
 */
#ifndef APPLETS_CEILINGS_H
#define APPLETS_CEILINGS_H

#include <stdbool.h>
#include <stdint.h>

/* What each worker takes at least: with less, nothing goes on. */
enum { CEILINGS_LEAST = 1 << 20, CEILINGS_BLOCKS = 16 };

struct ceiling {
	uint32_t most; /* that are wished for; then: that there may be */
	uint32_t size; /* bytes of each, not 0 */
	bool fixed;    /* is not to be lowered */
};

/* What each of the workers has, but for the salts, which are one table for all of them. */
struct ceilings {
	struct ceiling sessions, assocs, blocks, salts;
	unsigned workers;
	unsigned datagram_workers; /* that have associations */
};

/* Lower what is too much for `limit` bytes. A limit below CEILINGS_LEAST for each worker counts as
 * that. */
void ceilings_lower(struct ceilings *ceilings, uint64_t limit);

/* A program's part of a machine that has so much memory. 0, not known: of one that has plenty. */
uint64_t ceilings_of_machine(uint64_t memory);

#endif
