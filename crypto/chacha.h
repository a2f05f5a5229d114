/*
 * ChaCha-Poly1305 on the vectors of the CPU, where it has any: the implementations that aead.c
 * chooses from. chacha_levels is defined by the file of the architecture, chacha_x86.c,
 * chacha_arm.c or chacha_anycpu.c.
 */
#ifndef CRYPTO_CHACHA_H
#define CRYPTO_CHACHA_H

#include "crypto/aead.h"

enum { CHACHAS = 6 /* chacha20, xchacha20, chacha8, chacha12, xchacha8, xchacha12 */ };

/* Arrays of CHACHAS methods, the fastest first; NULL ends. The last always runs. */
extern const struct aead *const chacha_levels[];

extern const struct aead chacha_sse2[CHACHAS];

#endif
