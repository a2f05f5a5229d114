/*
 * Slabs: every object once, zeroed, aligned and numbered, and no system call once open.
 */
#include "core/slab.h"

#include "tests/emulator.h"
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

static bool all_zero(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static void test_bad_sizes(void **state)
{
	static const struct {
		size_t size;
		uint32_t max;
	} bad[] = {
		{ 0, 10 },
		{ 16, 0 },
		{ SIZE_MAX, 1 },
		{ SIZE_MAX - 14, 1 },
		{ SIZE_MAX - 31, 2 },
		{ SIZE_MAX / 4, 8 },
		{ SIZE_MAX / UINT32_MAX + 16, UINT32_MAX },
		{ (size_t)UINT32_MAX - 3, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct slab slab = { 0 };

		errno = 0;
		assert_int_equal(slab_open(&slab, bad[i].size, bad[i].max), -1);
		assert_int_equal(errno, EINVAL);
		slab_close(&slab);
	}
}

/* Take all, and see that they are what they should be; sizes around the rounding. */
static void check_full(size_t size, uint32_t max)
{
	struct slab slab;
	unsigned char **objects = calloc(max, sizeof *objects);
	bool *numbers = calloc(max, sizeof *numbers);

	assert_non_null(objects);
	assert_non_null(numbers);
	assert_int_equal(slab_open(&slab, size, max), 0);
	assert_true(slab.size >= size && slab.size < size + 16);
	for (uint32_t i = 0; i < max; i++) {
		unsigned char *p = objects[i] = slab_take(&slab);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		assert_true(all_zero(p, size));
		memset(p, 0x80 | (i & 0x7f), size); /* shows if another overlaps it */

		uint32_t number = slab_number(&slab, p);
		assert_true(number < max);
		assert_false(numbers[number]);
		numbers[number] = true;
		assert_int_equal(slab.live, i + 1);
	}
	assert_null(slab_take(&slab));
	assert_null(slab_take(&slab));
	assert_int_equal(slab.live, max);
	for (uint32_t i = 0; i < max; i++)
		for (size_t at = 0; at < size; at++)
			assert_int_equal(objects[i][at], 0x80 | (i & 0x7f));

	/* One comes back to a full slab: it, and only it, can be had again. */
	uint32_t number = slab_number(&slab, objects[max / 2]);
	slab_give(&slab, objects[max / 2]);
	assert_int_equal(slab.live, max - 1);
	objects[max / 2] = slab_take(&slab);
	assert_non_null(objects[max / 2]);
	assert_int_equal(slab_number(&slab, objects[max / 2]), number);
	assert_true(all_zero(objects[max / 2], size));
	assert_null(slab_take(&slab));

	for (uint32_t i = 0; i < max; i++)
		slab_give(&slab, objects[i]);
	assert_int_equal(slab.live, 0);
	slab_close(&slab);
	free(objects);
	free(numbers);
}

static void test_full(void **state)
{
	static const size_t sizes[] = { 1, 8, 15, 16, 17, 24, 100, 1279, 1280, 1281, 5000 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		check_full(sizes[i], 1);
		check_full(sizes[i], 2);
		check_full(sizes[i], 257);
	}
}

/* Random takes and gives; each object carries a mark that nobody else may touch. */
static void test_random(void **state)
{
	enum { MAX = 300, SIZE = 72 };
	unsigned char *held[MAX];
	unsigned held_count = 0;
	unsigned long random = 1;
	bool used[MAX] = { false };
	struct slab slab;

	(void)state;
	assert_int_equal(slab_open(&slab, SIZE, MAX), 0);
	for (int round = 0; round < 200000; round++) {
		random = random * 1103515245 + 12345;
		bool take = (random >> 16 & 0xff) <
			    (round / 5000 % 2 ? 200u : 56u); /* fills, then empties */

		if (take) {
			unsigned char *p = slab_take(&slab);

			assert_true(!p == (held_count == MAX));
			if (!p)
				continue;
			uint32_t number = slab_number(&slab, p);
			assert_true(number < MAX && !used[number]);
			used[number] = true;
			assert_true(all_zero(p, SIZE));
			memset(p, (int)(number % 255 + 1), SIZE);
			held[held_count++] = p;
		} else if (held_count > 0) {
			unsigned pick = (unsigned)(random >> 8) % held_count;
			unsigned char *p = held[pick];
			uint32_t number = slab_number(&slab, p);

			for (int i = 0; i < SIZE; i++)
				assert_int_equal(p[i], number % 255 + 1);
			assert_true(used[number]);
			used[number] = false;
			slab_give(&slab, p);
			held[pick] = held[--held_count];
		}
		assert_int_equal(slab.live, held_count);
	}
	slab_close(&slab);
	assert_null(slab.base);
	slab_close(&slab); /* twice is nothing */
}

/* Pages of [base, base + n) in memory. */
static size_t resident(void *base, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (n + page - 1) / page, count = 0;
	unsigned char *in = calloc(pages, 1);

	assert_non_null(in);
	assert_int_equal(mincore(base, n, (void *)in), 0);
	for (size_t i = 0; i < pages; i++)
		count += in[i] & 1;
	free(in);
	return count;
}

/* Memory is touched by what is in use, not by what could be, and used again before more is touched. */
static void test_untouched(void **state)
{
	enum { SIZE = 1280, MAX = 50000, SOME = 100 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct slab slab;
	void *some[SOME];

	(void)state;
	assert_int_equal(slab_open(&slab, SIZE, MAX), 0);
	assert_int_equal(resident(slab.base, (size_t)SIZE * MAX), 0);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < SOME; i++) {
			some[i] = slab_take(&slab);
			memset(some[i], 1, SIZE);
		}
		for (int i = 0; i < SOME; i++)
			slab_give(&slab, some[i]);
	}
	assert_true(resident(slab.base, (size_t)SIZE * MAX) <= (size_t)SIZE * SOME / page + 1);
	slab_close(&slab);
}

/* Bytes of address space of this process; 0 where the system does not tell. */
static unsigned long address_space(void)
{
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY);

	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	return n > 0 ? strtoul(text, NULL, 10) : 0;
}

/* Everything is reserved when it is opened; afterwards nothing is mapped and brk stays. */
static void test_no_mmap(void **state)
{
	needs("address-space");
	enum { SIZE = 1024, MAX = 20000 };
	static void *objects[MAX];
	struct slab slab;

	(void)state;
	if (address_space() == 0) {
		print_message("SKIPPED: no /proc/self/statm to see the address space in\n");
		skip();
	}
	assert_int_equal(slab_open(&slab, SIZE, MAX), 0);
	unsigned long before = address_space();
	for (int i = 0; i < MAX; i++)
		objects[i] = slab_take(&slab);
	for (int i = 0; i < MAX; i++)
		slab_give(&slab, objects[i]);
	assert_int_equal(address_space(), before);
	slab_close(&slab);
	assert_true(address_space() < before); /* the measure works, and closing gives it back */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_sizes), cmocka_unit_test(test_full),
		cmocka_unit_test(test_random),	  cmocka_unit_test(test_untouched),
		cmocka_unit_test(test_no_mmap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
