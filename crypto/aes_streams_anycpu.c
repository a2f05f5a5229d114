/*
 * No instructions for AES that we use on this architecture: the library serves.
 */
#include "crypto/aes_streams.h"

const struct stream *const aes_levels[] = { aes_streams_mbedtls, NULL };
