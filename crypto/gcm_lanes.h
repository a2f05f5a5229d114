/*
 * AES-GCM (NIST SP 800-38D) on the CPU's instructions for AES and for carry-less multiplication. A
 * template: the file of a level includes one of lanes_*.h before it and GCM_METHODS() after it.
 *
 * GHASH. A block is turned round byte by byte, so that in a register the highest bit is x^0. Then a
 * carry-less product is one bit too low; the powers of H in the table are multiplied by x for that.
 * Blocks are hashed a batch at a time, each times the power of H that its distance from the end
 * asks for, and the sum of the products is reduced once. A product takes three multiplications
 * (Karatsuba), for which the sum of each power's halves is kept too.
 *
 * Sealing, a batch is encrypted while the one before it is hashed; opening, the batch itself is.
 * The rest, less than a batch, goes through a buffer of key stream, made together with the mask of
 * the tag. Nothing is read or written beyond text[0..n), and no branch or address depends on a key
 * or on data.
 */
#ifndef CRYPTO_GCM_LANES_H
#define CRYPTO_GCM_LANES_H

#include "crypto/aead.h"
#include "crypto/aes_lanes.h"
#include "crypto/gcm.h"

#include "core/bytes.h"

enum { POWERS = BATCH / 16 + 1 /* the blocks of a batch and that of the lengths */ };

_Static_assert((int)POWERS < (int)GCM_END, "a batch has its powers");
_Static_assert(GCM_ROOM - GCM_END >= LANES - 1, "the last vector of powers is whole");

/* Products not yet reduced: the lowest halves', the highest halves', the sums' of halves. */
struct products {
	vec low, high, middle;
};

INLINE void multiply(struct products *p, vec v, vec power, vec fold)
{
	p->low = V_XOR(p->low, V_TIMES(v, power, 0x00));
	p->high = V_XOR(p->high, V_TIMES(v, power, 0x11));
	p->middle = V_XOR(p->middle, V_TIMES(V_XOR(v, V_SWAP(v)), fold, 0x00));
	V_NOW(p->low, p->high, p->middle);
}

/* Modulo x^128 + x^7 + x^2 + x + 1, 64 bits at a time, in each lane. */
INLINE vec reduce(const struct products *p)
{
	const vec modulus = V_ALL(L_HALVES(0xc200000000000000, 1));
	vec middle = V_XOR3(p->middle, p->low, p->high);

	middle = V_XOR3(middle, V_SWAP(p->low), V_TIMES(modulus, p->low, 0x01));
	return V_XOR3(p->high, V_SWAP(middle), V_TIMES(modulus, middle, 0x01));
}

/* --- the key stream */

/* The first block's is 2. */
INLINE vec first_counter(lane start)
{
	return V_ADD(aes_lanes(start), V_ALL(L_HALVES(0, 1)));
}

/* Key stream for a text's first batch, or for its rest of n bytes; and the mask of its tag, which
 * is the block of the counter 1. */
TARGET static lane make_stream(const struct gcm *gcm, lane start, vec *counter, vec x[VECTORS],
			       size_t n)
{
	lane mask = L_BYTES(start, AES_TURN());
	const struct aes_keys *aes = &gcm->aes;
	vec y[VECTORS];

	if (n <= VECTOR) {
		vec v = V_XOR(aes_turn(*counter), V_ALL(aes->key[0]));

		mask = L_XOR(mask, aes->key[0]);
		for (unsigned i = 1; i < aes->rounds; i++) {
			mask = L_ROUND(mask, aes->key[i]);
			v = V_ROUND(v, V_ALL(aes->key[i]));
		}
		V_STORE(x, V_LAST(v, V_ALL(aes->key[aes->rounds])));
		return L_LAST(mask, aes->key[aes->rounds]);
	}
	aes_counters(&gcm->aes, counter, y);
	aes_rounds(y, aes);
	aes_store(y, x);
	return aes_encrypt_one(aes, mask);
}

/* --- whole batches */

/* One vector of a batch. */
INLINE void hash_vector(const struct gcm *gcm, struct products *p, vec v, unsigned i)
{
	unsigned at = GCM_END - (POWERS - 1) + LANES * i;

	multiply(p, v, V_LOAD(gcm->power + at), V_LOAD(gcm->fold + at));
}

/* x = key stream of the next batch, while the batch at `text` is hashed on top of `hash`. */
INLINE lane stream_and_hash(const struct gcm *gcm, vec *counter, vec x[VECTORS],
			    const unsigned char *text, lane hash)
{
	const lane *key = gcm->aes.key;
	struct products p = { V_ZERO(), V_ZERO(), V_ZERO() };

	aes_counters(&gcm->aes, counter, x);
	hash_vector(gcm, &p, V_XOR(aes_turn(V_LOAD(text)), V_FIRST(hash)), 0);
	aes_round(x, key + 1);
#define ACT(i)                                                                \
	if (i > 0)                                                            \
		hash_vector(gcm, &p, aes_turn(V_LOAD(text + VECTOR * i)), i); \
	aes_round(x, key + 2 + i);
	EACH(ACT)
#undef ACT
	for (unsigned i = 2 + VECTORS; i < 10; i++)
		aes_round(x, key + i);
	hash = V_SUM(reduce(&p));
	aes_finish(x, &gcm->aes);
	return hash;
}

/* --- what is left */

/* n bytes, less than a vector; zeros behind them. */
INLINE vec load_part(const unsigned char *from, size_t n)
{
	vec part = V_ZERO();

	aes_copy((unsigned char *)&part, from, n);
	return part;
}

