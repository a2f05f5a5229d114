/*
 * The set of salts: exact in both directions, with an end to its memory, small until it is used,
 * shared between processes, and whole again after one of them was killed anywhere.
 */
#include "net/salts.h"

#include "core/bytes.h"
#include "crypto/aead.h"
#include "tests/emulator.h"
#include "tests/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOW = 1700000000 };

/* Add the i-th salt with this timestamp; they differ in few bits. */
static enum salts_result add_by(struct salts *salts, uint64_t i, uint64_t stamp, uint64_t clock,
				uint64_t steady)
{
	struct salts_now now = { .clock = clock, .steady = steady };
	unsigned char salt[32] = { 0 };

	put_u64be(salt + 10, i);
	return salts_add(salts, salt, sizeof salt, stamp, now);
}

/* As add_by(), with clocks that agree. */
static enum salts_result add(struct salts *salts, uint64_t i, uint64_t now)
{
	return add_by(salts, i, now, now, now);
}

static void refuses_nonsense(void **state)
{
	(void)state;
	errno = 0;
	assert_null(salts_open(0));
	assert_int_equal(errno, EINVAL);
	assert_null(salts_open(UINT32_MAX));
	salts_close(NULL);
}

/* EN02: remembered for 60 seconds, inclusive, and not longer. */
static void a_minute(void **state)
{
	struct salts *salts = salts_open(1000);

	(void)state;
	assert_int_equal(add(salts, 1, NOW), SALTS_NEW);
	assert_int_equal(add(salts, 1, NOW), SALTS_SEEN);
	assert_int_equal(add(salts, 1, NOW + 60), SALTS_SEEN);
	assert_int_equal(add(salts, 2, NOW + 60), SALTS_NEW);
	assert_int_equal(add(salts, 1, NOW + 61), SALTS_NEW);
	assert_int_equal(add(salts, 1, NOW + 121), SALTS_SEEN);
	assert_int_equal(add(salts, 1, NOW + 122), SALTS_NEW);
	salts_close(salts);
}

/* A clock that is set forward and back again makes nobody forget what came in the last minute. */
static void clock_set_for_a_moment(void **state)
{
	struct salts *salts = salts_open(10);

	(void)state;
	assert_int_equal(add_by(salts, 1, NOW, NOW, 1000), SALTS_NEW);
	for (uint64_t i = 10; i < 15; i++)
		assert_int_equal(add_by(salts, i, NOW + 100, NOW + 100, 1001), SALTS_NEW);
	assert_int_equal(add_by(salts, 1, NOW, NOW, 1002), SALTS_SEEN);
	assert_int_equal(add_by(salts, 2, NOW, NOW, 1002), SALTS_NEW);
	salts_close(salts);
}

/* Nor for long: what was forgotten meanwhile is refused by its timestamp, and what is younger is not. */
static void clock_set_back(void **state)
{
	struct salts *salts = salts_open(10);

	(void)state;
	assert_int_equal(add_by(salts, 1, NOW + 7, NOW, 1000), SALTS_NEW);
	assert_int_equal(add_by(salts, 2, NOW + 200, NOW + 200, 1061), SALTS_NEW);
	assert_int_equal(salts_count(salts), 1); /* the first has gone */
	assert_int_equal(add_by(salts, 1, NOW + 7, NOW + 1, 1062), SALTS_UNSURE);
	assert_int_equal(add_by(salts, 3, NOW, NOW + 1, 1062), SALTS_UNSURE);
	assert_int_equal(add_by(salts, 4, NOW + 8, NOW + 1, 1062), SALTS_NEW);
	/* what came before the clock was set stays until the clock has come that far again */
	assert_int_equal(add_by(salts, 2, NOW + 200, NOW + 201, 1262), SALTS_SEEN);
	assert_int_equal(add_by(salts, 5, NOW + 261, NOW + 261, 1322), SALTS_NEW);
	assert_int_equal(add_by(salts, 2, NOW + 200, NOW + 201, 1323), SALTS_UNSURE);
	salts_close(salts);
}

