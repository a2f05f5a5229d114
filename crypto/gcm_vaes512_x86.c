/*
 * AES-GCM with four blocks in a register: CPUs with AVX-512. Reached through gcm_x86.c's table.
 */
#include "crypto/lanes_512_x86.h"

#include "crypto/gcm_x86.h"

#include "crypto/cpu_x86.h"
#include "crypto/gcm.h"

const struct aead gcm_vaes512[GCM_KEYS] = GCM_METHODS("vaes-512", cpu_has_vaes512);