/* The first n bytes of v, zeros behind them. */
INLINE vec cut(vec v, size_t n)
{
	static const unsigned char mask[2 * 64] = { [0 ... 63] = 255 };

	return V_AND(v, V_LOAD(mask + 64 - n));
}

INLINE void hash_at(const struct gcm *gcm, struct products *p, vec v, size_t at)
{
	multiply(p, v, V_LOAD(gcm->power + at), V_LOAD(gcm->fold + at));
}

/* A text's end of n bytes, less than a batch, and the block of lengths: the hash of all. The end
 * is encrypted or decrypted with the key stream x. */
INLINE lane finish(const struct gcm *gcm, lane hash, unsigned char *text, size_t n, const vec *x,
		   bool seals, lane lengths)
{
	struct products p = { V_ZERO(), V_ZERO(), V_ZERO() };
	size_t at = GCM_END - 1 - (n + 15) / 16;
	vec before = V_FIRST(hash);

	for (; n >= VECTOR; n -= VECTOR, text += VECTOR, at += LANES) {
		vec in = V_LOAD(text), out = V_XOR(in, *x++);

		V_STORE(text, out);
		hash_at(gcm, &p, V_XOR(aes_turn(seals ? out : in), before), at);
		before = V_ZERO();
	}
	if (n > 0) {
		vec in = load_part(text, n), out = cut(V_XOR(in, *x), n);

		aes_copy(text, (const unsigned char *)&out, n);
		hash_at(gcm, &p, V_XOR(aes_turn(seals ? out : in), before), at);
		before = V_ZERO();
	}
	hash_at(gcm, &p, V_XOR(V_FIRST(lengths), before), GCM_END - 1);
	return V_SUM(reduce(&p));
}

INLINE lane start_counter(const unsigned char *nonce)
{
	return L_HALVES(get_u64be(nonce), (uint64_t)get_u32be(nonce + 8) << 32 | 1);
}

INLINE lane both_lengths(size_t ad_len, size_t n)
{
	return L_HALVES((uint64_t)ad_len * 8, (uint64_t)n * 8);
}

/* Encrypts or decrypts: the tag. A batch is hashed while key stream is made: for sealing the next
 * one's, as it must be encrypted by then, for opening its own. */
TARGET static lane gcm_crypt(const struct gcm *gcm, lane start, const void *ad, size_t ad_len,
			     unsigned char *text, size_t n, bool seals)
{
	lane lengths = both_lengths(ad_len, n), mask = L_ZERO();
	lane hash = ad_len > 0 ? gcm_common_hash(gcm, ad, ad_len) : L_ZERO();
	vec counter = first_counter(start), x[VECTORS], stream[VECTORS];
	size_t ahead = seals ? BATCH : 0;

	if (seals || n < BATCH)
		mask = make_stream(gcm, start, &counter, stream, n);
	if (n >= BATCH) {
		if (seals)
			aes_mix(stream, text);
		for (; n >= BATCH; text += BATCH) {
			hash = stream_and_hash(gcm, &counter, x, text, hash);
			n -= BATCH;
			if (n < ahead)
				break;
			aes_mix(x, text + ahead);
		}
		if (seals) {
			text += BATCH;
			memcpy(stream, x, sizeof x);
		} else {
			mask = make_stream(gcm, start, &counter, stream, n);
		}
	}
	hash = finish(gcm, hash, text, n, stream, seals, lengths);
	aes_wipe(stream);
	return L_XOR(L_BYTES(hash, AES_TURN()), mask);
}

TARGET static void gcm_seal(const struct aead_context *context, const unsigned char *nonce,
			    const void *ad, size_t ad_len, unsigned char *text, size_t n,
			    unsigned char tag[AEAD_TAG])
{
	const struct gcm *gcm = (const struct gcm *)context->bytes;

	L_STORE(tag, gcm_crypt(gcm, start_counter(nonce), ad, ad_len, text, n, true));
}

TARGET static int gcm_open(const struct aead_context *context, const unsigned char *nonce,
			   const void *ad, size_t ad_len, unsigned char *text, size_t n,
			   const unsigned char tag[AEAD_TAG])
{
	const struct gcm *gcm = (const struct gcm *)context->bytes;
	lane right = gcm_crypt(gcm, start_counter(nonce), ad, ad_len, text, n, false);

	return L_SAME(right, L_LOAD(tag)) ? 0 : -1;
}

/* --- the three methods */

static void gcm_expand_128(struct aead_context *context, const unsigned char *key)
{
	gcm_common_expand((struct gcm *)context->bytes, key, 16, POWERS);
}

static void gcm_expand_192(struct aead_context *context, const unsigned char *key)
{
	gcm_common_expand((struct gcm *)context->bytes, key, 24, POWERS);
}

static void gcm_expand_256(struct aead_context *context, const unsigned char *key)
{
	gcm_common_expand((struct gcm *)context->bytes, key, 32, POWERS);
}

#define GCM_METHOD(bits, level, can)                                                          \
	{                                                                                     \
		.name = "aes-" #bits "-gcm", .implementation = level, .key = bits / 8,        \
		.nonce = 12, .available = can, .expand = gcm_expand_##bits, .seal = gcm_seal, \
		.open = gcm_open,                                                             \
	}

/* What a level defines: the methods in the order of gcm.h. */
#define GCM_METHODS(level, can)                                           \
	{                                                                 \
		GCM_METHOD(128, level, can), GCM_METHOD(192, level, can), \
			GCM_METHOD(256, level, can)                       \
	}

#endif
