/*
 * See expanded.h. Called by packet_2022.c; the engine lets it forget, once a second.
 */
#include "net/expanded.h"

#include <sodium.h>
#include <string.h>

/* Both keys of a comparison are ours, so its time tells nobody anything. [0] to seal, to encrypt;
 * [1] to open, to decrypt. All zero: none. */
static struct {
	struct {
		struct aead_context context;
		const struct aead *aead;
		unsigned char key[AEAD_KEY_MAX];
	} boxes[2];
	struct {
		struct aes_schedule schedule;
		unsigned char key[AEAD_KEY_MAX];
		size_t key_len;
	} blocks[2];
} last;

const struct aead_context *expanded_box(const struct aead *aead, const unsigned char *key,
					bool opens)
{
	if (last.boxes[opens].aead != aead || memcmp(last.boxes[opens].key, key, aead->key) != 0) {
		aead->expand(&last.boxes[opens].context, key);
		last.boxes[opens].aead = aead;
		memcpy(last.boxes[opens].key, key, aead->key);
	}
	return &last.boxes[opens].context;
}

void expanded_block(const unsigned char *key, size_t key_len, bool decrypts,
		    unsigned char block[AES_BLOCK])
{
	if (last.blocks[decrypts].key_len != key_len ||
	    memcmp(last.blocks[decrypts].key, key, key_len) != 0) {
		aes_expand(&last.blocks[decrypts].schedule, key, key_len, decrypts);
		last.blocks[decrypts].key_len = key_len;
		memcpy(last.blocks[decrypts].key, key, key_len);
	}
	aes_crypt_block(&last.blocks[decrypts].schedule, decrypts, block);
}

void expanded_forget(void)
{
	sodium_memzero(&last, sizeof last);
}
