/*
 * What streams and packets of SIP022 have in common: subkeys, timestamps, the kinds of headers.
 */
#ifndef NET_SIP022_H
#define NET_SIP022_H

#include "core/bytes.h"
#include "crypto/aes.h"
#include "crypto/blake3.h"
#include "net/users.h"
#include "net/wire.h"

enum {
	SIP022_REQUEST = 0, /* type of a header that a client sends */
	SIP022_ANSWER = 1,
	SIP022_TOLERANCE = 30 /* seconds between two clocks */
};

/* Derive a subkey of key->key_len bytes from a key of as many and salt[0..n), n <=
 * WIRE_SALT_MAX. */
void sip022_session_subkey(const struct wire_key *key, const unsigned char *psk,
			   const unsigned char *salt, size_t n, unsigned char *subkey);
void sip022_identity_subkey(const struct wire_key *key, const unsigned char *psk,
			    const unsigned char *salt, size_t n, unsigned char *subkey);

/* Is the timestamp of 8 bytes within the tolerance of the clock? */
static inline bool sip022_timely(const unsigned char *stamp, uint64_t now)
{
	uint64_t then = get_u64be(stamp);

	return (now > then ? now - then : then - now) <= SIP022_TOLERANCE;
}

/* Type and timestamp, 9 bytes. */
static inline void sip022_put_type(unsigned char *to, const struct wire_key *key)
{
	to[0] = key->server ? SIP022_ANSWER : SIP022_REQUEST;
	put_u64be(to + 1, key->clock());
}

/* The key that a peer shares with us: its own, if it is a user's. */
static inline const unsigned char *sip022_psk(const struct wire_key *key, const struct user *user)
{
	return user ? user->key : key->key;
}

#endif
