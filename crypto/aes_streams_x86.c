/*
 * What x86-64 has of AES for stream ciphers, all but the last from the template modes_lanes.h.
 */
#include "crypto/aes_streams.h"

const struct stream *const aes_levels[] = { aes_streams_vaes512, aes_streams_vaes256,
					    aes_streams_aesni, aes_streams_mbedtls, NULL };
