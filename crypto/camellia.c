/*
 * Camellia as RFC 3713 has it, with its S-boxes and the byte mixing behind them in tables of words:
 * a round is eight look-ups.
 */
#include "crypto/stream.h"

#include "core/bytes.h"

#include <sodium.h>
#include <string.h>

/* SBOX1, sixteen to a row. */
/* clang-format off */
#define SBOX(OF) \
	ROW(OF, 0x00, 112, 130, 44, 236, 179, 39, 192, 229, 228, 133, 87, 53, 234, 12, 174, 65) \
	ROW(OF, 0x10, 35, 239, 107, 147, 69, 25, 165, 33, 237, 14, 79, 78, 29, 101, 146, 189) \
	ROW(OF, 0x20, 134, 184, 175, 143, 124, 235, 31, 206, 62, 48, 220, 95, 94, 197, 11, 26) \
	ROW(OF, 0x30, 166, 225, 57, 202, 213, 71, 93, 61, 217, 1, 90, 214, 81, 86, 108, 77) \
	ROW(OF, 0x40, 139, 13, 154, 102, 251, 204, 176, 45, 116, 18, 43, 32, 240, 177, 132, 153) \
	ROW(OF, 0x50, 223, 76, 203, 194, 52, 126, 118, 5, 109, 183, 169, 49, 209, 23, 4, 215) \
	ROW(OF, 0x60, 20, 88, 58, 97, 222, 27, 17, 28, 50, 15, 156, 22, 83, 24, 242, 34) \
	ROW(OF, 0x70, 254, 68, 207, 178, 195, 181, 122, 145, 36, 8, 232, 168, 96, 252, 105, 80) \
	ROW(OF, 0x80, 170, 208, 160, 125, 161, 137, 98, 151, 84, 91, 30, 149, 224, 255, 100, 210) \
	ROW(OF, 0x90, 16, 196, 0, 72, 163, 247, 117, 219, 138, 3, 230, 218, 9, 63, 221, 148) \
	ROW(OF, 0xa0, 135, 92, 131, 2, 205, 74, 144, 51, 115, 103, 246, 243, 157, 127, 191, 226) \
	ROW(OF, 0xb0, 82, 155, 216, 38, 200, 55, 198, 59, 129, 150, 111, 75, 19, 190, 99, 46) \
	ROW(OF, 0xc0, 233, 121, 167, 140, 159, 110, 188, 142, 41, 245, 249, 182, 47, 253, 180, 89) \
	ROW(OF, 0xd0, 120, 152, 6, 106, 231, 70, 113, 186, 212, 37, 171, 66, 136, 162, 141, 250) \
	ROW(OF, 0xe0, 114, 7, 185, 85, 248, 238, 172, 10, 54, 73, 42, 104, 60, 56, 241, 164) \
	ROW(OF, 0xf0, 64, 40, 211, 123, 187, 201, 67, 193, 21, 227, 173, 244, 119, 199, 128, 158)
/* clang-format on */

/* The other three follow from it. */
#define TURN(v, n) ((((v) << (n)) | ((v) >> (8 - (n)))) & 0xffu)
#define OF1(i, v) [i] = (v)*0x01010100u
#define OF2(i, v) [i] = TURN(v, 1) * 0x00010101u
#define OF3(i, v) [i] = TURN(v, 7) * 0x01000101u
#define OF4(i, v) [TURN(i, 7)] = (v)*0x01010001u

#define HALF(OF, i, a, b, c, d, e, f, g, h)                                             \
	OF(i, a), OF(i + 1, b), OF(i + 2, c), OF(i + 3, d), OF(i + 4, e), OF(i + 5, f), \
		OF(i + 6, g), OF(i + 7, h)
#define ROW(OF, i, a, b, c, d, e, f, g, h, j, k, l, m, n, o, p, q) \
	HALF(OF, i, a, b, c, d, e, f, g, h), HALF(OF, i + 8, j, k, l, m, n, o, p, q),

/* What a byte behind its S-box adds to four bytes of the outcome (RFC 3713 2.4.1). */
static const uint32_t t[4][256] = {
	{ SBOX(OF1) },
	{ SBOX(OF2) },
	{ SBOX(OF3) },
	{ SBOX(OF4) },
};

/* 64 bits: half a block, or a subkey. */
struct half {
	uint32_t left, right;
};

