/*
 * What AES on the CPU's instructions does the same in vectors of any width: expanded keys, and all
 * that works on one block at a time or is no work for vectors. Declared here for every level;
 * defined in aes_common_lanes.h, which one file of each architecture includes.
 *
 * Whoever includes this has included one of lanes_*.h before.
 */
#ifndef CRYPTO_AES_COMMON_H
#define CRYPTO_AES_COMMON_H

#include "crypto/aead.h"

#include <stddef.h>

enum { AES_KEYS_MAX = 15, AES_BATCH_MAX = 256 /* bytes */ };

struct aes_keys {
	lane key[AES_KEYS_MAX];
	_Alignas(16) unsigned rounds; /* 10, 12 or 14 */
};

/* Expand key[0..n) of 16, 24 or 32 bytes into a struct aes_keys. */
void aes_common_expand(void *keys, const unsigned char *key, size_t n);

/* --- GCM. The powers of H descend to H itself, so that those for any number of blocks at the end
 * of a text lie one after another; past them come zeros, for the lanes of a vector that have no
 * block. */

enum {
	GCM_END = 20,  /* H is before it */
	GCM_ROOM = 24, /* all a multiple of a vector, and the powers for a batch aligned */
};

struct gcm {
	struct aes_keys aes;
	_Alignas(64) lane power[GCM_ROOM]; /* [GCM_END - n]: H to the n */
	lane fold[GCM_ROOM];		   /* the sums of their halves */
};

_Static_assert(sizeof(struct gcm) <= AEAD_CONTEXT, "AES key and powers do not fit");

/* Expand key[0..n), with so many powers: those for a batch's blocks, a power of two, and one more
 * for the block of the lengths. */
void gcm_common_expand(struct gcm *gcm, const unsigned char *key, size_t n, unsigned powers);

/* The hash of ad[0..n), the last block filled up with zeros. */
lane gcm_common_hash(const struct gcm *gcm, const unsigned char *ad, size_t n);

/* --- Stream ciphers: struct block_cipher's functions */

/* What a level adds: whole batches of text ^= key stream, which is the encryption of counters from
 * `counter` on that differ in their last four bytes only; or if that is NULL, of what stands 16
 * bytes before in the text itself, which goes from its end to its beginning then. */
struct modes_width {
	size_t batch; /* bytes */
	void (*mix)(const struct aes_keys *keys, const unsigned char *counter, unsigned char *text,
		    size_t n);
};

void modes_common_encrypt(const void *keys, const unsigned char *in, unsigned char *out,
			  size_t blocks);
void modes_common_cfb_seal(const void *keys, unsigned char *block, unsigned char *text, size_t n);
void modes_common_cfb_open(const struct modes_width *width, const void *keys, unsigned char *block,
			   unsigned char *text, size_t n);
void modes_common_ctr(const struct modes_width *width, const void *keys, unsigned char *block,
		      unsigned char *text, size_t n);

#endif
