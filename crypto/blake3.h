/*
 * BLAKE3, hash and derive_key, for input of any length and output of any length. (The protocol
 * hashes one block at a time, which is one compression; the tree is here so that the function is
 * the one its test vectors describe.) No heap; what is computed on the way is wiped.
 */
#ifndef CRYPTO_BLAKE3_H
#define CRYPTO_BLAKE3_H

#include <stddef.h>
#include <stdint.h>

/* A context string of derive_key, worked in. */
struct blake3_context {
	uint32_t key[8];
};

void blake3_hash(const void *in, size_t n, unsigned char *out, size_t out_len);

/* Work in a context string. Contexts that never change may as well be constants. */
void blake3_context(struct blake3_context *context, const char *string);

/* out = derive_key(context, material). */
void blake3_derive(const struct blake3_context *context, const void *material, size_t n,
		   unsigned char *out, size_t out_len);

#endif
