/*
 * See md5.h. Called by kdf.c, once for each key; so it is written to be small. Owns nothing.
 * md5_end() wipes the state, but not what compress() leaves on the stack and in registers.
 */
#include "crypto/md5.h"

#include "core/bytes.h"

#include <sodium.h>
#include <string.h>

/* RFC 1321, 3.4: the whole parts of 2^32 * |sin(1 + i)|. */
static const uint32_t sines[64] = {
	0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
	0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
	0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d,
	0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
	0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122,
	0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
	0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244,
	0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
	0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
	0xeb86d391,
};

/* What a round does with each of its sixteen words. */
static const struct {
	unsigned char turn[4];	    /* bits, in turn */
	unsigned char first, apart; /* which words */
} rounds[4] = {
	{ { 7, 12, 17, 22 }, 0, 1 },
	{ { 5, 9, 14, 20 }, 1, 5 },
	{ { 4, 11, 16, 23 }, 5, 3 },
	{ { 6, 10, 15, 21 }, 0, 7 },
};

static uint32_t mix(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
	if (round < 2)
		return round == 0 ? d ^ (b & (c ^ d)) : c ^ (d & (b ^ c));
	return round == 2 ? b ^ c ^ d : c ^ (b | ~d);
}

static void compress(uint32_t h[4], const unsigned char block[MD5_BLOCK])
{
	uint32_t a = h[0], b = h[1], c = h[2], d = h[3];

	for (unsigned i = 0; i < 64; i++) {
		unsigned round = i / 16, turn = rounds[round].turn[i % 4];
		unsigned word = (rounds[round].first + rounds[round].apart * i) % 16;
		uint32_t sum = a + mix(round, b, c, d) + sines[i] + get_u32le(block + 4 * word);

		a = d;
		d = c;
		c = b;
		b += sum << turn | sum >> (32 - turn);
	}
	h[0] += a;
	h[1] += b;
	h[2] += c;
	h[3] += d;
}

void md5_begin(struct md5 *md5)
{
	static const uint32_t start[4] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };

	memcpy(md5->h, start, sizeof start);
	md5->n = 0;
}

void md5_add(struct md5 *md5, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	while (n > 0) {
		size_t held = md5->n % MD5_BLOCK;
		size_t take = MD5_BLOCK - held < n ? MD5_BLOCK - held : n;

		memcpy(md5->block + held, p, take);
		if (held + take == MD5_BLOCK)
			compress(md5->h, md5->block);
		md5->n += take;
		p += take;
		n -= take;
	}
}

void md5_end(struct md5 *md5, unsigned char digest[MD5_DIGEST])
{
	static const unsigned char padding[MD5_BLOCK] = { 0x80 };
	unsigned char bits[8];

	put_u64le(bits, md5->n * 8);
	md5_add(md5, padding, 1 + (MD5_BLOCK - 1 + 56 - md5->n % MD5_BLOCK) % MD5_BLOCK);
	md5_add(md5, bits, sizeof bits);

	for (unsigned i = 0; i < 4; i++)
		put_u32le(digest + 4 * i, md5->h[i]);
	sodium_memzero(md5, sizeof *md5);
}
