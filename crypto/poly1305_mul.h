/*
 * One block of crypto/poly1305_beside.h by the products of any x86-64.
 */
#ifndef CRYPTO_POLY1305_MUL_H
#define CRYPTO_POLY1305_MUL_H

#include "crypto/poly1305_beside.h"

/* The carries are the sum's longest chain, and compilers make them of comparisons. */
INLINE void beside_step(struct beside *sum, const struct beside_key *key,
			const unsigned char *block)
{
	uint64_t h0 = sum->h0, h1 = sum->h1, h2 = sum->h2;

	__asm__("addq %3, %0\n\tadcq %4, %1\n\tadcq $1, %2\n\t"
		"addq %5, %0\n\tadcq $0, %1\n\tadcq $0, %2" /* at most six */
		: "+&r"(h0), "+&r"(h1), "+&r"(h2)
		: "r"(get_u64le(block)), "r"(get_u64le(block + 8)), "r"(sum->over)
		: "cc");

	poly1305_wide a = (poly1305_wide)h0 * key->r0, b = (poly1305_wide)h1 * key->r1_over;
	poly1305_wide c = (poly1305_wide)h0 * key->r1, d = (poly1305_wide)h1 * key->r0;
	uint64_t a0 = (uint64_t)a, a1 = (uint64_t)(a >> 64);
	uint64_t c0 = (uint64_t)c, c1 = (uint64_t)(c >> 64);

	__asm__("addq %2, %0\n\tadcq %3, %1"
		: "+&r"(a0), "+r"(a1)
		: "r"((uint64_t)b), "r"((uint64_t)(b >> 64))
		: "cc");
	__asm__("addq %2, %0\n\tadcq %3, %1"
		: "+&r"(c0), "+r"(c1)
		: "r"((uint64_t)d), "r"((uint64_t)(d >> 64))
		: "cc");
	a1 += h2 * key->r1_over; /* below 2^61.2 and 6 * 2^60.4 */
	h2 *= key->r0;
	__asm__("addq %2, %0\n\tadcq %3, %1" : "+&r"(c0), "+r"(c1) : "r"(a1), "r"(h2) : "cc");

	*sum = (struct beside){ a0, c0, c1 & 3, (c1 >> 2) * 5 };
}

#endif
