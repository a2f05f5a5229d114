/*
 * Between sha1.c and the instructions for SHA-1 that a CPU may have (sha1_x86.c; sha1_anycpu.c
 * where we use none).
 */
#ifndef CRYPTO_SHA1_COMPRESS_H
#define CRYPTO_SHA1_COMPRESS_H

#include "crypto/sha1.h"

#include <stdbool.h>

/* Work a block into h, if there are such instructions. False: there are none, nothing is done. */
bool sha1_compress_fast(uint32_t h[5], const unsigned char block[SHA1_BLOCK]);

/* The same without them. */
void sha1_compress_scalar(uint32_t h[5], const unsigned char block[SHA1_BLOCK]);

#endif
