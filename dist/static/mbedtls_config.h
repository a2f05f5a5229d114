/* only what a shadowsocks proxy takes from mbed TLS 2.28 */
#ifndef MBEDTLS_CONFIG_OF_OURS_H
#define MBEDTLS_CONFIG_OF_OURS_H
#define MBEDTLS_HAVE_ASM
#define MBEDTLS_AESNI_C
#define MBEDTLS_AES_C
/* #define MBEDTLS_AES_ROM_TABLES   flash instead of RAM */
/* #define MBEDTLS_AES_FEWER_TABLES  -6 KB, slower */
#define MBEDTLS_GCM_C
#define MBEDTLS_CIPHER_C
#define MBEDTLS_CIPHER_MODE_CFB
#define MBEDTLS_CIPHER_MODE_CTR
#define MBEDTLS_BLOWFISH_C
#define MBEDTLS_ARC4_C
#define MBEDTLS_MD_C
#define MBEDTLS_MD5_C
#define MBEDTLS_SHA1_C
#define MBEDTLS_HKDF_C
#define MBEDTLS_PLATFORM_C
#define MBEDTLS_VERSION_C
#endif
