/*
 * The widest AES of x86-64 on CPUs that lack its instructions: compiled once more, with each
 * intrinsic of 512 bits made of four of 128. So its arithmetic is tested everywhere; that the
 * compiler makes the right instructions of the intrinsics is tested where gcm.c finds AVX-512.
 */
#include "tests/crypto/gcm_checks.h"

#include "tests/crypto/aes_streams_checks.h"

#include "crypto/cpu_x86.h"

#include <immintrin.h>

#define NARROW __attribute__((target("aes,pclmul,avx2")))
#define STANDIN NARROW static inline __attribute__((always_inline))

struct soft {
	__m128i lane[4];
};

STANDIN struct soft soft_load(const void *p)
{
	struct soft r;

	memcpy(&r, p, sizeof r);
	return r;
}

STANDIN void soft_store(void *p, struct soft v)
{
	memcpy(p, &v, sizeof v);
}

STANDIN struct soft soft_setr(int a0, int a1, int a2, int a3, int b0, int b1, int b2, int b3,
			      int c0, int c1, int c2, int c3, int d0, int d1, int d2, int d3)
{
	return (struct soft){ { _mm_setr_epi32(a0, a1, a2, a3), _mm_setr_epi32(b0, b1, b2, b3),
				_mm_setr_epi32(c0, c1, c2, c3), _mm_setr_epi32(d0, d1, d2, d3) } };
}

/* What does the same in each lane. */
#define LANEWISE(name, parameters, expression)  \
	STANDIN struct soft name parameters {   \
		struct soft r;                  \
                                                \
		for (int i = 0; i < 4; i++)     \
			r.lane[i] = expression; \
		return r;                       \
	}

#define A a.lane[i]
#define B b.lane[i]

LANEWISE(soft_zero, (void), _mm_setzero_si128())
LANEWISE(soft_all, (__m128i block), block)
LANEWISE(soft_first, (__m128i block), i == 0 ? block : _mm_setzero_si128())
LANEWISE(soft_xor, (struct soft a, struct soft b), _mm_xor_si128(A, B))
LANEWISE(soft_and, (struct soft a, struct soft b), _mm_and_si128(A, B))
LANEWISE(soft_add, (struct soft a, struct soft b), _mm_add_epi32(A, B))
LANEWISE(soft_bytes, (struct soft a, struct soft b), _mm_shuffle_epi8(A, B))
LANEWISE(soft_round, (struct soft a, struct soft b), _mm_aesenc_si128(A, B))
LANEWISE(soft_last, (struct soft a, struct soft b), _mm_aesenclast_si128(A, B))
LANEWISE(soft_shuffle_0x4e, (struct soft a), _mm_shuffle_epi32(A, 0x4e))
LANEWISE(soft_times_0x00, (struct soft a, struct soft b), _mm_clmulepi64_si128(A, B, 0x00))
LANEWISE(soft_times_0x01, (struct soft a, struct soft b), _mm_clmulepi64_si128(A, B, 0x01))
LANEWISE(soft_times_0x11, (struct soft a, struct soft b), _mm_clmulepi64_si128(A, B, 0x11))
LANEWISE(soft_logic_0x96, (struct soft a, struct soft b, struct soft c),
	 _mm_xor_si128(_mm_xor_si128(A, B), c.lane[i]))

STANDIN __m256i soft_lower(struct soft v)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(v.lane[0]), v.lane[1], 1);
}

STANDIN __m256i soft_extract_1(struct soft v)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(v.lane[2]), v.lane[3], 1);
}

#include "crypto/lanes_512_x86.h"

/* Some compilers have these as macros. */
#undef _mm512_setr_epi32
#undef _mm512_ternarylogic_epi64
#undef _mm512_shuffle_epi32
#undef _mm512_clmulepi64_epi128
#undef _mm512_extracti64x4_epi64

#define __m512i struct soft
#define _mm512_setzero_si512 soft_zero
#define _mm512_loadu_si512 soft_load
#define _mm512_storeu_si512 soft_store
#define _mm512_xor_si512 soft_xor
#define _mm512_and_si512 soft_and
#define _mm512_add_epi32 soft_add
#define _mm512_shuffle_epi8 soft_bytes
#define _mm512_aesenc_epi128 soft_round
#define _mm512_aesenclast_epi128 soft_last
#define _mm512_broadcast_i32x4 soft_all
#define _mm512_zextsi128_si512 soft_first
#define _mm512_setr_epi32 soft_setr
#define _mm512_castsi512_si256 soft_lower
#define _mm512_ternarylogic_epi64(a, b, c, table) soft_logic_##table(a, b, c)
#define _mm512_shuffle_epi32(v, order) soft_shuffle_##order(v)
#define _mm512_clmulepi64_epi128(a, b, halves) soft_times_##halves(a, b)
#define _mm512_extracti64x4_epi64(v, half) soft_extract_##half(v)

#undef TARGET
#define TARGET NARROW
#undef V_NOW
#define V_NOW(a, b, c) (void)0
#define vec struct soft
#define gcm_vaes512 gcm_standin
#define aes_streams_vaes512 aes_streams_standin
#define cpu_has_vaes512 narrow_enough

static bool narrow_enough(void);

#include "crypto/vaes512_x86.c"

static bool narrow_enough(void)
{
	return cpu_has_aesni() && cpu_has_avx2();
}

static void each_key(void (*check)(const struct aead *aead))
{
	if (!narrow_enough()) {
		print_message("skipped: not even AVX2 on this CPU\n");
		skip();
	}
	for (unsigned k = 0; k < GCM_KEYS; k++)
		check(&gcm_standin[k]);
}

static void like_portable(void **state)
{
	(void)state;
	each_key(check_portable);
}

static void like_libsodium(void **state)
{
	(void)state;
	each_key(check_libsodium);
}

static void at_any_address(void **state)
{
	(void)state;
	each_key(check_addresses);
}

static void between_fences(void **state)
{
	(void)state;
	each_key(check_fenced);
}

static void forged(void **state)
{
	(void)state;
	each_key(check_forged);
}

static void streams(void **state)
{
	(void)state;
	if (!narrow_enough())
		skip();
	check_streams(aes_streams_standin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_portable),  cmocka_unit_test(like_libsodium),
		cmocka_unit_test(at_any_address), cmocka_unit_test(between_fences),
		cmocka_unit_test(forged),	  cmocka_unit_test(streams),
	};

	if (crypto_open() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
