/*
 * ChaCha-Poly1305, ChaCha20 and Salsa20 where no other file knows the CPU's vectors: a block at a
 * time, in words of the C language. Reached through aead.c's table and stream_chacha.c.
 */
#define TARGET
#define LANES 1

#define ROTATE(x, bits) ((x) << (bits) | (x) >> (32 - (bits)))
#define ROTATE_16(x) ROTATE(x, 16)
#define ROTATE_8(x) ROTATE(x, 8)

#include "crypto/poly1305_plain.h"

#include "crypto/chacha_lanes.h"
#include "crypto/stream_lanes.h"

static const struct aead own[CHACHAS] = CHACHA_METHODS("own", NULL);

const struct aead *const chacha_levels[] = { own, NULL };
