/*
 * The widths in which x86-64 has AES-GCM, all from the template gcm_lanes.h.
 */
#include "crypto/gcm.h"

const struct aead *const gcm_levels[] = { gcm_vaes512, gcm_vaes256, gcm_aesni, NULL };
