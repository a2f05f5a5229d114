/*
 * Single blocks of AES, for the headers of SIP022 and SIP023. Nothing allocates; the expanded key is
 * wiped.
 */
#ifndef CRYPTO_AES_H
#define CRYPTO_AES_H

#include <stddef.h>

enum { AES_BLOCK = 16 };

/* In place; the key has 16, 24 or 32 bytes. */
void aes_encrypt_block(const unsigned char *key, size_t key_len, unsigned char block[AES_BLOCK]);
void aes_decrypt_block(const unsigned char *key, size_t key_len, unsigned char block[AES_BLOCK]);

#endif
