/*
 * AES with four blocks in a register: CPUs with AVX-512. Reached through the lists in gcm_x86.c and
 * aes_streams_x86.c.
 */
#include "crypto/lanes_512_x86.h"

#include "crypto/gcm_lanes.h"
#include "crypto/modes_lanes.h"

#include "crypto/cpu_x86.h"

const struct aead gcm_vaes512[GCM_KEYS] = GCM_METHODS("vaes-512", cpu_has_vaes512);

static const struct block_cipher block = MODES_CIPHER("vaes-512", cpu_has_vaes512);
const struct stream aes_streams_vaes512[AES_STREAMS] = AES_STREAM_METHODS(&block);
