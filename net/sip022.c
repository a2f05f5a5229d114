/*
 * See sip022.h. Called for handshakes and packets; owns nothing. No I/O.
 */
#include "net/sip022.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

/* The contexts of derive_key (SIP022: session subkey; SIP023: identity subkey) worked in, which a
 * test makes again. */
static const struct blake3_context session_context = { { 0x31ae821a, 0xa375eea4, 0xea62276a,
							 0x218e45be, 0x86bb309d, 0xed8ae6db,
							 0x9af9739c, 0x5f626ac7 } };
static const struct blake3_context identity_context = { { 0xacfe3e97, 0xf82d4d79, 0xc5443716,
							  0x5952c0c8, 0xdab8c75c, 0xba33e200,
							  0x7b7ef803, 0xb5a6ad68 } };

static void derive(const struct blake3_context *context, const struct wire_key *key,
		   const unsigned char *psk, const unsigned char *salt, size_t n,
		   unsigned char *subkey)
{
	unsigned char material[WIRE_KEY_MAX + WIRE_SALT_MAX];

	assert(n <= WIRE_SALT_MAX);
	memcpy(material, psk, key->key_len);
	memcpy(material + key->key_len, salt, n);
	blake3_derive(context, material, key->key_len + n, subkey, key->key_len);
	sodium_memzero(material, sizeof material);
}

void sip022_session_subkey(const struct wire_key *key, const unsigned char *psk,
			   const unsigned char *salt, size_t n, unsigned char *subkey)
{
	derive(&session_context, key, psk, salt, n, subkey);
}

void sip022_identity_subkey(const struct wire_key *key, const unsigned char *psk,
			    const unsigned char *salt, size_t n, unsigned char *subkey)
{
	derive(&identity_context, key, psk, salt, n, subkey);
}
