/*
 * See rc4.h; and the methods made of it: with the key as it is, so that all streams
 * are the same, or with one made of key and IV. Reached through stream.c's table.
 */
#include "crypto/rc4.h"

#include "crypto/kdf.h"
#include "crypto/stream.h"

#include <sodium.h>
#include <string.h>

enum { KEY = 16 };

_Static_assert(sizeof(struct rc4) <= STREAM_EXTRA_MAX, "RC4's state does not fit");

void rc4_begin(struct rc4 *rc4, const unsigned char *key, size_t n)
{
	unsigned char *s = rc4->s, j = 0;

	for (unsigned i = 0; i < 256; i++)
		s[i] = (unsigned char)i;
	for (unsigned i = 0; i < 256; i++) {
		unsigned char si = s[i];

		j = (unsigned char)(j + si + key[i % n]);
		s[i] = s[j];
		s[j] = si;
	}
	rc4->i = rc4->j = 0;
}

void rc4_apply(struct rc4 *rc4, unsigned char *text, size_t n)
{
	unsigned char *s = rc4->s, i = rc4->i, j = rc4->j;

	while (n-- > 0) {
		unsigned char si = s[++i], sj;

		j = (unsigned char)(j + si);
		sj = s[j];
		s[i] = sj;
		s[j] = si;
		*text++ ^= s[(unsigned char)(si + sj)];
	}
	rc4->i = i;
	rc4->j = j;
}

static void keep_key(const struct stream *self, void *schedule, const unsigned char *key)
{
	(void)self;
	memcpy(schedule, key, KEY);
}

static void begin_plain(const struct stream *self, const void *schedule, struct stream_state *state,
			const unsigned char *iv)
{
	(void)self, (void)iv;
	rc4_begin(state->extra, schedule, KEY);
}

static void begin_md5(const struct stream *self, const void *schedule, struct stream_state *state,
		      const unsigned char *iv)
{
	unsigned char key[KDF_MD5];

	kdf_md5(schedule, KEY, iv, self->iv, key);
	rc4_begin(state->extra, key, sizeof key);
	sodium_memzero(key, sizeof key);
}

static void apply(const struct stream *self, const void *schedule, struct stream_state *state,
		  unsigned char *text, size_t n)
{
	(void)self, (void)schedule;
	rc4_apply(state->extra, text, n);
}

const struct stream_kind stream_rc4 = {
	.schedule = KEY,
	.expand = keep_key,
	.extra = sizeof(struct rc4),
	.begin = begin_plain,
	.encrypt = apply,
	.decrypt = apply,
};

const struct stream_kind stream_rc4_md5 = {
	.schedule = KEY,
	.expand = keep_key,
	.extra = sizeof(struct rc4),
	.begin = begin_md5,
	.encrypt = apply,
	.decrypt = apply,
};
