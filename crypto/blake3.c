/*
 * See blake3.h, and the paper "BLAKE3: one function, fast everywhere" for the function. Called for
 * each handshake of SIP022 and
 * when keys are read. Portable and scalar: 80 ns a block are no cost beside a handshake.
 */
#include "crypto/blake3.h"

#include "core/bytes.h"

#include <sodium.h>
#include <string.h>

enum {
	BLOCK = 64,
	CHUNK = 1024,
	CHUNK_START = 1,
	CHUNK_END = 2,
	PARENT = 4,
	ROOT = 8,
	DERIVE_KEY_CONTEXT = 32,
	DERIVE_KEY_MATERIAL = 64
};

static const uint32_t iv[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
				0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

/* Which word of the block goes where, round by round: the permutation, applied again and again. */
static const unsigned char schedule[7][16] = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8 },
	{ 3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1 },
	{ 10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6 },
	{ 12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4 },
	{ 9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7 },
	{ 11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13 },
};

/* A compression that is still to be done: only then is it known whether it is the root. */
struct node {
	uint32_t cv[8], block[16];
	uint64_t counter;
	uint32_t len, flags;
};

static inline uint32_t rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static inline void quarter(uint32_t v[16], unsigned a, unsigned b, unsigned c, unsigned d,
			   uint32_t x, uint32_t y)
{
	v[a] += v[b] + x;
	v[d] = rotate(v[d] ^ v[a], 16);
	v[c] += v[d];
	v[b] = rotate(v[b] ^ v[c], 12);
	v[a] += v[b] + y;
	v[d] = rotate(v[d] ^ v[a], 8);
	v[c] += v[d];
	v[b] = rotate(v[b] ^ v[c], 7);
}

static void compress(const struct node *node, uint32_t out[16])
{
	uint32_t v[16];

	memcpy(v, node->cv, sizeof node->cv);
	memcpy(v + 8, iv, 4 * sizeof *v);
	v[12] = (uint32_t)node->counter;
	v[13] = (uint32_t)(node->counter >> 32);
	v[14] = node->len;
	v[15] = node->flags;
	for (unsigned round = 0; round < 7; round++) {
		const unsigned char *s = schedule[round];
		const uint32_t *m = node->block;

		quarter(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
		quarter(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
		quarter(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
		quarter(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
		quarter(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
		quarter(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
		quarter(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
		quarter(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
	}
	for (unsigned i = 0; i < 8; i++) {
		out[i] = v[i] ^ v[i + 8];
		out[i + 8] = v[i + 8] ^ node->cv[i];
	}
	sodium_memzero(v, sizeof v);
}

/* cv = the chaining value of the node. */
static void chain(const struct node *node, uint32_t cv[8])
{
	uint32_t words[16];

	compress(node, words);
	memcpy(cv, words, 8 * sizeof *cv);
	sodium_memzero(words, sizeof words);
}

static void load(uint32_t block[16], const unsigned char *in, size_t n)
{
	unsigned char bytes[BLOCK] = { 0 };

	if (n > 0)
		memcpy(bytes, in, n);
	for (unsigned i = 0; i < 16; i++)
		block[i] = get_u32le(bytes + 4 * i);
	sodium_memzero(bytes, sizeof bytes);
}

/* The last compression of a chunk of up to 1024 bytes; those before it are done. */
static void chunk(const uint32_t key[8], uint32_t flags, const unsigned char *in, size_t n,
		  uint64_t number, struct node *node)
{
	memcpy(node->cv, key, sizeof node->cv);
	node->counter = number;
	node->len = BLOCK;
	node->flags = flags | CHUNK_START;
	while (n > BLOCK) {
		load(node->block, in, BLOCK);
		chain(node, node->cv);
		node->flags = flags;
		in += BLOCK;
		n -= BLOCK;
	}
	load(node->block, in, n);
	node->len = (uint32_t)n;
	node->flags |= CHUNK_END;
}

/* The last compression of the tree over in[0..n). It recurses once for each doubling of n. */
static void tree(const uint32_t key[8], uint32_t flags, const unsigned char *in, size_t n,
		 uint64_t number, struct node *node)
{
	size_t left = CHUNK;

	if (n <= CHUNK) {
		chunk(key, flags, in, n, number, node);
		return;
	}
	while (left < n - left)
		left *= 2;

	struct node child;

	tree(key, flags, in, left, number, &child);
	chain(&child, node->block);
	tree(key, flags, in + left, n - left, number + left / CHUNK, &child);
	chain(&child, node->block + 8);
	sodium_memzero(&child, sizeof child);
	memcpy(node->cv, key, sizeof node->cv);
	node->counter = 0;
	node->len = BLOCK;
	node->flags = flags | PARENT;
}

static void hash(const uint32_t key[8], uint32_t flags, const void *in, size_t n,
		 unsigned char *out, size_t out_len)
{
	unsigned char bytes[BLOCK];
	uint32_t words[16];
	struct node root;

	tree(key, flags, in, n, 0, &root);
	root.flags |= ROOT;
	for (root.counter = 0; out_len > 0; root.counter++) {
		size_t take = out_len < BLOCK ? out_len : BLOCK;

		compress(&root, words);
		for (unsigned i = 0; i < 16; i++)
			put_u32le(bytes + 4 * i, words[i]);
		memcpy(out, bytes, take);
		out += take;
		out_len -= take;
	}
	sodium_memzero(&root, sizeof root);
	sodium_memzero(words, sizeof words);
	sodium_memzero(bytes, sizeof bytes);
}

void blake3_hash(const void *in, size_t n, unsigned char *out, size_t out_len)
{
	hash(iv, 0, in, n, out, out_len);
}

void blake3_context(struct blake3_context *context, const char *string)
{
	unsigned char bytes[32];

	hash(iv, DERIVE_KEY_CONTEXT, string, strlen(string), bytes, sizeof bytes);
	for (unsigned i = 0; i < 8; i++)
		context->key[i] = get_u32le(bytes + 4 * i);
}

void blake3_derive(const struct blake3_context *context, const void *material, size_t n,
		   unsigned char *out, size_t out_len)
{
	hash(context->key, DERIVE_KEY_MATERIAL, material, n, out, out_len);
}
