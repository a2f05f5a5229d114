/*
 * The form for CPUs without vectors, on every CPU: compiled once more, under names of its own.
 */
#define chacha_levels plain_levels
#define chacha20_xor plain_chacha20_xor
#define salsa20_xor plain_salsa20_xor
#define hchacha20 plain_hchacha20

#include "crypto/chacha_anycpu.c"

#include "tests/crypto/chacha_checks.h"
#include "tests/wycheproof.h"

static int check_plain(const char *method, const struct aead_vector *v, bool valid)
{
	for (unsigned m = 0; m < CHACHAS; m++)
		if (strcmp(method, chacha_names[m]) == 0)
			return wycheproof_check(plain_levels[0] + m, v, valid);
	return 0;
}

static void chacha_file(void **state)
{
	(void)state;
	wycheproof_chacha(check_plain);
}

static void xchacha_file(void **state)
{
	(void)state;
	wycheproof_xchacha(check_plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHACHA_CHECKS,
		cmocka_unit_test(chacha_file),
		cmocka_unit_test(xchacha_file),
	};

	if (crypto_open() < 0)
		return 1;
	under_test = plain_levels;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
