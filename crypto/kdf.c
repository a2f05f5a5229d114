/*
 * Keys from passwords and subkeys from salts. Called when settings are read and once per
 * direction of a session. Owns nothing; what it computes on the way is wiped.
 */
#include "crypto/kdf.h"

#include "crypto/md5.h"
#include "crypto/sha1.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

void kdf_md5(const void *first, size_t first_len, const void *second, size_t second_len,
	     unsigned char digest[KDF_MD5])
{
	struct md5 md5;

	md5_begin(&md5);
	md5_add(&md5, first, first_len);
	md5_add(&md5, second, second_len);
	md5_end(&md5, digest);
}

void kdf_password(const char *password, size_t password_len, unsigned char *key, size_t n)
{
	unsigned char digest[KDF_MD5] = { 0 };
	size_t digest_len = 0; /* D[-1] is empty */

	while (n > 0) {
		unsigned char next[KDF_MD5];
		size_t take = n < KDF_MD5 ? n : KDF_MD5;

		kdf_md5(digest, digest_len, password, password_len, next);
		memcpy(digest, next, sizeof digest);
		digest_len = sizeof digest;
		sodium_memzero(next, sizeof next);

		memcpy(key, digest, take);
		key += take;
		n -= take;
	}
	sodium_memzero(digest, sizeof digest);
}

void kdf_hkdf_sha1(const void *key, size_t key_len, const void *salt, size_t salt_len,
		   const void *info, size_t info_len, unsigned char *out, size_t out_len)
{
	unsigned char block[SHA1_DIGEST];
	struct sha1_hmac hmac, keyed;

	assert(out_len <= 255 * SHA1_DIGEST);

	/* RFC 5869, 2.2: extract. */
	sha1_hmac_begin(&hmac, salt, salt_len);
	sha1_hmac_add(&hmac, key, key_len);
	sha1_hmac_end(&hmac, block);

	/* 2.3: expand. Each block of output is keyed alike, so the key is worked in once. */
	sha1_hmac_begin(&keyed, block, sizeof block);
	for (unsigned char i = 1; out_len > 0; i++) {
		size_t take = out_len < SHA1_DIGEST ? out_len : SHA1_DIGEST;

		hmac = keyed;
		if (i > 1)
			sha1_hmac_add(&hmac, block, sizeof block);
		sha1_hmac_add(&hmac, info, info_len);
		sha1_hmac_add(&hmac, &i, 1);
		sha1_hmac_end(&hmac, block);

		memcpy(out, block, take);
		out += take;
		out_len -= take;
	}
	sodium_memzero(&keyed, sizeof keyed);
	sodium_memzero(block, sizeof block);
}

void kdf_subkey(const unsigned char *key, const unsigned char *salt, unsigned char *subkey,
		size_t n)
{
	static const char info[] = "ss-subkey";

	kdf_hkdf_sha1(key, n, salt, n, info, sizeof info - 1, subkey, n);
}
