/*
 * What differs between mbed TLS 2.28 and 3.x, so that the rest need not know: ciphers that a build
 * may lack. Included by the files of crypto/ that use mbed TLS.
 */
#ifndef CRYPTO_MBEDTLS_COMPAT_H
#define CRYPTO_MBEDTLS_COMPAT_H

#include <mbedtls/version.h>

#if MBEDTLS_VERSION_NUMBER >= 0x04000000
#error "mbed TLS 4 has no public AES functions: build with mbed TLS 2.28 or 3.6"
#endif

#include <mbedtls/aes.h>

#if MBEDTLS_VERSION_NUMBER >= 0x03000000
#undef MBEDTLS_BLOWFISH_C /* a configuration made for 2.28 may still name it */
#endif

#ifdef MBEDTLS_BLOWFISH_C
#include <mbedtls/blowfish.h>
#endif

#ifdef MBEDTLS_AES_ONLY_128_BIT_KEY_LENGTH
#error "this mbed TLS was built for 128-bit AES keys only: aes-192-gcm and aes-256-gcm need all"
#endif

#endif
