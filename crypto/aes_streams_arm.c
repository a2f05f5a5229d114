/*
 * What 64-bit ARM has of AES for stream ciphers, all but the last from the template modes_lanes.h.
 */
#include "crypto/aes_streams.h"

const struct stream *const aes_levels[] = { aes_streams_armv8, aes_streams_mbedtls, NULL };
