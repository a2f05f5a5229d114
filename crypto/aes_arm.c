/*
 * AES on the instructions that most 64-bit ARM CPUs have had since 2014. Compiled for a CPU that
 * has them (Makefile), so nothing here may run before available() has said so.
 */
#include "crypto/lanes_128_arm.h"

#include "crypto/gcm_lanes.h"
#include "crypto/modes_lanes.h"

#include "crypto/aes_common_lanes.h"

#include "crypto/cpu_arm.h"

const struct aead gcm_armv8[GCM_KEYS] = GCM_METHODS("armv8", cpu_has_aes);

static const struct block_cipher block = MODES_CIPHER("armv8", cpu_has_aes);
const struct stream aes_streams_armv8[AES_STREAMS] = AES_STREAM_METHODS(&block);
