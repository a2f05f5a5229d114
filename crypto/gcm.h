/*
 * AES-GCM on the instructions of the CPU, where it has any: the implementations that aead.c
 * prefers. gcm_levels is defined by the file of the architecture, gcm_x86.c, gcm_arm.c or
 * gcm_anycpu.c.
 */
#ifndef CRYPTO_GCM_H
#define CRYPTO_GCM_H

#include "crypto/aead.h"

enum { GCM_KEYS = 3 /* 128, 192, 256 bits */ };

/* Arrays of GCM_KEYS methods, the fastest first; NULL ends. */
extern const struct aead *const gcm_levels[];

extern const struct aead gcm_aesni[GCM_KEYS], gcm_vaes256[GCM_KEYS], gcm_vaes512[GCM_KEYS],
	gcm_armv8[GCM_KEYS];

#endif
