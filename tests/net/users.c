/*
 * The table of users: found by key, refused when they cannot be told apart, replaced under running
 * sessions.
 */
#include "net/users.h"

#include "core/bytes.h"
#include "crypto/aead.h"
#include "crypto/blake3.h"
#include "tests/vectors.h"

static void key_of(unsigned i, unsigned char key[16])
{
	memset(key, 0xab, 16);
	put_u32be(key + 5, i);
}

static enum users_result add(struct users *users, const char *name, unsigned i)
{
	unsigned char key[16];

	key_of(i, key);
	return users_add(users, name, key, sizeof key);
}

static struct user *find(const struct users *users, unsigned i)
{
	unsigned char key[16], hash[USER_HASH];

	key_of(i, key);
	blake3_hash(key, sizeof key, hash, sizeof hash);
	return users_find(users, hash);
}

static void many(void **state)
{
	static const unsigned sizes[] = { 1, 2, 3, 10, 10000 };

	(void)state;
	for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		struct users *users = users_open(sizes[s]);
		char name[20];

		for (unsigned i = 0; i < sizes[s]; i++) {
			snprintf(name, sizeof name, "user %u", i);
			assert_null(find(users, i));
			assert_int_equal(add(users, name, i), USERS_ADDED);
		}
		assert_int_equal(users_count(users), sizes[s]);
		for (unsigned i = 0; i < sizes[s]; i++) {
			unsigned char key[16];

			key_of(i, key);
			snprintf(name, sizeof name, "user %u", i);
			assert_string_equal(find(users, i)->name, name);
			assert_memory_equal(find(users, i)->key, key, sizeof key);
			assert_ptr_equal(users_at(users, i), find(users, i));
		}
		assert_null(find(users, sizes[s]));
		users_close(users);
	}
}

/* The hash is the one that goes over the wire. */
static void vector(void **state)
{
	struct users *users = users_open(1);
	unsigned char key[16], hash[16];

	(void)state;
	hex("2c24d2a9bf3001f36a0a40db8035aefd", key, sizeof key);
	hex("43e62af7d99480eaa1a0155c28c78768", hash, sizeof hash);
	assert_int_equal(users_add(users, "", key, sizeof key), USERS_ADDED);
	assert_non_null(users_find(users, hash));
	hash[15] ^= 1;
	assert_null(users_find(users, hash));
	users_close(users);
}

static void refused(void **state)
{
	struct users *users = users_open(4);

	(void)state;
	assert_int_equal(add(users, "alice", 1), USERS_ADDED);
	assert_int_equal(add(users, "bob", 1), USERS_SAME_KEY);
	assert_int_equal(add(users, "alice", 2), USERS_SAME_NAME);
	assert_int_equal(add(users, "Alice", 2), USERS_ADDED);
	assert_int_equal(users_count(users), 2);
	assert_null(find(users, 3));
	users_close(users);
}

/* Sessions outlive tables; what they move counts where their user is listed now. */
static void reload(void **state)
{
	struct users *first = users_open(2), *second = users_open(2), *third = users_open(1);
	struct user *alice, *bob;

	(void)state;
	add(first, "alice", 1);
	add(first, "bob", 2);
	add(second, "alice", 3); /* a new key */
	add(second, "carol", 4);
	add(third, "alice", 5);
	assert_null(user_hold(NULL)); /* a peer that knows the key itself */
	user_leave(NULL, 1, 1);
	alice = user_hold(find(first, 1));
	user_leave(user_hold(find(first, 1)), 10, 20);
	bob = user_hold(find(first, 2));
	assert_int_equal(find(first, 1)->up, 10);

	assert_ptr_equal(users_replace(first, second), second);
	assert_int_equal(find(second, 3)->up, 10);
	assert_int_equal(find(second, 3)->down, 20);
	user_leave(user_hold(alice), 1, 2);
	assert_int_equal(find(second, 3)->up, 11);
	assert_string_equal(bob->name, "bob");

	struct user *carol = user_hold(find(second, 4));

	assert_ptr_equal(users_replace(second, third), third);
	user_leave(alice, 100, 200);
	assert_int_equal(find(third, 5)->up, 111);
	assert_int_equal(find(third, 5)->down, 222);
	user_leave(bob, 7, 7); /* gone: the first table goes now */
	assert_string_equal(carol->name, "carol");
	user_leave(carol, 7, 7);
	assert_int_equal(find(third, 5)->up, 111);
	user_leave(NULL, 1, 1);
	users_close(third);
}

/* Sessions of all times end in any order; one whose user was gone and came again counts for it. */
static void many_reloads(void **state)
{
	enum { RELOADS = 40 };
	struct users *users = users_open(2);
	struct user *lasting, *held[RELOADS];

	(void)state;
	add(users, "lasting", 0);
	add(users, "first", 1);
	lasting = user_hold(find(users, 0));
	for (unsigned i = 0; i < RELOADS; i++) {
		struct users *fresh = users_open(2);

		if (i != 20)
			add(fresh, "lasting", 0);
		add(fresh, "other", 100 + i);
		users = users_replace(users, fresh);
		held[i] = i % 2 ? user_hold(find(users, 100 + i)) : NULL;
	}
	for (unsigned i = 0; i < RELOADS; i++)
		user_leave(held[i * 7 % RELOADS], 1, 2);
	user_leave(lasting, 10, 20);
	assert_int_equal(find(users, 0)->up, 10);
	assert_int_equal(find(users, 100 + RELOADS - 1)->down, RELOADS);
	users_close(users);
}

/* The program ends before its last sessions do. */
static void closed_first(void **state)
{
	struct users *users = users_open(1), *fresh = users_open(1);
	struct user *old, *young;

	(void)state;
	add(users, "alice", 1);
	add(fresh, "alice", 1);
	old = user_hold(find(users, 1));
	users_replace(users, fresh);
	young = user_hold(find(fresh, 1));
	users_close(fresh);
	user_leave(young, 1, 1);
	user_leave(old, 1, 1);
}

/* A server that has no users any more, and one that had none. */
static void to_and_from_none(void **state)
{
	struct users *users = users_open(1);
	struct user *alice;

	(void)state;
	add(users, "alice", 1);
	assert_ptr_equal(users_replace(NULL, users), users);
	alice = user_hold(find(users, 1));
	assert_null(users_replace(users, NULL));
	user_leave(alice, 1, 1);
	assert_null(users_replace(NULL, NULL));
	users_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many),
		cmocka_unit_test(vector),
		cmocka_unit_test(refused),
		cmocka_unit_test(reload),
		cmocka_unit_test(many_reloads),
		cmocka_unit_test(closed_first),
		cmocka_unit_test(to_and_from_none),
	};

	if (crypto_open() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
