/*
 * AES for the stream ciphers on the CPU's instructions: whole blocks of CTR and CFB, and single
 * blocks for the other modes. A template as gcm_lanes.h is; modes.c calls it.
 *
 * Where blocks do not wait for each other (CTR, opening CFB) a batch is encrypted at once, the rest
 * of a text as a batch in a buffer. In sealing CFB each block waits for the one before: nothing
 * but the rounds lies on that path, since the last round's key takes in the text, and for the next
 * block its first key as well.
 */
#ifndef CRYPTO_MODES_LANES_H
#define CRYPTO_MODES_LANES_H

#include "crypto/aes_lanes.h"
#include "crypto/aes_streams.h"

#include "core/bytes.h"

INLINE lane load_block(const unsigned char *from)
{
	return L_LOAD(from);
}

INLINE void store_block(unsigned char *to, lane block)
{
	L_STORE(to, block);
}

/* text[0..n) ^= stream, whole blocks. */
INLINE void mix_blocks(unsigned char *text, const vec *stream, size_t n)
{
	const unsigned char *mask = (const unsigned char *)stream;

	for (size_t i = 0; i < n; i += 16)
		store_block(text + i, L_XOR(load_block(text + i), load_block(mask + i)));
}

TARGET static void modes_expand(void *schedule, const unsigned char *key, size_t n)
{
	if (n == 16)
		aes_expand_keys(schedule, key, 16);
	else if (n == 24)
		aes_expand_keys(schedule, key, 24);
	else
		aes_expand_keys(schedule, key, 32);
}

TARGET static void modes_encrypt(const void *schedule, const unsigned char *in, unsigned char *out,
				 size_t blocks)
{
	const struct aes_keys *keys = schedule;
	vec x[VECTORS];

	for (; blocks >= BATCH / 16; blocks -= BATCH / 16, in += BATCH, out += BATCH) {
		aes_load(x, in);
		aes_add_key(x, keys->key);
		aes_rounds(x, keys);
		aes_store(x, out);
	}
	for (; blocks > 0; blocks--, in += 16, out += 16)
		store_block(out, aes_encrypt_one(keys, load_block(in)));
}

/* Counters that differ in their lowest word only. */
INLINE void ctr_run(const struct aes_keys *keys, const unsigned char *block, unsigned char *text,
		    size_t n)
{
	vec counter = aes_lanes(L_BYTES(load_block(block), AES_TURN()));
	vec x[VECTORS], stream[VECTORS];

	for (; n >= BATCH; n -= BATCH, text += BATCH) {
		aes_counters(keys, &counter, x);
		aes_rounds(x, keys);
		aes_mix(x, text);
	}
	if (n > 0) {
		aes_counters(keys, &counter, x);
		aes_rounds(x, keys);
		aes_store(x, stream);
		mix_blocks(text, stream, n);
		aes_wipe(stream);
	}
}

TARGET static void modes_ctr(const void *schedule, unsigned char *block, unsigned char *text,
			     size_t n)
{
	while (n > 0) {
		uint64_t high = get_u64be(block), low = get_u64be(block + 8);
		uint64_t blocks = n / 16, left = (UINT64_C(1) << 32) - (uint32_t)low;

		if (blocks > left)
			blocks = left;
		ctr_run(schedule, block, text, (size_t)blocks * 16);
		text += blocks * 16;
		n -= (size_t)blocks * 16;
		low += blocks;
		put_u64be(block, high + (low < blocks));
		put_u64be(block + 8, low);
	}
}

/* From the end to the beginning: what a block is added to is the encryption of the ciphertext
 * before it, which must still be there. */
TARGET static void modes_cfb_open(const void *schedule, unsigned char *block, unsigned char *text,
				  size_t n)
{
	const struct aes_keys *keys = schedule;
	lane before = load_block(block);
	vec x[VECTORS], stream[VECTORS];

	store_block(block, load_block(text + n - 16));
	for (; n > BATCH; n -= BATCH) {
		aes_load(x, text + n - BATCH - 16);
		aes_add_key(x, keys->key);
		aes_rounds(x, keys);
		aes_mix(x, text + n - BATCH);
	}
	aes_wipe(stream);
	store_block((unsigned char *)stream, before);
	for (size_t i = 16; i < n; i += 16)
		store_block((unsigned char *)stream + i, load_block(text + i - 16));
	aes_load(x, (const unsigned char *)stream);
	aes_add_key(x, keys->key);
	aes_rounds(x, keys);
	aes_store(x, stream);
	mix_blocks(text, stream, n);
	aes_wipe(stream);
}

TARGET static void modes_cfb_seal(const void *schedule, unsigned char *block, unsigned char *text,
				  size_t n)
{
	const struct aes_keys *keys = schedule;
	const lane first = keys->key[0], last = keys->key[keys->rounds];
	lane x = L_XOR(load_block(block), first);

	for (size_t i = 0; i < n; i += 16) {
		lane in = L_XOR(load_block(text + i), last);

		for (unsigned r = 1; r < keys->rounds; r++)
			x = L_ROUND(x, keys->key[r]);
		store_block(text + i, L_LAST(x, in));
		x = L_LAST(x, L_XOR(in, first));
	}
	store_block(block, load_block(text + n - 16));
}

#define MODES_CIPHER(level, can)                                                                \
	{                                                                                       \
		.implementation = level, .available = can, .schedule = sizeof(struct aes_keys), \
		.size = 16, .expand = modes_expand, .encrypt = modes_encrypt, .ctr = modes_ctr, \
		.cfb_seal = modes_cfb_seal, .cfb_open = modes_cfb_open,                         \
	}

#endif
