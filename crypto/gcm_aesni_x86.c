/*
 * AES-GCM with one block at a time in each register: any x86-64 CPU since about 2010. Reached through gcm_x86.c's table.
 */
#include "crypto/lanes_128_x86.h"

#include "crypto/gcm_x86.h"

#include "crypto/cpu_x86.h"
#include "crypto/gcm.h"

const struct aead gcm_aesni[GCM_KEYS] = GCM_METHODS("aes-ni", cpu_has_aesni);
