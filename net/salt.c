/*
 * See salt.h. Called by the wire formats, once per direction or datagram; owns nothing. No I/O.
 */
#include "net/salt.h"

#include "crypto/random.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

/* Printable ASCII, each character as likely as any other: of seven random bits those that print. */
static void printable(unsigned char *to, size_t n)
{
	unsigned char drawn[2 * WIRE_SALT_MAX];

	while (n > 0) {
		randombytes_buf(drawn, sizeof drawn);
		for (size_t i = 0; i < sizeof drawn && n > 0; i++) {
			unsigned char c = drawn[i] & 0x7f;

			if (c < ' ' || c > '~')
				continue;
			*to++ = c;
			n--;
		}
	}
	sodium_memzero(drawn, sizeof drawn);
}

void salt_make(const struct wire_key *key, unsigned char *salt)
{
	size_t fixed = key->prefix_len;

	assert(fixed <= key->salt_len / 2u);
	memcpy(salt, key->prefix, fixed);
	if (key->printable_salt)
		printable(salt + fixed, key->salt_len - fixed);
	else
		random_bytes(salt + fixed, key->salt_len - fixed);
}
