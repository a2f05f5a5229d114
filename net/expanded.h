/*
 * Expanded keys of the datagrams of SIP022, kept from one datagram to the next: a burst has mostly
 * the same, and so has a client that asks and is answered. One of each kind; what was derived from
 * keys of sessions is forgotten within a second. No I/O, no heap.
 */
#ifndef NET_EXPANDED_H
#define NET_EXPANDED_H

#include "crypto/aead.h"
#include "crypto/aes.h"

#include <stdbool.h>

/* To seal with, or to open with; valid until the next call for the same purpose. */
const struct aead_context *expanded_box(const struct aead *aead, const unsigned char *key,
					bool opens);

/* Encrypt or decrypt a block in place. */
void expanded_block(const unsigned char *key, size_t key_len, bool decrypts,
		    unsigned char block[AES_BLOCK]);

/* Wipe all. */
void expanded_forget(void);

#endif
