/*
 * Salts: random, or made to look like something else.
 */
#include "net/salt.h"

#include "tests/unit.h"

#include <sodium.h>

static void set(struct wire_key *key, const char *method)
{
	static const unsigned char bytes[WIRE_KEY_MAX] = { 1 };

	wire_key_set(key, wire_find(method), bytes);
}

/* All bytes of a salt are written, all values come, none more often than chance has it. */
static void random_ones(void **state)
{
	unsigned count[256] = { 0 };
	struct wire_key key;

	(void)state;
	set(&key, "aes-256-gcm");
	for (unsigned i = 0; i < 8000; i++) {
		unsigned char salt[WIRE_SALT_MAX + 1] = { 0 };

		salt_make(&key, salt);
		for (unsigned j = 0; j < key.salt_len; j++)
			count[salt[j]]++;
		assert_int_equal(salt[key.salt_len], 0);
	}
	for (unsigned i = 0; i < 256; i++)
		assert_in_range(count[i], 800, 1200);
}

static void printable(void **state)
{
	unsigned count[256] = { 0 };
	struct wire_key key;

	(void)state;
	set(&key, "aes-128-gcm");
	key.printable_salt = true;
	for (unsigned i = 0; i < 9500; i++) {
		unsigned char salt[WIRE_SALT_MAX];

		salt_make(&key, salt);
		for (unsigned j = 0; j < key.salt_len; j++)
			count[salt[j]]++;
	}
	for (unsigned i = 0; i < 256; i++)
		if (i < 0x20 || i > 0x7e)
			assert_int_equal(count[i], 0);
		else
			assert_in_range(count[i], 1350, 1850);
}

static void prefix(void **state)
{
	static const char *const methods[] = { "aes-128-gcm", "aes-192-gcm", "aes-256-gcm" };
	unsigned char salt[WIRE_SALT_MAX], another[WIRE_SALT_MAX];
	struct wire_key key;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		set(&key, methods[i / 2]);
		key.printable_salt = i % 2;
		key.prefix_len = key.salt_len / 2;
		memcpy(key.prefix, "\x16\x03\x01\x00\xa8GET HTTP/1.1", 16);
		salt_make(&key, salt);
		salt_make(&key, another);
		assert_memory_equal(salt, key.prefix, key.prefix_len);
		assert_memory_equal(another, key.prefix, key.prefix_len);
		assert_memory_not_equal(salt, another, key.salt_len);
		for (unsigned j = key.prefix_len; i % 2 && j < key.salt_len; j++)
			assert_in_range(salt[j], 0x20, 0x7e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_ones),
		cmocka_unit_test(printable),
		cmocka_unit_test(prefix),
	};

	return crypto_open() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
