/*
 * ChaCha20 and Salsa20 by themselves, as far as stream_chacha.c and random.c want them. Defined by
 * the file of the architecture: chacha_x86.c, chacha_arm.c or chacha_anycpu.c, from the template
 * stream_lanes.h.
 */
#ifndef CRYPTO_STREAM_WORDS_H
#define CRYPTO_STREAM_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* text[0..n) ^= the stream that a key of 32 bytes and the nonce name, from byte `skip` < 64 of
 * block number `block` on. */
void chacha20_xor(const unsigned char *key, const unsigned char nonce[8], uint64_t block,
		  size_t skip, unsigned char *text, size_t n);
void salsa20_xor(const unsigned char *key, const unsigned char nonce[8], uint64_t block,
		 size_t skip, unsigned char *text, size_t n);

/* A key from a key and 16 bytes of nonce, as XChaCha20 begins. */
void hchacha20(const unsigned char *key, const unsigned char nonce[16], unsigned char to[32]);

/* On x86-64, in four lanes, and in eight where there is AVX2. */
void sse2_chacha20_xor(const unsigned char *key, const unsigned char nonce[8], uint64_t block,
		       size_t skip, unsigned char *text, size_t n);
void sse2_salsa20_xor(const unsigned char *key, const unsigned char nonce[8], uint64_t block,
		      size_t skip, unsigned char *text, size_t n);
void sse2_hchacha20(const unsigned char *key, const unsigned char nonce[16], unsigned char to[32]);
void avx2_chacha20_xor(const unsigned char *key, const unsigned char nonce[8], uint64_t block,
		       size_t skip, unsigned char *text, size_t n);
void avx2_salsa20_xor(const unsigned char *key, const unsigned char nonce[8], uint64_t block,
		      size_t skip, unsigned char *text, size_t n);
void avx2_hchacha20(const unsigned char *key, const unsigned char nonce[16], unsigned char to[32]);

#endif
