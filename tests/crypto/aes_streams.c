/*
 * AES for the stream ciphers on the CPU's instructions, every width that this CPU has in turn.
 */
#include "crypto/aes_streams.h"

#include "tests/crypto/aes_streams_checks.h"

static bool runs(const struct stream *streams)
{
	return !streams->cipher->available || streams->cipher->available();
}

static void every_level(void **state)
{
	unsigned tested = 0;

	(void)state;
	for (unsigned i = 0; aes_levels[i]; i++) {
		const char *name = aes_levels[i]->cipher->implementation;

		if (aes_levels[i] == aes_streams_mbedtls)
			continue;
		if (!runs(aes_levels[i])) {
			print_message("not on this CPU, and not tested: %s\n", name);
			continue;
		}
		check_streams(aes_levels[i]);
		tested++;
	}
	if (tested == 0) {
		print_message("skipped: no AES of our own on this CPU\n");
		skip();
	}
}

/* The widest that runs is found and listed, and there is always one. */
static void widest_first(void **state)
{
	unsigned i = 0;

	(void)state;
	while (!runs(aes_levels[i]))
		assert_non_null(aes_levels[++i]);
	for (unsigned m = 0; m < AES_STREAMS; m++) {
		assert_ptr_equal(stream_find(aes_levels[i][m].name), &aes_levels[i][m]);
		assert_ptr_equal(stream_list(m), &aes_levels[i][m]);
	}
	while (aes_levels[i + 1])
		i++;
	assert_null(aes_levels[i]->cipher->available);
	print_message("aes-256-cfb: %s\n", stream_find("aes-256-cfb")->cipher->implementation);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_level),
		cmocka_unit_test(widest_first),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
