/*
 * AES-GCM with two blocks in a register: CPUs since about 2020. Reached through gcm_x86.c's table.
 */
#include "crypto/lanes_256_x86.h"

#include "crypto/gcm_x86.h"

#include "crypto/cpu_x86.h"
#include "crypto/gcm.h"

const struct aead gcm_vaes256[GCM_KEYS] = GCM_METHODS("vaes-256", cpu_has_vaes256);
