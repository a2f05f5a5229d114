/*
 * What the ciphers cost: every method in every implementation that this machine has, at lengths
 * that matter (a length box, a packet, the largest chunk), with its key's expansion apart. `make
 * bench-crypto`; names given as arguments pick methods.
 *
 * All take turns, many times over, on the CPU time of this thread; printed are the medians, and in
 * brackets the minima, so that other load on the machine shows but does not decide.
 */
#include "crypto/aead.h"
#include "crypto/aes_streams.h"
#include "tests/sodium.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

enum {
	ROUNDS = 41,
	SAMPLE = 100000, /* ns of work in one turn, about */
	CANDIDATES = 96,
	TASKS = 8,
	TEXT_MAX = 65535,
};

static const char *const implementations[] = { "vaes-512", "vaes-256", "aes-ni",  "armv8", "avx2",
					       "sse2",	   "neon",     "mbedtls", "own" };

enum { IMPLEMENTATIONS = sizeof implementations / sizeof implementations[0] };

/* Sealing alone, and there and back again: a text must be good to be opened. */
static const struct {
	const char *name;
	size_t n; /* bytes of text; 0: expand a key */
	bool opens;
} tasks[TASKS] = {
	{ "expand", 0, false },	   { "2 B", 2, false },		{ "100 B", 100, false },
	{ "1400 B", 1400, false }, { "+open", 1400, true },	{ "16383 B", 16383, false },
	{ "+open", 16383, true },  { "65535 B", 65535, false },
};

static unsigned char text[TEXT_MAX], tag[AEAD_TAG];
static const unsigned char key[AEAD_KEY_MAX] = { 1 }, nonce[AEAD_NONCE_MAX] = { 2 };
static struct aead_context context;
static _Alignas(16) unsigned char schedule[STREAM_SCHEDULE_MAX], extra[STREAM_EXTRA_MAX];

/* libsodium's streams, as far as a text from the beginning needs. */

static void sodium_begin(const struct stream *self, const void *key, struct stream_state *state,
			 const unsigned char *iv)
{
	(void)key;
	memcpy(state->block, iv, self->iv);
}

static void sodium_keep(const struct stream *self, void *to, const unsigned char *bytes)
{
	(void)self;
	memcpy(to, bytes, 32);
}

static void sodium_chacha(const struct stream *self, const void *key_bytes,
			  struct stream_state *state, unsigned char *bytes, size_t n)
{
	(void)self;
	crypto_stream_chacha20_xor_ic(bytes, bytes, n, state->block, 0, key_bytes);
}

static void sodium_salsa(const struct stream *self, const void *key_bytes,
			 struct stream_state *state, unsigned char *bytes, size_t n)
{
	(void)self;
	crypto_stream_salsa20_xor_ic(bytes, bytes, n, state->block, 0, key_bytes);
}

static const struct stream_kind sodium_kinds[] = {
	{ .expand = sodium_keep,
	  .begin = sodium_begin,
	  .encrypt = sodium_chacha,
	  .decrypt = sodium_chacha },
	{ .expand = sodium_keep,
	  .begin = sodium_begin,
	  .encrypt = sodium_salsa,
	  .decrypt = sodium_salsa },
};

static const struct stream sodium_streams[] = {
	{ "chacha20", 32, 8, &sodium_kinds[0], NULL },
	{ "salsa20", 32, 8, &sodium_kinds[1], NULL },
};

/* One of the two. */
struct candidate {
	const struct aead *aead;
	const struct stream *stream;
	unsigned times[TASKS];	       /* in one turn */
	uint64_t picos[TASKS][ROUNDS]; /* for one time */
};

static struct candidate candidates[CANDIDATES];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void expand(const struct candidate *c)
{
	if (c->aead)
		c->aead->expand(&context, key);
	else
		stream_expand(c->stream, schedule, key);
}

static void seal(const struct candidate *c, size_t n, bool opens)
{
	c->aead->seal(&context, nonce, NULL, 0, text, n, tag);
	if (opens && c->aead->open(&context, nonce, NULL, 0, text, n, tag) < 0)
		abort();
}

static void encrypt(const struct candidate *c, size_t n, bool opens)
{
	struct stream_state state = { .extra = extra };

	stream_begin(c->stream, schedule, &state, nonce);
	stream_encrypt(c->stream, schedule, &state, text, n);
	if (!opens)
		return;
	state = (struct stream_state){ .extra = extra };
	stream_begin(c->stream, schedule, &state, nonce);
	stream_decrypt(c->stream, schedule, &state, text, n);
}

