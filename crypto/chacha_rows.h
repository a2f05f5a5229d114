/*
 * Two blocks of ChaCha with AVX2, a row of both in each vector: the part of crypto/chacha_lanes.h
 * that serves short texts and HChaCha. Eight blocks side by side take half as long again and four
 * times as many instructions.
 */
#ifndef CRYPTO_CHACHA_ROWS_H
#define CRYPTO_CHACHA_ROWS_H

/* Each block's row moved by some words, so that diagonals become columns and columns diagonals. */
#define MOVED(x, order) (words) _mm256_shuffle_epi32((__m256i)(x), order)

/* 16 bytes for both blocks. */
INLINE words both(const void *bytes)
{
	return (words)_mm256_broadcastsi128_si256(_mm_loadu_si128(bytes));
}

/* x: what start becomes by the rounds. */
INLINE void rows_permute(words x[4], words start[4], const unsigned char *key,
			 const unsigned char last[16], unsigned rounds)
{
	start[0] = both(constants);
	start[1] = both(key);
	start[2] = both(key + 16);
	start[3] = (words)((quads)both(last) + (quads){ 0, 0, 1, 0 });
	UNROLLED
	for (unsigned i = 0; i < 4; i++)
		x[i] = start[i];
	for (; rounds > 0; rounds -= 2) {
		quarter(x, 0, 1, 2, 3);
		x[1] = MOVED(x[1], 0x39);
		x[2] = MOVED(x[2], 0x4e);
		x[3] = MOVED(x[3], 0x93);
		quarter(x, 0, 1, 2, 3);
		x[1] = MOVED(x[1], 0x93);
		x[2] = MOVED(x[2], 0x4e);
		x[3] = MOVED(x[3], 0x39);
	}
}

/* If that suffices for n bytes: two blocks of key stream. */
static TARGET bool rows_stream(const unsigned char *key, const unsigned char last[16],
			       unsigned rounds, size_t n, unsigned char to[2 * BLOCK])
{
	words x[4], start[4];

	if (n > 2 * BLOCK)
		return false;
	rows_permute(x, start, key, last, rounds);
	UNROLLED
	for (unsigned i = 0; i < 4; i++) {
		__m256i row = (__m256i)(x[i] + start[i]);

		_mm_storeu_si128((__m128i *)(to + 16 * i), _mm256_castsi256_si128(row));
		_mm_storeu_si128((__m128i *)(to + BLOCK + 16 * i),
				 _mm256_extracti128_si256(row, 1));
	}
	return true;
}

/* HChaCha: a key from a key and 16 bytes of nonce. */
static TARGET void derive(const unsigned char *key, const unsigned char nonce[16], unsigned rounds,
			  unsigned char to[KEY])
{
	words x[4], start[4];

	rows_permute(x, start, key, nonce, rounds);
	_mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128((__m256i)x[0]));
	_mm_storeu_si128((__m128i *)(to + 16), _mm256_castsi256_si128((__m256i)x[3]));
}

#endif
