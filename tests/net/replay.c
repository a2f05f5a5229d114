/*
 * The memory of salts: exact within its promise, small until it is used, shared between
 * processes, and usable after one of them died in the middle.
 */
#include "net/replay.h"

#include "core/bytes.h"
#include "crypto/aead.h"
#include "tests/emulator.h"
#include "tests/unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static bool die_in_unlock;

/* In front of libc's (the linker's --wrap), so that a process can die while it holds the mutex. */
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (die_in_unlock)
		_exit(7);
	return __real_pthread_mutex_unlock(mutex);
}

/* Is the i-th salt new? They differ in few bits. */
static bool seen(struct replay *replay, uint64_t i)
{
	unsigned char salt[32] = { 0 };

	put_u64be(salt + 10, i);
	return replay_seen(replay, salt, sizeof salt);
}

/* Put n new salts in and return the number of false alarms; after each, the `sure` last are there. */
static unsigned fill(struct replay *replay, uint64_t n, uint64_t sure, uint64_t step)
{
	unsigned false_alarms = 0;

	for (uint64_t i = 0; i < n; i++) {
		false_alarms += seen(replay, i);
		if (i % step != 0)
			continue;
		for (uint64_t back = 0; back <= i && back < sure; back += 1 + sure / 1000)
			assert_true(seen(replay, i - back));
		assert_true(seen(replay, i < sure ? 0 : i - sure + 1));
	}
	return false_alarms;
}

/* Half of the capacity is always remembered, at every filling of buckets, levels and halves. */
static void remembers_half(void **state)
{
	static const uint32_t capacities[] = {
		2, 3, 10, 16, 17, 100, 1000, 8192, 8194, 10000, 50000
	};

	(void)state;
	for (unsigned i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
		uint32_t capacity = capacities[i];
		struct replay *replay = replay_open(capacity);

		assert_non_null(replay);
		assert_int_equal(fill(replay, 5ull * capacity + 3, capacity / 2, 1 + capacity / 50),
				 0);
		assert_in_range(replay_count(replay), capacity / 2, capacity);
		replay_close(replay);
	}
}

/* And no more than its capacity: old ones are new again. */
static void forgets(void **state)
{
	struct replay *replay = replay_open(10000);
	unsigned forgotten = 0;

	(void)state;
	assert_int_equal(fill(replay, 20000, 1, 1000), 0);
	for (uint64_t i = 0; i < 10000; i += 100)
		forgotten += !seen(replay, i);
	assert_int_equal(forgotten, 100);
	replay_close(replay);
}

/* A server's, filled until the first half is used again: no false alarm among 1.1 million. */
static void a_million(void **state)
{
	struct replay *replay = replay_open(1000000);

	(void)state;
	assert_int_equal(fill(replay, 1100000, 500000, 250000), 0);
	assert_int_equal(replay_count(replay), 600000);
	replay_close(replay);
}

/* What is not used takes no memory: 4,000 salts stay within the first level of one half. */
static void starts_small(void **state)
{
	enum { CAPACITY = 10000000, BYTES = 64 << 20 /* of 80 million */ };
	static unsigned char pages[BYTES / 4096];
	struct replay *replay = replay_open(CAPACITY);
	size_t touched = 0, page = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	assert_non_null(replay);
	for (uint64_t i = 0; i < 4000; i++)
		seen(replay, i);
	assert_int_equal(mincore(replay, BYTES, pages), 0);
	for (size_t i = 0; i < BYTES / page; i++)
		touched += pages[i] & 1u;
	assert_in_range(touched * page, 1, 2 * 64 * 1024);
	replay_close(replay);
}

static void refuses(void **state)
{
	(void)state;
	errno = 0;
	assert_null(replay_open(0));
	assert_int_equal(errno, EINVAL);
	assert_null(replay_open(1));
	replay_close(NULL);
}