/* Do it so many times: ns. */
static uint64_t run(const struct candidate *c, unsigned task, unsigned times)
{
	size_t n = tasks[task].n;
	bool opens = tasks[task].opens;
	uint64_t began;

	expand(c);
	began = now();
	for (unsigned i = 0; i < times; i++) {
		if (n == 0)
			expand(c);
		else if (c->aead)
			seal(c, n, opens);
		else
			encrypt(c, n, opens);
	}
	return now() - began;
}

/* As often as fills a turn. */
static unsigned calibrate(const struct candidate *c, unsigned task)
{
	unsigned times = 1;

	while (run(c, task, times) < SAMPLE && times < 1u << 20)
		times *= 2;
	return times;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool wanted(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (strcasecmp(*names, name) == 0)
			return true;
	return false;
}

static unsigned gather_aeads(unsigned n, char **names)
{
	const struct aead *method, *sodium;

	for (unsigned m = 0; (method = aead_list(m)); m++) {
		if (!wanted(method->name, names))
			continue;
		for (unsigned i = 0; i < IMPLEMENTATIONS && n < CANDIDATES; i++) {
			const struct aead *aead =
				aead_find_implementation(method->name, implementations[i]);

			if (aead)
				candidates[n++].aead = aead;
		}
		sodium = sodium_find(method->name);
		if (sodium && n < CANDIDATES)
			candidates[n++].aead = sodium;
	}
	return n;
}

static unsigned gather_stream(unsigned n, const struct stream *stream, char **names)
{
	const struct block_cipher *cipher = stream->cipher;

	if (n == CANDIDATES || !wanted(stream->name, names) || !stream_built(stream))
		return n;
	if (cipher && cipher->available && !cipher->available())
		return n;
	candidates[n].stream = stream;
	return n + 1;
}

/* Those over AES in each implementation; the others have one. */
static unsigned gather_streams(unsigned n, char **names)
{
	for (unsigned m = 0; m < AES_STREAMS; m++)
		for (unsigned i = 0; aes_levels[i]; i++)
			n = gather_stream(n, &aes_levels[i][m], names);
	for (unsigned m = AES_STREAMS; stream_list(m); m++)
		n = gather_stream(n, stream_list(m), names);
	for (unsigned m = 0; m < sizeof sodium_streams / sizeof sodium_streams[0]; m++)
		n = gather_stream(n, &sodium_streams[m], names);
	return n;
}

/* Expansion and small texts in ns, large ones in ns for each byte. */
static void show(uint64_t picos, unsigned task)
{
	size_t n = tasks[task].n;

	if (n < 1400)
		printf(" %6u", (unsigned)(picos / 1000));
	else
		printf(" %2u.%03u", (unsigned)(picos / n / 1000), (unsigned)(picos / n % 1000));
}

static void print(struct candidate *c)
{
	if (c->aead)
		printf("%-25s%-10s", c->aead->name, c->aead->implementation);
	else
		printf("%-25s%-10s", c->stream->name,
		       c->stream->cipher			? c->stream->cipher->implementation
		       : c->stream->kind->begin == sodium_begin ? "libsodium"
								: "");
	for (unsigned task = 0; task < TASKS; task++) {
		qsort(c->picos[task], ROUNDS, sizeof c->picos[task][0], compare);
		show(c->picos[task][ROUNDS / 2], task);
		printf(" (");
		show(c->picos[task][0], task);
		printf(")");
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	unsigned n;

	(void)argc;
	if (crypto_open() < 0)
		return 1;
	n = gather_streams(gather_aeads(0, argv + 1), argv + 1);
	for (unsigned c = 0; c < n; c++)
		for (unsigned task = 0; task < TASKS; task++)
			candidates[c].times[task] = calibrate(&candidates[c], task);
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned task = 0; task < TASKS; task++)
			for (unsigned c = 0; c < n; c++) {
				struct candidate *it = &candidates[c];
				unsigned times = it->times[task];

				it->picos[task][round] = run(it, task, times) * 1000 / times;
			}

	printf("medians (minima): below 1400 bytes in ns, from there in ns/byte\n%-35s", "");
	for (unsigned task = 0; task < TASKS; task++)
		printf("%16s", tasks[task].name);
	printf("\n");
	for (unsigned c = 0; c < n; c++)
		print(&candidates[c]);
	return n > 0 ? 0 : 1;
}
