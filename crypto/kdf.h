/*
 * From secrets to keys. Nothing allocates; intermediate secrets are wiped.
 */
#ifndef CRYPTO_KDF_H
#define CRYPTO_KDF_H

#include <stddef.h>

enum { KDF_MD5 = 16 };

/* digest = MD5(first || second). */
void kdf_md5(const void *first, size_t first_len, const void *second, size_t second_len,
	     unsigned char digest[KDF_MD5]);

/* EVP_BytesToKey, MD5, one round, no salt (as OpenSSL makes keys): key[0..n) from the password. */
void kdf_password(const char *password, size_t password_len, unsigned char *key, size_t n);

/* HKDF-SHA1 (RFC 5869) with info "ss-subkey" (SIP004: key derivation); key, salt and subkey are n
 * <= 32 bytes. */
void kdf_subkey(const unsigned char *key, const unsigned char *salt, unsigned char *subkey,
		size_t n);

/* HKDF-SHA1 at large (RFC 5869), out_len <= 255 * 20. */
void kdf_hkdf_sha1(const void *key, size_t key_len, const void *salt, size_t salt_len,
		   const void *info, size_t info_len, unsigned char *out, size_t out_len);

#endif