/* The subkeys of six rounds, so that a subkey is added to its half while the look-ups of the round
 * before are under way. `start` is that of rounds 1 and 2; `turn` takes each pair of rounds' away
 * and adds that of the next; behind the last there is a layer of FL. */
struct grand {
	struct half start[2], turn[3][2], layer[2];
};

enum { GRANDS_MAX = 4, SUBKEYS_MAX = 34 };

struct schedule {
	unsigned grands;
	struct grand grand[GRANDS_MAX];
};

static inline uint32_t turn(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

static inline void add(struct half *to, const struct half *key)
{
	to->left ^= key->left;
	to->right ^= key->right;
}

/* to ^= F(x), whose subkey is in x already. */
static inline void add_f(struct half *to, const struct half *x)
{
	uint32_t u = (t[0][x->left >> 24] ^ t[1][x->left >> 16 & 255]) ^
		     (t[2][x->left >> 8 & 255] ^ t[3][x->left & 255]);
	uint32_t v = (t[1][x->right >> 24] ^ t[2][x->right >> 16 & 255]) ^
		     (t[3][x->right >> 8 & 255] ^ t[0][x->right & 255]);

	to->left = (to->left ^ v) ^ u;
	to->right = (to->right ^ v ^ u) ^ turn(u, 24);
}

static inline void add_both(struct half d[2], const struct half key[2])
{
	add(&d[0], &key[0]);
	add(&d[1], &key[1]);
}

/* The layer behind six rounds: FL of one half, its inverse of the other. */
static inline void layer(struct half d[2], const struct half key[2])
{
	d[0].right ^= turn(d[0].left & key[0].left, 1);
	d[0].left ^= d[0].right | key[0].right;
	d[1].left ^= d[1].right | key[1].right;
	d[1].right ^= turn(d[1].left & key[1].left, 1);
}

static inline struct half load(const unsigned char *p)
{
	return (struct half){ get_u32be(p), get_u32be(p + 4) };
}

static inline void load_both(struct half d[2], const unsigned char *p)
{
	d[0] = load(p);
	d[1] = load(p + 8);
}

static inline void store_swapped(unsigned char *p, const struct half d[2])
{
	for (int i = 1; i >= 0; i--, p += 8) {
		put_u32be(p, d[i].left);
		put_u32be(p + 4, d[i].right);
	}
}

/* Encrypt n blocks whose look-ups overlap; the compiler knows n, and is to keep no loop over it. */
#define EACH _Pragma("GCC unroll 2") for (int b = 0; b < n; b++)
static inline __attribute__((always_inline)) void encrypt_some(const struct schedule *s,
							       const unsigned char *in,
							       unsigned char *out, const int n)
{
	const struct grand *grand = s->grand, *last = grand + s->grands - 1;
	struct half d[2][2];

	EACH load_both(d[b], in + 16 * b);
	for (;; grand++) {
		EACH add_both(d[b], grand->start);
		for (int i = 0; i < 3; i++) {
			EACH add_f(&d[b][1], &d[b][0]);
			EACH add(&d[b][0], &grand->turn[i][0]);
			EACH add_f(&d[b][0], &d[b][1]);
			EACH add(&d[b][1], &grand->turn[i][1]);
		}
		if (grand == last)
			break;
		EACH layer(d[b], grand->layer);
	}
	EACH store_swapped(out + 16 * b, d[b]);
}

static void encrypt(const void *schedule, const unsigned char *in, unsigned char *out,
		    size_t blocks)
{
	for (; blocks >= 2; blocks -= 2, in += 32, out += 32)
		encrypt_some(schedule, in, out, 2);
	if (blocks > 0)
		encrypt_some(schedule, in, out, 1);
}

/* Four values that subkeys are cut from, and where: two subkeys each, but the 5th and 6th of the
 * short key's second six rounds come from two (RFC 3713 2.2). */
enum { KL, KR = 128, KA = 256, KB = 384, SOURCES = 4 };
static const uint16_t cuts_short[] = { KL,	KA,	  KL + 15, KA + 15, KA + 30,
				       KL + 45, KA + 45,  KA + 60, KL + 77, KL + 94,
				       KA + 94, KL + 111, KA + 111 };
static const uint16_t cuts_long[] = { KL,      KB,	KR + 15, KA + 15,  KR + 30, KB + 30,
				      KL + 45, KA + 45, KL + 60, KR + 60,  KB + 60, KL + 77,
				      KA + 77, KR + 94, KA + 94, KL + 111, KB + 111 };
enum { SHORT_ODD = 13 /* the subkey that is the lower half of KL turned by 60 */ };

/* 64 bits of the 128 of `value`, from bit `at` on, round the end. */
static struct half cut(const struct half value[2], unsigned at)
{
	uint32_t w[4] = { value[0].left, value[0].right, value[1].left, value[1].right };
	unsigned i = at / 32, n = at % 32;
	struct half out = { w[i % 4], w[(i + 1) % 4] };

	if (n > 0) {
		out.left = out.left << n | out.right >> (32 - n);
		out.right = out.right << n | w[(i + 2) % 4] >> (32 - n);
	}
	return out;
}

/* Two rounds with constants that are digits of square roots (RFC 3713 2.2). */
static void mix(struct half d[2], int first)
{
	static const struct half sigma[] = {
		{ 0xa09e667f, 0x3bcc908b }, { 0xb67ae858, 0x4caa73b2 }, { 0xc6ef372f, 0xe94f82be },
		{ 0x54ff53a5, 0xf1d36f1c }, { 0x10e527fa, 0xde682d1d }, { 0xb05688c2, 0xb3e6c1fd },
	};

	for (int i = 0; i < 2; i++) {
		struct half x = d[i];

		add(&x, &sigma[first + i]);
		add_f(&d[!i], &x);
	}
}

/* The key fills KL and KR: of 192 bits with the complement of its end, of 128 with zeroes. */
static void expand_sources(struct half k[SOURCES][2], const unsigned char *key, size_t n)
{
	static const struct half zeroes = { 0, 0 }, ones = { ~0u, ~0u };
	struct half *kl = k[0], *kr = k[1], *ka = k[2], *kb = k[3];

	load_both(kl, key);
	kr[0] = n > 16 ? load(key + 16) : zeroes;
	kr[1] = n > 24 ? load(key + 24) : kr[0];
	if (n == 24)
		add(&kr[1], &ones);
	memcpy(ka, kl, sizeof k[2]);
	add_both(ka, kr);
	mix(ka, 0);
	add_both(ka, kl);
	mix(ka, 2);
	memcpy(kb, ka, sizeof k[3]);
	add_both(kb, kr);
	mix(kb, 4);
}

/* From the subkeys of a grand round to what encrypt_some() wants. */
static void prepare(struct grand *grand, const struct half *k, bool more)
{
	for (int i = 0; i < 2; i++) {
		grand->start[i] = k[i];
		for (int pair = 0; pair < 3; pair++) {
			grand->turn[pair][i] = k[2 * pair + i];
			if (pair < 2)
				add(&grand->turn[pair][i], &k[2 * pair + 2 + i]);
		}
		if (more)
			grand->layer[i] = k[6 + i];
	}
}

static void expand(void *schedule, const unsigned char *key, size_t n)
{
	struct schedule *s = schedule;
	const uint16_t *cuts = n > 16 ? cuts_long : cuts_short;
	struct half sources[SOURCES][2], k[SUBKEYS_MAX];
	unsigned subkeys = n > 16 ? 34 : 26;

	expand_sources(sources, key, n);
	for (unsigned i = 0; i < subkeys; i++)
		k[i] = cut(sources[cuts[i / 2] / 128], cuts[i / 2] % 128 + 64 * (i % 2));
	if (n == 16)
		k[SHORT_ODD] = cut(sources[0], 60 + 64);
	s->grands = subkeys / 8;
	for (unsigned i = 0; i < s->grands; i++)
		prepare(&s->grand[i], k + 2 + 8 * i, i + 1 < s->grands);
	/* whitening, and at the end the halves change places */
	add_both(s->grand[0].start, k);
	add(&s->grand[s->grands - 1].turn[2][0], &k[subkeys - 1]);
	add(&s->grand[s->grands - 1].turn[2][1], &k[subkeys - 2]);
	sodium_memzero(sources, sizeof sources);
	sodium_memzero(k, sizeof k);
}

const struct block_cipher block_camellia = {
	.implementation = "own",
	.schedule = sizeof(struct schedule),
	.size = 16,
	.expand = expand,
	.encrypt = encrypt,
};
