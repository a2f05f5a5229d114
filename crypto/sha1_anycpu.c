/*
 * No instructions for SHA-1 that we use on this architecture.
 */
#include "crypto/sha1_compress.h"

bool sha1_compress_fast(uint32_t h[5], const unsigned char block[SHA1_BLOCK])
{
	(void)h, (void)block;
	return false;
}