/* A clock that goes as it should never makes a salt doubtful, whatever the timestamps. */
static void never_in_doubt(void **state)
{
	struct salts *salts = salts_open(1000);

	(void)state;
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t now = NOW + i, stamp = now - 30 + i * 7 % 61;

		assert_int_equal(add_by(salts, i, stamp, now, i), SALTS_NEW);
		assert_int_equal(add_by(salts, i, stamp, now - i % 3, i), SALTS_SEEN);
	}
	salts_close(salts);
}

/* Every length is a salt of its own, up to zeros at its end. */
static void lengths(void **state)
{
	struct salts *salts = salts_open(100);
	unsigned char salt[SALTS_LEN];
	struct salts_now now = { NOW, NOW };

	(void)state;
	memset(salt, 7, sizeof salt);
	for (size_t n = 1; n <= SALTS_LEN; n++)
		assert_int_equal(salts_add(salts, salt, n, NOW, now), SALTS_NEW);
	for (size_t n = 1; n <= SALTS_LEN; n++)
		assert_int_equal(salts_add(salts, salt, n, NOW, now), SALTS_SEEN);
	assert_int_equal(salts_count(salts), SALTS_LEN);
	salts_close(salts);
}

/* Full, it refuses and forgets nothing; a minute later there is room for as many again. */
static void full(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 511, 512, 513, 3000 };

	(void)state;
	for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		struct salts *salts = salts_open(sizes[s]);

		for (uint64_t round = 0; round < 3; round++) {
			uint64_t now = NOW + round * 61, base = round * 10000;

			for (uint64_t i = 0; i < sizes[s]; i++)
				assert_int_equal(add(salts, base + i, now), SALTS_NEW);
			for (uint64_t i = 0; i < 100; i++)
				assert_int_equal(add(salts, base + 5000 + i, now + i % 61),
						 SALTS_FULL);
			for (uint64_t i = 0; i < sizes[s]; i++)
				assert_int_equal(add(salts, base + i, now + 60), SALTS_SEEN);
			assert_int_equal(salts_count(salts), sizes[s]);
		}
		salts_close(salts);
	}
}

/* A long life at a steady rate: what is younger than a minute is always known, what is older never. */
static void steady(void **state)
{
	enum { RATE = 100, SECONDS = 1000 };
	struct salts *salts = salts_open(RATE * 70);

	(void)state;
	for (uint64_t t = 0; t < SECONDS; t++) {
		for (uint64_t i = 0; i < RATE; i++)
			assert_int_equal(add(salts, t * RATE + i, NOW + t), SALTS_NEW);
		for (uint64_t back = 0; back <= 60 && back <= t; back += 20)
			assert_int_equal(add(salts, (t - back) * RATE + t % RATE, NOW + t),
					 SALTS_SEEN);
	}
	salts_close(salts);
}

static size_t resident(void *from, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = size / page, n = 0;
	unsigned char *in = malloc(pages);

	assert_non_null(in);
	assert_int_equal(mincore(from, pages * page, in), 0);
	for (size_t i = 0; i < pages; i++)
		n += in[i] & 1;
	free(in);
	return n * page;
}

/* Memory is touched for what is in use, not for what might be. */
static void grows(void **state)
{
	enum { CAPACITY = 1000000, SIZE = 60 * CAPACITY };
	struct salts *salts = salts_open(CAPACITY);

	(void)state;
	assert_in_range(resident(salts, SIZE), 1, 16384);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(add(salts, i, NOW), SALTS_NEW);
	assert_in_range(resident(salts, SIZE), 1, 80 * 1024);
	for (uint64_t t = 1; t < 100; t++) /* and it does not wander */
		for (uint64_t i = 0; i < 1000; i++)
			assert_int_equal(add(salts, t * 1000 + i, NOW + t * 70), SALTS_NEW);
	assert_in_range(resident(salts, SIZE), 1, 160 * 1024);
	for (uint64_t i = 0; i < CAPACITY; i++)
		assert_int_equal(add(salts, i, NOW + 8000), SALTS_NEW);
	for (uint64_t i = 0; i < CAPACITY; i += 997)
		assert_int_equal(add(salts, i, NOW + 8000), SALTS_SEEN);
	assert_int_equal(add(salts, CAPACITY, NOW + 8000), SALTS_FULL);
	salts_close(salts);
}

