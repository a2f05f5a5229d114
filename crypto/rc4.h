/*
 * RC4: ours, since mbed TLS 3 lost it.
 */
#ifndef CRYPTO_RC4_H
#define CRYPTO_RC4_H

#include <stddef.h>

struct rc4 {
	unsigned char s[256];
	unsigned char i, j;
};

/* Begin with key[0..n), 1 <= n <= 256. The owner wipes the state. */
void rc4_begin(struct rc4 *rc4, const unsigned char *key, size_t n);

/* text ^= the next n bytes of key stream. */
void rc4_apply(struct rc4 *rc4, unsigned char *text, size_t n);

#endif
