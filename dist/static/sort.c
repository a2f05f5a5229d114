/*
 * In the place of musl's: a heap, in place and without recursion, so never slower than n log n.
 * What is sorted already, as published lists of networks are, is only looked at. Linked into static
 * executables.
 */
#include <stdbool.h>
#include <stdlib.h>

struct sorting {
	char *base;
	size_t width;
	int (*compare)(const void *, const void *);
};

static int compare(const struct sorting *s, size_t a, size_t b)
{
	return s->compare(s->base + a * s->width, s->base + b * s->width);
}

static void swap(const struct sorting *s, size_t a, size_t b)
{
	char *x = s->base + a * s->width, *y = s->base + b * s->width;

	for (size_t i = 0; i < s->width; i++) {
		char kept = x[i];

		x[i] = y[i];
		y[i] = kept;
	}
}

/* Down from `at` to its place among the first n. */
static void sink(const struct sorting *s, size_t at, size_t n)
{
	for (size_t under; (under = 2 * at + 1) < n; at = under) {
		if (under + 1 < n && compare(s, under, under + 1) < 0)
			under++;
		if (compare(s, at, under) >= 0)
			return;
		swap(s, at, under);
	}
}

static bool sorted(const struct sorting *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (compare(s, i - 1, i) > 0)
			return false;
	return true;
}

void qsort(void *base, size_t n, size_t width, int (*by)(const void *, const void *))
{
	const struct sorting s = { base, width, by };

	if (sorted(&s, n))
		return;
	for (size_t i = n / 2; i-- > 0;)
		sink(&s, i, n);
	for (; n > 1; sink(&s, 0, n))
		swap(&s, 0, --n);
}
