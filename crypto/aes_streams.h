/*
 * The stream ciphers over AES, once for each implementation of AES: the part of stream.c's table
 * that depends on the CPU. aes_levels is defined by the file of the architecture,
 * aes_streams_x86.c, aes_streams_arm.c or aes_streams_anycpu.c.
 */
#ifndef CRYPTO_AES_STREAMS_H
#define CRYPTO_AES_STREAMS_H

#include "crypto/stream.h"

enum { AES_STREAMS = 15 };

#define AES_STREAM_SIZES(mode, kind, aes)                                               \
	{ "aes-128-" mode, 16, 16, kind, aes }, { "aes-192-" mode, 24, 16, kind, aes }, \
	{                                                                               \
		"aes-256-" mode, 32, 16, kind, aes                                      \
	}

/* What an implementation defines, from its struct block_cipher. */
#define AES_STREAM_METHODS(aes)                                      \
	{                                                            \
		AES_STREAM_SIZES("cfb", &stream_cfb, aes),           \
			AES_STREAM_SIZES("ctr", &stream_ctr, aes),   \
			AES_STREAM_SIZES("cfb1", &stream_cfb1, aes), \
			AES_STREAM_SIZES("cfb8", &stream_cfb8, aes), \
			AES_STREAM_SIZES("ofb", &stream_ofb, aes),   \
	}

/* Arrays of AES_STREAMS methods, the fastest first; NULL ends. The last always runs. */
extern const struct stream *const aes_levels[];

extern const struct stream aes_streams_aesni[AES_STREAMS], aes_streams_vaes256[AES_STREAMS],
	aes_streams_vaes512[AES_STREAMS], aes_streams_armv8[AES_STREAMS],
	aes_streams_mbedtls[AES_STREAMS];

#endif
