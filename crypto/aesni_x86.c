/*
 * AES with one block in a register: any x86-64 CPU since about 2010. Reached through the lists in
 * gcm_x86.c and aes_streams_x86.c.
 */
#include "crypto/lanes_128_x86.h"

#include "crypto/gcm_lanes.h"
#include "crypto/modes_lanes.h"

#include "crypto/aes_common_lanes.h"

#include "crypto/cpu_x86.h"

const struct aead gcm_aesni[GCM_KEYS] = GCM_METHODS("aes-ni", cpu_has_aesni);

static const struct block_cipher block = MODES_CIPHER("aes-ni", cpu_has_aesni);
const struct stream aes_streams_aesni[AES_STREAMS] = AES_STREAM_METHODS(&block);
