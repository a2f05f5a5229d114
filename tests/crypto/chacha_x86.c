/*
 * ChaCha20 and Salsa20 in each width that this CPU has, at every length, though the widest is
 * otherwise taken for long texts alone.
 */
#include "crypto/cpu_x86.h"
#include "tests/crypto/chacha_checks.h"

static void four_lanes(void **state)
{
	(void)state;
	streams_of(sse2_chacha20_xor, crypto_stream_chacha20_xor_ic);
	streams_of(sse2_salsa20_xor, crypto_stream_salsa20_xor_ic);
	keys_of(sse2_hchacha20);
}

static void eight_lanes(void **state)
{
	(void)state;
	if (!cpu_has_avx2()) {
		print_message("SKIPPED eight lanes: this CPU has no AVX2\n");
		skip();
	}
	streams_of(avx2_chacha20_xor, crypto_stream_chacha20_xor_ic);
	streams_of(avx2_salsa20_xor, crypto_stream_salsa20_xor_ic);
	keys_of(avx2_hchacha20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_lanes),
		cmocka_unit_test(eight_lanes),
		CHACHA_CHECKS,
	};

	if (crypto_open() < 0)
		return 1;
	under_test = chacha_levels;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
