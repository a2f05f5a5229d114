/*
 * AES on the CPU's instructions: blocks, and blocks of counters, encrypted VECTORS vectors at a
 * time. A template: the file of a level includes one of lanes_*.h before it. No branch or address
 * depends on a key or on data.
 */
#ifndef CRYPTO_AES_LANES_H
#define CRYPTO_AES_LANES_H

#include "crypto/aes_common.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INLINE TARGET static inline __attribute__((always_inline))

enum { VECTOR = sizeof(vec), BATCH = VECTORS * sizeof(vec) /* bytes */ };

INLINE lane aes_encrypt_one(const struct aes_keys *keys, lane block)
{
	block = L_XOR(block, keys->key[0]);
	for (unsigned i = 1; i < keys->rounds; i++)
		block = L_ROUND(block, keys->key[i]);
	return L_LAST(block, keys->key[keys->rounds]);
}

/* One round of a batch. */
INLINE void aes_round(vec x[VECTORS], const lane *key)
{
	vec k = V_ALL(*key);

#define ACT(i) x[i] = V_ROUND(x[i], k);
	EACH(ACT)
#undef ACT
}

INLINE void aes_last_round(vec x[VECTORS], const lane *key)
{
	vec k = V_ALL(*key);

#define ACT(i) x[i] = V_LAST(x[i], k);
	EACH(ACT)
#undef ACT
}

/* All rounds, once the first key has been added. Before the last their number is odd; two at a time
 * save half of what the compiler moves about between them. */
INLINE void aes_rounds(vec x[VECTORS], const struct aes_keys *keys)
{
	const lane *key = keys->key + 1, *last = keys->key + keys->rounds;

	aes_round(x, key++);
	do {
		aes_round(x, key++);
		aes_round(x, key++);
	} while (key < last);
	aes_last_round(x, last);
}

/* The rounds after the ninth, where they go on beside something else: without a loop. */
INLINE void aes_finish(vec x[VECTORS], const struct aes_keys *keys)
{
	const lane *key = keys->key + 10;

	if (keys->rounds > 10) {
		aes_round(x, key++);
		aes_round(x, key++);
	}
	if (keys->rounds > 12) {
		aes_round(x, key++);
		aes_round(x, key++);
	}
	aes_last_round(x, key);
}

/* A block turned round byte by byte: a counter's number is the lowest word then. */
#define AES_TURN() L_HALVES(0x0001020304050607, 0x08090a0b0c0d0e0f)

INLINE vec aes_turn(vec v)
{
	return V_BYTES(v, V_ALL(AES_TURN()));
}

/* A counter, turned round, and those after it. */
INLINE vec aes_lanes(lane counter)
{
	return V_ADD(V_ALL(counter), V_COUNT());
}

/* A batch of counters, which are turned round, with the first key added; *counter comes next. */
INLINE void aes_counters(const struct aes_keys *keys, vec *counter, vec x[VECTORS])
{
	const vec step = V_ALL(L_HALVES(0, LANES));
	vec key = V_ALL(keys->key[0]), c = *counter;

#define ACT(i)                          \
	x[i] = V_XOR(aes_turn(c), key); \
	c = V_ADD(c, step);
	EACH(ACT)
#undef ACT
	*counter = c;
}

INLINE void aes_load(vec x[VECTORS], const unsigned char *from)
{
#define ACT(i) x[i] = V_LOAD(from + VECTOR * i);
	EACH(ACT)
#undef ACT
}

INLINE void aes_store(const vec x[VECTORS], void *to)
{
#define ACT(i) V_STORE((unsigned char *)to + VECTOR * i, x[i]);
	EACH(ACT)
#undef ACT
}

INLINE void aes_add_key(vec x[VECTORS], const lane *key)
{
	vec k = V_ALL(*key);

#define ACT(i) x[i] = V_XOR(x[i], k);
	EACH(ACT)
#undef ACT
}

/* text ^= x */
INLINE void aes_mix(const vec x[VECTORS], unsigned char *text)
{
#define ACT(i) V_STORE(text + VECTOR * i, V_XOR(V_LOAD(text + VECTOR * i), x[i]));
	EACH(ACT)
#undef ACT
}

/* n < VECTOR bytes. */
INLINE void aes_copy(unsigned char *to, const unsigned char *from, size_t n)
{
	size_t at = 0;

	for (size_t piece = VECTOR / 2; piece >= 16; piece /= 2) {
		for (size_t i = 0; n & piece && i < piece; i += 16)
			memcpy(to + at + i, from + at + i, 16);
		at += n & piece;
	}
	if (n & 8)
		memcpy(to + at, from + at, 8);
	at += n & 8;
	if (n & 4)
		memcpy(to + at, from + at, 4);
	at += n & 4;
	if (n & 2)
		memcpy(to + at, from + at, 2);
	at += n & 2;
	if (n & 1)
		to[at] = from[at];
}

/* The compiler would leave it out, because nobody reads x any more. */
INLINE void aes_wipe(vec x[VECTORS])
{
#define ACT(i) V_STORE(x + i, V_ZERO());
	EACH(ACT)
#undef ACT
	__asm__ volatile("" : : "r"(x) : "memory");
}

#endif