/* A set for several processes. */
static struct salts *open_shared(uint32_t capacity)
{
	struct salts *salts = salts_open(capacity);

	assert_non_null(salts);
	assert_int_equal(salts_share(salts), 0);
	return salts;
}

/* Two processes try the same salts at the same time: each is new to exactly one. */
static void together(void **state)
{
	needs("robust-mutexes");
	enum { SALTS = 20000 };
	struct salts *salts = open_shared(SALTS);
	unsigned *theirs = mmap(NULL, sizeof *theirs, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned ours = 0;
	int status;
	pid_t pid;

	(void)state;
	assert_true(theirs != MAP_FAILED);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		for (uint64_t i = 0; i < SALTS; i++)
			*theirs += add(salts, i, NOW) == SALTS_NEW;
		_exit(0);
	}
	for (uint64_t i = 0; i < SALTS; i++)
		ours += add(salts, i, NOW) == SALTS_NEW;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(ours + *theirs, SALTS);
	assert_int_equal(salts_count(salts), SALTS);
	munmap(theirs, sizeof *theirs);
	salts_close(salts);
}

/* Children that add are killed at any moment. What they said they added is there, and all goes on. */
static void holder_killed(void **state)
{
	needs("robust-mutexes");
	enum { ROUNDS = 60, CAPACITY = 4000 };
	struct salts *salts = open_shared(CAPACITY);
	volatile uint64_t *done =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(done != MAP_FAILED);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t base = round * 1000000, now = NOW + 100 * round;
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0) {
			for (uint64_t i = 0;;
			     i++) { /* old ones make room every 61 steps of `now` */
				if (add(salts, base + i % CAPACITY, now + i / CAPACITY * 61) == 0)
					*done = base + i + 1;
			}
		}
		while (*done < base + 1 + round * 40)
			usleep(50);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));

		uint64_t i = *done - base - 1, passed = now + i / CAPACITY * 61;

		if ((i + 1) % CAPACITY == 0) /* the next, a minute later, may have been under way */
			passed += 61, base += CAPACITY, i = 0;
		alarm(300); /* a lock that is lost for ever must not hang the tests */
		if (base == round * 1000000)
			assert_int_equal(add(salts, base + i % CAPACITY, passed), SALTS_SEEN);
		assert_in_range(salts_count(salts), 1, CAPACITY);
		for (uint64_t j = 0; j < i % CAPACITY; j++)
			assert_int_equal(add(salts, base + j, passed), SALTS_SEEN);
		for (uint64_t j = 0; j < CAPACITY; j++) /* a minute later all can be new */
			assert_int_equal(add(salts, base + 500000 + j, passed + 100), SALTS_NEW);
		assert_int_equal(salts_count(salts), CAPACITY);
		assert_int_equal(add(salts, base + 600000, passed + 100), SALTS_FULL);
		salts_close(salts);
		salts = open_shared(CAPACITY);
		alarm(0);
	}
	salts_close(salts);
	munmap((void *)(uintptr_t)done, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_nonsense),
		cmocka_unit_test(a_minute),
		cmocka_unit_test(clock_set_for_a_moment),
		cmocka_unit_test(clock_set_back),
		cmocka_unit_test(never_in_doubt),
		cmocka_unit_test(lengths),
		cmocka_unit_test(full),
		cmocka_unit_test(steady),
		cmocka_unit_test(grows),
		cmocka_unit_test(together),
		cmocka_unit_test(holder_killed),
	};

	if (crypto_open() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
