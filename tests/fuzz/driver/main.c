/*
 * Runs a fuzz target without libFuzzer: over the files named on the command line, and over a fixed
 * stream of inputs made of them by flipping, cutting and splicing, so that every compiler and every
 * run of `make check` does the same. usage: PROGRAM ROUNDS [FILE...]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MAX = 65536, SEEDS = 1024, SHORT = 600 };

struct seed {
	uint8_t *bytes;
	size_t n;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state = 0x9e3779b97f4a7c15;

/* xorshift64: the same numbers everywhere */
static uint32_t number(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * below >> 32);
}

/* In memory of exactly its size, so that the address sanitizer sees a byte read too many. */
static void try(const uint8_t *bytes, size_t n)
{
	uint8_t *exact = malloc(n ? n : 1);

	if (!exact)
		abort();
	memcpy(exact, bytes, n);
	LLVMFuzzerTestOneInput(n ? exact : exact + 1, n);
	free(exact);
}

static struct seed load(const char *path)
{
	struct seed seed = { malloc(INPUT_MAX), 0 };
	FILE *file = fopen(path, "rb");

	if (!seed.bytes || !file) {
		perror(path);
		exit(1);
	}
	seed.n = fread(seed.bytes, 1, INPUT_MAX, file);
	fclose(file);
	return seed;
}

/* Copy a piece of a seed, or of noise, to `to`; the bytes written. */
static size_t piece(const struct seed *seeds, unsigned count, uint8_t *to, size_t room)
{
	size_t n;

	if (count == 0 || number(4) == 0) {
		n = number(room < SHORT ? (uint32_t)room + 1 : SHORT);
		for (size_t i = 0; i < n; i++)
			to[i] = (uint8_t)(number(3) ? number(256) : number(6));
		return n;
	}
	const struct seed *seed = &seeds[number(count)];
	size_t from = number(2) ? 0 : number((uint32_t)seed->n + 1);

	n = number(2) ? seed->n - from : number((uint32_t)(seed->n - from) + 1);
	n = n < room ? n : room;
	memcpy(to, seed->bytes + from, n);
	return n;
}

static size_t make(const struct seed *seeds, unsigned count, uint8_t *to)
{
	size_t n = piece(seeds, count, to, INPUT_MAX);

	if (number(3) == 0)
		n += piece(seeds, count, to + n, INPUT_MAX - n);
	for (unsigned flips = number(5); n > 0 && flips > 0; flips--)
		to[number((uint32_t)n)] =
			(uint8_t)(number(2) ? number(256) : (uint32_t)0xff >> number(9));
	return n;
}

int main(int argc, char **argv)
{
	static struct seed seeds[SEEDS];
	static uint8_t input[INPUT_MAX];
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned count = 0;

	if (rounds == 0) {
		fprintf(stderr, "usage: %s ROUNDS [FILE...]\n", argv[0]);
		return 2;
	}
	try(input, 0);
	for (int i = 2; i < argc && count < SEEDS; i++) {
		seeds[count] = load(argv[i]);
		try(seeds[count].bytes, seeds[count].n);
		count++;
	}
	for (unsigned long i = 0; i < rounds; i++)
		try(input, make(seeds, count, input));
	printf("%u files, %lu inputs made of them\n", count, rounds);
	while (count > 0)
		free(seeds[--count].bytes);
	return 0;
}
