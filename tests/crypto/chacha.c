/*
 * ChaCha20, Salsa20 and ChaCha-Poly1305 as they are chosen from on this CPU.
 */
#include "tests/crypto/chacha_checks.h"

/* The first level that the CPU has is what a method's name alone means. */
static void says_levels(void **state)
{
	const struct aead *best = NULL;

	(void)state;
	for (unsigned l = 0; chacha_levels[l]; l++) {
		const struct aead *aead = chacha_levels[l];
		bool has = !aead->available || aead->available();

		print_message("%s: %s\n", aead->implementation,
			      has ? "tested" : "LACKING on this CPU");
		if (has && !best)
			best = aead;
		for (unsigned m = 0; m < CHACHAS && has; m++)
			assert_ptr_equal(aead_find_implementation(chacha_names[m],
								  aead->implementation),
					 aead + m);
	}
	for (unsigned m = 0; m < CHACHAS; m++)
		assert_ptr_equal(aead_find(chacha_names[m]), best + m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(says_levels), CHACHA_CHECKS };

	if (crypto_open() < 0)
		return 1;
	under_test = chacha_levels;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