/* Salts of different lengths are different; the shortest and longest are as good. */
static void lengths(void **state)
{
	struct replay *replay = replay_open(1000);
	unsigned char salt[64] = { 0 };

	(void)state;
	for (size_t n = 1; n <= sizeof salt; n++)
		assert_false(replay_seen(replay, salt, n));
	for (size_t n = 1; n <= sizeof salt; n++)
		assert_true(replay_seen(replay, salt, n));
	replay_close(replay);
}

static int child_status(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A memory for several processes. */
static struct replay *open_shared(uint32_t capacity)
{
	struct replay *replay = replay_open(capacity);

	assert_non_null(replay);
	assert_int_equal(replay_share(replay), 0);
	return replay;
}

/* Two processes try the same salts at the same time: each salt is new to exactly one. */
static void shared(void **state)
{
	needs("robust-mutexes");
	enum { SALTS = 20000 };
	struct replay *replay = open_shared(100000);
	unsigned *theirs = mmap(NULL, sizeof *theirs, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned ours = 0;
	pid_t pid;

	(void)state;
	assert_true(theirs != MAP_FAILED);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		for (uint64_t i = 0; i < SALTS; i++)
			*theirs += !seen(replay, i);
		_exit(0);
	}
	for (uint64_t i = 0; i < SALTS; i++)
		ours += !seen(replay, i);
	assert_int_equal(child_status(pid), 0);
	assert_int_equal(ours + *theirs, SALTS);
	assert_int_equal(replay_count(replay), SALTS);
	munmap(theirs, sizeof *theirs);
	replay_close(replay);
}

/* A process dies with the mutex in its hands, several times. */
static void holder_dies(void **state)
{
	needs("robust-mutexes");
	struct replay *replay = open_shared(1000);

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			die_in_unlock = true;
			seen(replay, i);
			_exit(1);
		}
		assert_int_equal(child_status(pid), 7);
		alarm(300); /* a lock that is lost for ever must not hang the tests */
		assert_true(seen(replay, i));
		assert_false(seen(replay, 1000 + i));
		assert_true(seen(replay, 1000 + i));
		alarm(0);
	}
	replay_close(replay);
}

/* Children that add are killed at any moment: what they said they added is there, and all goes on. */
static void holder_killed(void **state)
{
	needs("robust-mutexes");
	enum { ROUNDS = 60, HALF = 50000 };
	struct replay *replay = open_shared(2 * HALF);
	volatile uint64_t *done =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(done != MAP_FAILED);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		uint64_t base = round * 1000000000, added;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			for (uint64_t i = 1;; i++) {
				seen(replay, base + i);
				*done = base + i;
			}
		}
		while (*done < base + 1 + round * 40)
			usleep(50);
		kill(pid, SIGKILL);
		assert_int_equal(child_status(pid), -1);
		alarm(300); /* a lock that is lost for ever must not hang the tests */
		added = *done - base;
		for (uint64_t i = 0; i < added && i < HALF - 1; i++)
			assert_true(seen(replay, base + added - i));
		assert_false(seen(replay, base));
		alarm(0);
	}
	munmap((void *)(uintptr_t)done, 4096);
	replay_close(replay);
}

/* What was noted without a look is there as what was looked for is. */
static void notes(void **state)
{
	struct replay *replay = replay_open(1000);
	unsigned char salt[32] = { 0 };

	(void)state;
	assert_non_null(replay);
	for (uint64_t i = 0; i < 400; i++) {
		put_u64be(salt + 10, i);
		replay_note(replay, salt, sizeof salt);
	}
	assert_int_equal(replay_count(replay), 400);
	for (uint64_t i = 0; i < 400; i++)
		assert_true(seen(replay, i));
	assert_false(seen(replay, 400));
	replay_close(replay);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_small),	 cmocka_unit_test(refuses),
		cmocka_unit_test(lengths),	 cmocka_unit_test(remembers_half),
		cmocka_unit_test(forgets),	 cmocka_unit_test(a_million),
		cmocka_unit_test(shared),	 cmocka_unit_test(holder_dies),
		cmocka_unit_test(holder_killed), cmocka_unit_test(notes),
	};

	if (crypto_open() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
