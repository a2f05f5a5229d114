/*
 * AES-GCM of 64-bit ARM, from the template gcm_lanes.h.
 */
#include "crypto/gcm.h"

const struct aead *const gcm_levels[] = { gcm_armv8, NULL };
