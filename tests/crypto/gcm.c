/*
 * AES-GCM on the CPU's instructions, every width that this CPU has in turn: against the portable
 * form and libsodium, at every length and address, between pages that must not be touched. The
 * vectors of tests/crypto/aead.c go through the same implementations.
 */
#include "crypto/gcm.h"

#include "tests/crypto/gcm_checks.h"

static const char *const names[GCM_KEYS] = { "aes-128-gcm", "aes-192-gcm", "aes-256-gcm" };

/* For each width there is: check each method. Widths that the CPU lacks are named. */
static void each_level(void (*check)(const struct aead *aead))
{
	unsigned tested = 0;

	for (unsigned i = 0; gcm_levels[i]; i++) {
		const struct aead *level = gcm_levels[i];

		if (!level->available()) {
			print_message("not on this CPU, and not tested: %s\n",
				      level->implementation);
			continue;
		}
		for (unsigned k = 0; k < GCM_KEYS; k++)
			check(&level[k]);
		tested++;
	}
	if (tested == 0) {
		print_message("skipped: no AES-GCM of our own on this CPU\n");
		skip();
	}
}

static void check_name(const struct aead *aead)
{
	unsigned k = aead->key / 8u - 2;

	assert_string_equal(aead->name, names[k]);
	assert_int_equal(aead->nonce, 12);
	assert_ptr_equal(aead_find_implementation(aead->name, aead->implementation), aead);
}

static void found_by_name(void **state)
{
	(void)state;
	each_level(check_name);
}

/* What is found without asking for a width is the widest that runs. */
static void widest_first(void **state)
{
	(void)state;
	for (unsigned k = 0; k < GCM_KEYS; k++) {
		const struct aead *found = aead_find(names[k]), *right = NULL;

		for (unsigned i = 0; gcm_levels[i]; i++) {
			const struct aead *level = &gcm_levels[i][k];

			if (!level->available())
				assert_null(
					aead_find_implementation(names[k], level->implementation));
			else if (!right)
				right = level;
		}
		print_message("%s: %s\n", names[k], found->implementation);
		if (right)
			assert_ptr_equal(found, right);
	}
}

static void like_portable(void **state)
{
	(void)state;
	each_level(check_portable);
}

static void like_libsodium(void **state)
{
	(void)state;
	if (!sodium_find("aes-256-gcm")) {
		print_message("skipped: libsodium has no AES-256-GCM on this CPU\n");
		skip();
	}
	each_level(check_libsodium);
}

static void at_any_address(void **state)
{
	(void)state;
	each_level(check_addresses);
}

static void between_fences(void **state)
{
	(void)state;
	each_level(check_fenced);
}

static void forged(void **state)
{
	(void)state;
	each_level(check_forged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_by_name),  cmocka_unit_test(widest_first),
		cmocka_unit_test(like_portable),  cmocka_unit_test(like_libsodium),
		cmocka_unit_test(at_any_address), cmocka_unit_test(between_fences),
		cmocka_unit_test(forged),
	};

	if (crypto_open() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
