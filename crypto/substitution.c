/*
 * The method `table`: every byte is replaced by another, always by the same one. The
 * permutation comes from the first 8 bytes of the key, which kdf_password() begins with the MD5 of
 * the password, as this method wants it. Reached through stream.c's table.
 */
#include "crypto/stream.h"

#include "core/bytes.h"

#include <sodium.h>
#include <string.h>

enum { ROUNDS = 1024, KEYS = 256 + ROUNDS };

struct substitution {
	unsigned char seal[256], open[256];
};

/* Sort by a mod (value + round), which is small: count, then place. Stable, as it must be. */
static void sort(unsigned char table[256], uint64_t a, unsigned round)
{
	unsigned char before[256];
	uint16_t key[256], place[KEYS] = { 0 };

	memcpy(before, table, sizeof before);
	for (unsigned i = 0; i < 256; i++) {
		key[i] = (uint16_t)(a % (before[i] + round));
		place[key[i] + 1]++;
	}
	for (unsigned k = 1; k < KEYS; k++)
		place[k] = (uint16_t)(place[k] + place[k - 1]);
	for (unsigned i = 0; i < 256; i++)
		table[place[key[i]]++] = before[i];
	sodium_memzero(before, sizeof before);
	sodium_memzero(key, sizeof key);
}

static void expand(const struct stream *self, void *schedule, const unsigned char *key)
{
	struct substitution *table = schedule;

	(void)self;
	for (unsigned i = 0; i < 256; i++)
		table->seal[i] = (unsigned char)i;
	for (unsigned round = 1; round < ROUNDS; round++)
		sort(table->seal, get_u64le(key), round);
	for (unsigned i = 0; i < 256; i++)
		table->open[table->seal[i]] = (unsigned char)i;
}

static void begin(const struct stream *self, const void *schedule, struct stream_state *state,
		  const unsigned char *iv)
{
	(void)self, (void)schedule, (void)state, (void)iv;
}

static void replace(const unsigned char table[256], unsigned char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text[i] = table[text[i]];
}

static void seal(const struct stream *self, const void *schedule, struct stream_state *state,
		 unsigned char *text, size_t n)
{
	(void)self, (void)state;
	replace(((const struct substitution *)schedule)->seal, text, n);
}

static void open(const struct stream *self, const void *schedule, struct stream_state *state,
		 unsigned char *text, size_t n)
{
	(void)self, (void)state;
	replace(((const struct substitution *)schedule)->open, text, n);
}

const struct stream_kind stream_substitution = {
	.schedule = sizeof(struct substitution),
	.expand = expand,
	.begin = begin,
	.encrypt = seal,
	.decrypt = open,
};
