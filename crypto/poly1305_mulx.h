/*
 * One block of crypto/poly1305_beside.h by mulx, where the CPU has BMI2.
 */
#ifndef CRYPTO_POLY1305_MULX_H
#define CRYPTO_POLY1305_MULX_H

#include "crypto/poly1305_beside.h"

/* Compilers make carries of comparisons and put words by in memory, and the sum waits for each of
 * them. */
INLINE void beside_step(struct beside *sum, const struct beside_key *key,
			const unsigned char *block)
{
	const struct {
		uint64_t low, high;
	} __attribute__((packed, may_alias)) *text = (const void *)block;
	uint64_t low, middle, high; /* low of the second product only */

	__asm__("addq %[text0], %[h0]\n\t"
		"adcq %[text1], %[h1]\n\t"
		"adcq $1, %[h2]\n\t"
		"addq %[t], %[h0]\n\t"
		"adcq $0, %[h1]\n\t"
		"adcq $0, %[h2]\n\t" /* at most six */
		/* high, h1, h0 = (h1, h0) * (r1, r0) */
		"movq %[h0], %%rdx\n\t"
		"mulxq %[r0], %[h0], %[middle]\n\t"
		"mulxq %[r1], %[low], %[high]\n\t"
		"movq %[h1], %%rdx\n\t"
		"mulxq %[r1_over], %[h1], %[t]\n\t"
		"addq %[h1], %[h0]\n\t"
		"adcq %[t], %[middle]\n\t"
		"mulxq %[r0], %[h1], %[t]\n\t"
		"addq %[low], %[h1]\n\t"
		"adcq %[t], %[high]\n\t"
		/* and h2 * (r1, r0): middle stays below 2^61.2 and 6 * 2^60.4 */
		"movq %[r1_over], %[t]\n\t"
		"imulq %[h2], %[t]\n\t"
		"imulq %[r0], %[h2]\n\t"
		"addq %[t], %[middle]\n\t"
		"addq %[middle], %[h1]\n\t"
		"adcq %[h2], %[high]\n\t"
		"movq %[high], %[h2]\n\t"
		"andl $3, %k[h2]\n\t"
		"shrq $2, %[high]\n\t"
		"leaq (%[high],%[high],4), %[t]"
		: [h0] "+&r"(sum->h0), [h1] "+&r"(sum->h1), [h2] "+&r"(sum->h2),
		  [t] "+&r"(sum->over), [low] "=&r"(low), [middle] "=&r"(middle), [high] "=&r"(high)
		: [r0] "m"(key->r0), [r1] "m"(key->r1), [r1_over] "m"(key->r1_over),
		  [text0] "m"(text->low), [text1] "m"(text->high)
		: "cc", "rdx");
}

#endif
