/*
 * The table of stream ciphers, and the one that is none. Called when settings are
 * read and for listings; what it returns is const and lives for ever.
 */
#include "crypto/stream.h"

#include "crypto/aes_streams.h"

#include <strings.h>

static void expand_nothing(const struct stream *self, void *schedule, const unsigned char *key)
{
	(void)self, (void)schedule, (void)key;
}

static void begin_nothing(const struct stream *self, const void *schedule,
			  struct stream_state *state, const unsigned char *iv)
{
	(void)self, (void)schedule, (void)state, (void)iv;
}

static void change_nothing(const struct stream *self, const void *schedule,
			   struct stream_state *state, unsigned char *text, size_t n)
{
	(void)self, (void)schedule, (void)state, (void)text, (void)n;
}

static const struct stream_kind nothing = {
	.expand = expand_nothing,
	.begin = begin_nothing,
	.encrypt = change_nothing,
	.decrypt = change_nothing,
};

/* All but those over AES. The keys of the last two encrypt nothing: of `table`, the first 8 bytes
 * of the password's MD5, which are those of every key made from it, choose the permutation; `none`
 * has a key so that the times which hang on it are not everybody's. */
static const struct stream methods[] = {
	{ "rc4-md5", 16, 16, &stream_rc4_md5, NULL },
	{ "rc4-md5-6", 16, 6, &stream_rc4_md5, NULL },
	{ "rc4", 16, 0, &stream_rc4, NULL },
	{ "camellia-128-cfb", 16, 16, &stream_cfb, &block_camellia },
	{ "camellia-192-cfb", 24, 16, &stream_cfb, &block_camellia },
	{ "camellia-256-cfb", 32, 16, &stream_cfb, &block_camellia },
	{ "bf-cfb", 16, 8, &stream_cfb, &block_blowfish },
	{ "salsa20", 32, 8, &stream_salsa20, NULL },
	{ "chacha20", 32, 8, &stream_chacha20, NULL },
	{ "chacha20-ietf", 32, 12, &stream_chacha20_ietf, NULL },
	{ "xchacha20", 32, 24, &stream_xchacha20, NULL },
	{ "table", 16, 0, &stream_substitution, NULL },
	{ "none", 16, 0, &nothing, NULL },
};

enum { METHODS = sizeof methods / sizeof methods[0] };

/* The first implementation of AES that runs here. */
static const struct stream *aes_methods(void)
{
	const struct stream *const *level = aes_levels;

	while ((*level)->cipher->available && !(*level)->cipher->available())
		level++;
	return *level;
}

static const struct stream *find(const struct stream *among, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (strcasecmp(name, among[i].name) == 0)
			return &among[i];
	return NULL;
}

const struct stream *stream_find(const char *name)
{
	const struct stream *stream = find(methods, METHODS, name);

	return stream ? stream : find(aes_methods(), AES_STREAMS, name);
}

const struct stream *stream_list(unsigned i)
{
	if (i < AES_STREAMS)
		return aes_methods() + i;
	i -= AES_STREAMS;
	return i < METHODS ? &methods[i] : NULL;
}
