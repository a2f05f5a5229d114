/*
 * SHA-1 (FIPS 180-4) and HMAC (RFC 2104) over it. For HKDF: mbed TLS's HMAC allocates, and a
 * session derives a key per direction. SHA-1 is what SIP004 prescribes; use it for nothing new.
 */
#ifndef CRYPTO_SHA1_H
#define CRYPTO_SHA1_H

#include <stddef.h>
#include <stdint.h>

enum { SHA1_BLOCK = 64, SHA1_DIGEST = 20 };

struct sha1 {
	uint32_t h[5];
	uint64_t n; /* bytes added */
	unsigned char block[SHA1_BLOCK];
};

struct sha1_hmac {
	struct sha1 inner, outer;
};

/* Any number of adds between begin and end; end wipes the state. */
void sha1_begin(struct sha1 *sha1);
void sha1_add(struct sha1 *sha1, const void *bytes, size_t n);
void sha1_end(struct sha1 *sha1, unsigned char digest[SHA1_DIGEST]);

/* The same for HMAC. A begun state may be copied, to use one key several times; each copy is
 * ended or wiped. */
void sha1_hmac_begin(struct sha1_hmac *hmac, const void *key, size_t n);
void sha1_hmac_add(struct sha1_hmac *hmac, const void *bytes, size_t n);
void sha1_hmac_end(struct sha1_hmac *hmac, unsigned char digest[SHA1_DIGEST]);

#endif
