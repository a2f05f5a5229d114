/*
 * MD5 (RFC 1321). For what old peers prescribe, keys from passwords and those of rc4-md5; use it
 * for nothing new.
 */
#ifndef CRYPTO_MD5_H
#define CRYPTO_MD5_H

#include <stddef.h>
#include <stdint.h>

enum { MD5_BLOCK = 64, MD5_DIGEST = 16 };

struct md5 {
	uint32_t h[4];
	uint64_t n; /* bytes added */
	unsigned char block[MD5_BLOCK];
};

/* Any number of adds between begin and end; end wipes the state. */
void md5_begin(struct md5 *md5);
void md5_add(struct md5 *md5, const void *bytes, size_t n);
void md5_end(struct md5 *md5, unsigned char digest[MD5_DIGEST]);

#endif
