/*
 * AES with two blocks in a register: CPUs since about 2020. Reached through the lists in gcm_x86.c
 * and aes_streams_x86.c.
 */
#include "crypto/lanes_256_x86.h"

#include "crypto/gcm_lanes.h"
#include "crypto/modes_lanes.h"

#include "crypto/cpu_x86.h"

const struct aead gcm_vaes256[GCM_KEYS] = GCM_METHODS("vaes-256", cpu_has_vaes256);

static const struct block_cipher block = MODES_CIPHER("vaes-256", cpu_has_vaes256);
const struct stream aes_streams_vaes256[AES_STREAMS] = AES_STREAM_METHODS(&block);
