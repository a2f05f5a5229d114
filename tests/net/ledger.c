/*
 * What several workers count for the same users: nothing is lost, mixed up or left locked.
 */
#include "net/ledger.h"

#include "crypto/aead.h"
#include "net/users.h"
#include "tests/emulator.h"
#include "tests/unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 3, TIMES = 1000 };

static void assert_counts(const struct ledger *ledger, uint32_t entry, uint64_t up, uint64_t down)
{
	uint64_t have_up, have_down;

	ledger_sum(ledger, entry, &have_up, &have_down);
	assert_int_equal(have_up, up);
	assert_int_equal(have_down, down);
}

static void names(void **state)
{
	needs("robust-mutexes");
	struct ledger *ledger = ledger_open(10, WORKERS);
	uint32_t alice = ledger_entry(ledger, 0, "alice"), bob = ledger_entry(ledger, 0, "bob");
	uint32_t other = ledger_entry(ledger, 1, "alice");

	(void)state;
	assert_true(alice && bob && other && alice != bob && other != alice && other != bob);
	assert_int_equal(ledger_entry(ledger, 0, "alice"), alice);
	ledger_add(ledger, alice, 1, 2);
	ledger_start(ledger, 2);
	ledger_add(ledger, alice, 10, 20);
	ledger_add(ledger, bob, 5, 0);
	ledger_add(ledger, 0, 100, 100);
	assert_counts(ledger, alice, 11, 22);
	assert_counts(ledger, bob, 5, 0);
	assert_counts(ledger, other, 0, 0);
	assert_counts(ledger, 0, 0, 0);
	ledger_close(ledger);
}

/* There is room for as many as were asked for, and an end to it. */
static void full(void **state)
{
	needs("robust-mutexes");
	struct ledger *ledger = ledger_open(2000, 1);
	unsigned room = 0;
	char name[20];

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(name, sizeof name, "user %u", i);
		room += ledger_entry(ledger, 0, name) > 0;
	}
	assert_in_range(room, 2000, 9999);
	assert_int_equal(ledger_entry(ledger, 0, "one more"), 0);
	assert_true(ledger_entry(ledger, 0, "user 0"));
	ledger_close(ledger);
}

static void count(struct ledger *ledger, unsigned place)
{
	ledger_start(ledger, place);
	for (unsigned i = 0; i < TIMES; i++) {
		char name[20];

		snprintf(name, sizeof name, "user %u", i % 100);
		ledger_add(ledger, ledger_entry(ledger, 0, name), 1, place);
	}
}

/* Processes make entries and count at the same time; the killed ones stop somewhere. */
static void together(void **state)
{
	needs("robust-mutexes");
	struct ledger *ledger = ledger_open(200, WORKERS + 1);
	uint64_t up, down, all_up = 0;
	pid_t pids[WORKERS], victim = fork();

	(void)state;
	assert_true(victim >= 0);
	if (victim == 0) {
		alarm(300);
		for (;;)
			count(ledger, WORKERS);
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			alarm(300); /* a lock that is lost for ever must not hang the tests */
			count(ledger, i);
			_exit(0);
		}
	}
	usleep(500);
	kill(victim, SIGKILL);
	for (unsigned i = 0; i < WORKERS; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(waitpid(victim, NULL, 0), victim);
	for (unsigned i = 0; i < 100; i++) {
		char name[20];

		snprintf(name, sizeof name, "user %u", i);
		ledger_sum(ledger, ledger_entry(ledger, 0, name), &up, &down);
		assert_true(up >= WORKERS * TIMES / 100);
		all_up += up;
	}
	assert_true(all_up >= (uint64_t)WORKERS * TIMES);
	ledger_close(ledger);
}

static struct users *list(struct ledger *ledger, const char *name)
{
	static const unsigned char key[] = "sixteen bytes ..";
	struct users *users = users_open(1);

	assert_int_equal(users_add(users, name, key, sizeof key - 1), USERS_ADDED);
	assert_int_equal(users_count_in(users, ledger, 0), 0);
	return users;
}

/* Users count there, through reloads, for as long as they are listed. */
static void of_users(void **state)
{
	needs("robust-mutexes");
	struct ledger *ledger = ledger_open(10, WORKERS);
	struct users *users = list(ledger, "alice");
	struct user *alice = user_hold((struct user *)(uintptr_t)users_at(users, 0));
	uint64_t up, down;

	(void)state;
	user_leave(user_hold(alice), 1, 2);
	users = users_replace(users, list(ledger, "alice"));
	user_leave(user_hold(alice), 10, 20);
	user_traffic(users_at(users, 0), &up, &down);
	assert_int_equal(up, 11);
	assert_int_equal(down, 22);
	users = users_replace(users, list(ledger, "bob"));
	user_leave(alice, 100, 200); /* a session of somebody who is gone */
	user_traffic(users_at(users, 0), &up, &down);
	assert_int_equal(up, 0);
	assert_counts(ledger, ledger_entry(ledger, 0, "alice"), 11, 22);
	users_close(users);
	ledger_close(ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(full),
		cmocka_unit_test(together),
		cmocka_unit_test(of_users),
	};

	return crypto_open() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
