/*
 * See aes_common.h. Included by the file of the narrowest level, after the templates.
 */
#ifndef CRYPTO_AES_COMMON_LANES_H
#define CRYPTO_AES_COMMON_LANES_H

#include "crypto/gcm_lanes.h"
#include "crypto/modes_lanes.h"

_Static_assert(LANES == 1, "a vector is one block");

/* --- keys */

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

void TARGET aes_common_expand(void *to, const unsigned char *key, size_t n)
{
	struct aes_keys *keys = to;

	keys->rounds = 6 + (unsigned)n / 4;
	if (n == 24)
		aes_expand_words(keys, key);
	else
		aes_expand_blocks(keys, key, (unsigned)n / 16);
}

/* --- GCM */

/* H, turned round and times x. */
INLINE lane hash_key(const struct aes_keys *aes)
{
	lane h = L_BYTES(aes_encrypt_one(aes, L_ZERO()), AES_TURN());
	uint64_t low = L_LOW(h);
	uint64_t high = L_HIGH(h);
	uint64_t carry = 0 - (high >> 63);

	high = (high << 1 | low >> 63) ^ (carry & 0xc200000000000000);
	low = low << 1 ^ (carry & 1);
	return L_HALVES(high, low);
}

INLINE void keep(struct gcm *gcm, unsigned at, lane power)
{
	gcm->power[at] = power;
	gcm->fold[at] = L_XOR(power, L_SWAP(power));
}

/* The power at `at` times that at `by`. */
INLINE lane product(const struct gcm *gcm, unsigned at, unsigned by)
{
	struct products p = { V_ZERO(), V_ZERO(), V_ZERO() };

	multiply(&p, gcm->power[at], gcm->power[by], gcm->fold[by]);
	return reduce(&p);
}

/* From the end of the table, where H is, to its beginning, doubling what there is. */
TARGET void gcm_common_expand(struct gcm *gcm, const unsigned char *key, size_t n, unsigned powers)
{
	aes_common_expand(&gcm->aes, key, n);
	for (unsigned i = GCM_END; i < GCM_ROOM; i++)
		keep(gcm, i, L_ZERO());
	keep(gcm, GCM_END - 1, hash_key(&gcm->aes));
	for (unsigned have = 1; have < powers; have *= 2)
		for (unsigned i = 1; i <= have && have + i <= powers; i++)
			keep(gcm, GCM_END - have - i, product(gcm, GCM_END - i, GCM_END - have));
}

TARGET lane gcm_common_hash(const struct gcm *gcm, const unsigned char *ad, size_t n)
{
	lane hash = L_ZERO();

	while (n > 0) {
		struct products p = { V_ZERO(), V_ZERO(), V_ZERO() };
		size_t take = n < BATCH ? n : BATCH, at = GCM_END - (take + 15) / 16;

		for (n -= take; take > 0; at++, hash = L_ZERO()) {
			size_t part = take < 16 ? take : 16;
			lane block = part < 16 ? load_part(ad, part) : L_LOAD(ad);

			hash_at(gcm, &p, L_XOR(aes_turn(block), hash), at);
			ad += part;
			take -= part;
		}
		hash = reduce(&p);
	}
	return hash;
}

/* --- stream ciphers */

TARGET void modes_common_encrypt(const void *keys, const unsigned char *in, unsigned char *out,
				 size_t blocks)
{
	for (; blocks > 0; blocks--, in += 16, out += 16)
		L_STORE(out, aes_encrypt_one(keys, L_LOAD(in)));
}

/* Nothing but the rounds lies on the path from block to block: the last round's key takes in the
 * text, and for the next block its first key as well. */
TARGET void modes_common_cfb_seal(const void *schedule, unsigned char *block, unsigned char *text,
				  size_t n)
{
	const struct aes_keys *keys = schedule;
	const lane first = keys->key[0], last = keys->key[keys->rounds];
	lane x = L_XOR(L_LOAD(block), first);

	for (size_t i = 0; i < n; i += 16) {
		lane in = L_XOR(L_LOAD(text + i), last);

		for (unsigned r = 1; r < keys->rounds; r++)
			x = L_ROUND(x, keys->key[r]);
		L_STORE(text + i, L_LAST(x, in));
		x = L_LAST(x, L_XOR(in, first));
	}
	L_STORE(block, L_LOAD(text + n - 16));
}

/* A text of at most a batch of this level's, at the beginning of one in a buffer. `before` is the
 * counter, or the block that came before the text. */
TARGET static void mix_part(const struct aes_keys *keys, lane before, bool counts,
			    unsigned char *text, size_t n)
{
	_Alignas(16) unsigned char buffer[16 + BATCH], *part = buffer + 16;

	L_STORE(buffer, before);
	for (size_t i = 0; i < BATCH; i += 16)
		L_STORE(part + i, i < n ? L_LOAD(text + i) : L_ZERO());
	modes_mix(keys, counts ? buffer : NULL, part, BATCH);
	for (size_t i = 0; i < n; i += 16)
		L_STORE(text + i, L_LOAD(part + i));
	/* Behind the text is what the next counters give. The compiler would leave the zeros out,
	 * because nobody reads them. */
	for (size_t i = 0; i < BATCH; i += 16)
		L_STORE(part + i, L_ZERO());
	__asm__ volatile("" : : "r"(buffer) : "memory");
}

/* Whole batches, as wide as they go, from the end; what is before the first is not in the text, so
 * that goes through a buffer. */
TARGET void modes_common_cfb_open(const struct modes_width *width, const void *keys,
				  unsigned char *block, unsigned char *text, size_t n)
{
	size_t wide = (n - 1) & ~(width->batch - 1), narrow = (n - 1 - wide) & ~(size_t)(BATCH - 1);
	lane before = L_LOAD(block);

	L_STORE(block, L_LOAD(text + n - 16));
	n -= wide;
	if (wide > 0)
		width->mix(keys, NULL, text + n, wide);
	n -= narrow;
	if (narrow > 0)
		modes_mix(keys, NULL, text + n, narrow);
	mix_part(keys, before, false, text, n);
}

/* Up to where the counter's last four bytes begin again at 0. */
TARGET void modes_common_ctr(const struct modes_width *width, const void *keys,
			     unsigned char *block, unsigned char *text, size_t n)
{
	while (n > 0) {
		uint64_t high = get_u64be(block), low = get_u64be(block + 8);
		uint64_t left = ((UINT64_C(1) << 32) - (uint32_t)low) * 16;
		size_t run = n < left ? n : (size_t)left;

		if (run >= width->batch)
			width->mix(keys, block, text, run &= ~(width->batch - 1));
		else if (run >= BATCH)
			modes_mix(keys, block, text, run &= ~(size_t)(BATCH - 1));
		else
			mix_part(keys, L_LOAD(block), true, text, run);
		text += run;
		n -= run;
		low += run / 16;
		put_u64be(block, high + (low < run / 16));
		put_u64be(block + 8, low);
	}
}

#endif
