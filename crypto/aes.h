/*
 * Single blocks of AES, for the headers of SIP022 and SIP023. Nothing allocates; where the key is
 * not expanded beforehand, it is wiped.
 */
#ifndef CRYPTO_AES_H
#define CRYPTO_AES_H

#include <stdbool.h>
#include <stddef.h>

enum { AES_BLOCK = 16, AES_SCHEDULE = 320 };

/* A key expanded for one of the two directions. It stays where it was expanded: the library keeps a
 * pointer into it. */
struct aes_schedule {
	_Alignas(16) unsigned char bytes[AES_SCHEDULE];
};

/* The caller wipes the schedule. */
void aes_expand(struct aes_schedule *schedule, const unsigned char *key, size_t key_len,
		bool decrypts);
/* In place, in the direction it was expanded for. */
void aes_crypt_block(const struct aes_schedule *schedule, bool decrypts,
		     unsigned char block[AES_BLOCK]);

/* The same with a key that is expanded for this block alone; keys have 16, 24 or 32 bytes. */
void aes_encrypt_block(const unsigned char *key, size_t key_len, unsigned char block[AES_BLOCK]);
void aes_decrypt_block(const unsigned char *key, size_t key_len, unsigned char block[AES_BLOCK]);

#endif
