/*
 * ChaCha-Poly1305 on the vectors of the CPU, where that beats libsodium: the implementations that
 * aead.c prefers. chacha_levels is defined by the file of the architecture, chacha_x86.c,
 * chacha_arm.c or chacha_anycpu.c.
 */
#ifndef CRYPTO_CHACHA_H
#define CRYPTO_CHACHA_H

#include "crypto/aead.h"

enum { CHACHAS = 6 /* chacha20, xchacha20, chacha8, chacha12, xchacha8, xchacha12 */ };

/* Arrays of CHACHAS methods, the fastest first; NULL ends. */
extern const struct aead *const chacha_levels[];

#endif
