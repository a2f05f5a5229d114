/*
 * AES on the CPU's instructions: the expanded key, and blocks of counters encrypted VECTORS vectors
 * at a time. A template: the file of a level includes one of lanes_*.h before it. No branch or
 * address depends on a key or on data.
 */
#ifndef CRYPTO_AES_LANES_H
#define CRYPTO_AES_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INLINE TARGET static inline __attribute__((always_inline))

enum { AES_KEYS_MAX = 15, VECTOR = sizeof(vec), BATCH = VECTORS * sizeof(vec) /* bytes */ };

struct aes_keys {
	lane key[AES_KEYS_MAX];
	_Alignas(16) unsigned rounds; /* 10, 12 or 14 */
};

static const unsigned char aes_round_constants[] = { 0,	   0x01, 0x02, 0x04, 0x08, 0x10,
						     0x20, 0x40, 0x80, 0x1b, 0x36 };

/* The S-box on the four bytes of a word. With all columns alike, ShiftRows changes nothing. */
INLINE uint32_t aes_substitute(uint32_t word)
{
	lane columns = L_WORD(word);

	return (uint32_t)L_LOW(L_LAST(columns, L_ZERO()));
}

/* FIPS 197, 5.2, a word at a time: what a key of 192 bits needs. */
INLINE void aes_expand_words(struct aes_keys *keys, const unsigned char *key)
{
	unsigned char *to = (unsigned char *)keys->key;
	uint32_t word, before;

	memcpy(to, key, 24);
	memcpy(&word, key + 20, 4);
	for (unsigned i = 6; i < 52; i++) {
		if (i % 6 == 0)
			word = aes_substitute(word >> 8 | word << 24) ^ aes_round_constants[i / 6];
		memcpy(&before, to + 4 * (i - 6), 4);
		word ^= before;
		memcpy(to + 4 * i, &word, 4);
	}
}

/* The same, four words at a time, for keys of `step` times 128 bits. */
INLINE void aes_expand_blocks(struct aes_keys *keys, const unsigned char *key, unsigned step)
{
	const lane straight = L_WORD(0x0f0e0d0c), turned = L_WORD(0x0c0f0e0d);
	lane first = L_LOAD(key), last = first;

	keys->key[0] = first;
	if (step > 1)
		keys->key[1] = last = L_LOAD(key + 16);
	for (unsigned i = step; i <= 6 + 4 * step; i++) {
		unsigned constant = i % step == 0 ? aes_round_constants[i / step] : 0;
		lane mixed = L_BYTES(last, i % step == 0 ? turned : straight);
		lane sum = step > 1 ? first : last;

		sum = L_XOR(sum, L_UP(sum, 4));
		sum = L_XOR(sum, L_UP(sum, 8));
		mixed = L_LAST(mixed, L_WORD(constant));
		first = last;
		last = L_XOR(sum, mixed);
		keys->key[i] = last;
	}
}

/* `bytes` is a constant where this is called: 16, 24 or 32. */
INLINE void aes_expand_keys(struct aes_keys *keys, const unsigned char *key, unsigned bytes)
{
	keys->rounds = 6 + bytes / 4;
	if (bytes == 24)
		aes_expand_words(keys, key);
	else
		aes_expand_blocks(keys, key, bytes / 16);
}

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

/* The rounds after the ninth. */
INLINE void aes_finish(vec x[VECTORS], const struct aes_keys *keys)
{
	const lane *key = keys->key + 10;
	vec k;

	if (keys->rounds > 10) {
		aes_round(x, key++);
		aes_round(x, key++);
	}
	if (keys->rounds > 12) {
		aes_round(x, key++);
		aes_round(x, key++);
	}
	k = V_ALL(*key);
#define ACT(i) x[i] = V_LAST(x[i], k);
	EACH(ACT)
#undef ACT
}

/* All rounds, once the first key has been added. */
INLINE void aes_rounds(vec x[VECTORS], const struct aes_keys *keys)
{
	for (unsigned i = 1; i < 10; i++)
		aes_round(x, keys->key + i);
	aes_finish(x, keys);
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
