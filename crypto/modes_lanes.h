/*
 * AES for the stream ciphers on the CPU's instructions: whole blocks of CTR and CFB, and single
 * blocks for the other modes. A template as gcm_lanes.h is; modes.c calls it. Here is what depends
 * on the width: where blocks do not wait for each other (CTR, opening CFB), a batch is encrypted at
 * once.
 */
#ifndef CRYPTO_MODES_LANES_H
#define CRYPTO_MODES_LANES_H

#include "crypto/aes_lanes.h"
#include "crypto/aes_streams.h"

_Static_assert((int)BATCH <= AES_BATCH_MAX, "a batch fits into its buffer");

/* CFB goes from the end to the beginning: what a block is added to is the encryption of the
 * ciphertext before it, which must still be there. */
TARGET static void modes_mix(const struct aes_keys *keys, const unsigned char *block,
			     unsigned char *text, size_t n)
{
	vec counter = V_ZERO(), x[VECTORS];
	unsigned char *at = block ? text : text + n - BATCH;

	if (block)
		counter = aes_lanes(L_BYTES(L_LOAD(block), AES_TURN()));
	for (; n > 0; n -= BATCH, at += block ? BATCH : -BATCH) {
		if (block) {
			aes_counters(keys, &counter, x);
		} else {
			aes_load(x, at - 16);
			aes_add_key(x, keys->key);
		}
		aes_rounds(x, keys);
		aes_mix(x, at);
	}
}

static const struct modes_width modes_width = { BATCH, modes_mix };

static void modes_ctr(const void *keys, unsigned char *block, unsigned char *text, size_t n)
{
	modes_common_ctr(&modes_width, keys, block, text, n);
}

static void modes_cfb_open(const void *keys, unsigned char *block, unsigned char *text, size_t n)
{
	modes_common_cfb_open(&modes_width, keys, block, text, n);
}

#define MODES_CIPHER(level, can)                                                                 \
	{                                                                                        \
		.implementation = level, .available = can, .schedule = sizeof(struct aes_keys),  \
		.size = 16, .expand = aes_common_expand, .encrypt = modes_common_encrypt,        \
		.ctr = modes_ctr, .cfb_seal = modes_common_cfb_seal, .cfb_open = modes_cfb_open, \
	}

#endif
