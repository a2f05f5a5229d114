/*
 * The salts that were seen. Called by the wire formats, once for each handshake, and for each
 * datagram where sessions have no numbers. One mapping holds it all and is shared by the processes
 * that fork after replay_open():
 *
 *	struct replay | half 0: level 0, level 1, ... | half 1: level 0, level 1, ...
 *
 * A half takes `limit` entries; when the current half has them, the other one is emptied and
 * becomes the current one. Level 0 of a half has LEVEL buckets, each further one as many as all
 * before it, the last what is left. A half fills its levels one after the other, eight entries for
 * each bucket of ten, and an entry whose bucket is full goes into the next bucket of its level; so
 * a search in a level ends at the first bucket that is not full.
 *
 * A bucket is empty unless it bears the generation of its half: emptying a half is one addition.
 */
#include "net/replay.h"

#include "core/bytes.h"
#include "core/shared.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

enum {
	LEVEL = 512, /* buckets of level 0: 32 KB, 64 KB in both halves */
	SLOTS = 10,  /* entries that a bucket has room for */
	LOAD = 8,    /* entries per bucket that a level takes */
	PRINT = 6    /* bytes of a fingerprint */
};

struct bucket {
	uint32_t generation : 28;
	uint32_t count : 4;
	unsigned char prints[SLOTS][PRINT];
};

_Static_assert(sizeof(struct bucket) == 64, "a bucket is one cache line");

struct half {
	uint32_t used; /* entries */
	uint32_t generation;
};

struct replay {
	struct shared_mutex mutex;
	unsigned char key[crypto_shorthash_KEYBYTES];
	uint32_t limit;	  /* entries of a half */
	uint32_t buckets; /* of a half */
	uint32_t current; /* half that takes new entries */
	struct half halves[2];
	_Alignas(64) struct bucket table[];
};

/* A salt on its way through the table. */
struct print {
	unsigned char bytes[PRINT];
	uint32_t place; /* where in a level, as a fraction of 2^32 */
};

/* A holder that died left at worst an entry that is not counted, or half a fingerprint that matches
 * nothing: the memory can be used as it is. */
static void lock(struct replay *replay)
{
	(void)shared_lock(&replay->mutex);
}

/* More than a size_t holds is possible where that has 32 bits. */
static uint64_t mapping_size(uint32_t buckets)
{
	return sizeof(struct replay) + 2 * (uint64_t)buckets * sizeof(struct bucket);
}

struct replay *replay_open(uint32_t capacity)
{
	uint32_t limit = capacity / 2;
	uint32_t buckets = limit / LOAD + (limit % LOAD > 0);
	struct replay *replay;

	if (limit == 0) {
		errno = EINVAL;
		return NULL;
	}
	replay = shared_map(mapping_size(buckets));
	if (!replay)
		return NULL;
	crypto_shorthash_keygen(replay->key);
	replay->limit = limit;
	replay->buckets = buckets;
	replay->halves[0].generation = replay->halves[1].generation = 1;
	return replay;
}

int replay_share(struct replay *replay)
{
	return shared_among_several(&replay->mutex);
}

void replay_close(struct replay *replay)
{
	if (!replay)
		return;
	sodium_memzero(replay->key, sizeof replay->key);
	shared_unmap(replay, mapping_size(replay->buckets));
}

static struct print print_of(const struct replay *replay, const unsigned char *salt, size_t n)
{
	unsigned char hash[crypto_shorthash_BYTES];
	struct print print;

	_Static_assert(sizeof hash == 8, "the hash has 48 bits and more");
	crypto_shorthash(hash, salt, n, replay->key);
	memcpy(print.bytes, hash, PRINT);
	print.place = get_u32le(hash + 4); /* its upper half is in no fingerprint */
	return print;
}

static uint32_t level_start(unsigned level)
{
	return level == 0 ? 0 : (uint32_t)LEVEL << (level - 1);
}

static uint32_t level_buckets(const struct replay *replay, unsigned level)
{
	uint32_t most = level == 0 ? LEVEL : level_start(level);
	uint32_t left = replay->buckets - level_start(level);

	return left < most ? left : most;
}

/* Has this half come to this level? */
static bool level_in_use(const struct replay *replay, const struct half *half, unsigned level)
{
	uint32_t start = level_start(level);

	return start < replay->buckets && half->used > start * LOAD;
}

static struct bucket *level_table(struct replay *replay, const struct half *half, unsigned level)
{
	size_t first = half == &replay->halves[0] ? 0 : replay->buckets;

	return replay->table + first + level_start(level);
}

static bool bucket_has(const struct bucket *bucket, const unsigned char *print)
{
	for (unsigned i = 0; i < bucket->count; i++)
		if (memcmp(bucket->prints[i], print, PRINT) == 0)
			return true;
	return false;
}

/* Where in this level the fingerprint is, if it is, unless that bucket was full. */
static struct bucket *bucket_of(struct replay *replay, const struct half *half, unsigned level,
				const struct print *print)
{
	uint64_t n = level_buckets(replay, level);

	return level_table(replay, half, level) + (print->place * n >> 32);
}

/* The bucket of this level that has the fingerprint (*found) or else would take it; NULL if all are
 * full, which only holders that died can bring about. */
static struct bucket *level_search(struct replay *replay, const struct half *half, unsigned level,
				   const struct print *print, bool *found)
{
	struct bucket *table = level_table(replay, half, level);
	uint32_t n = level_buckets(replay, level);
	uint32_t at = (uint32_t)(bucket_of(replay, half, level, print) - table);

	*found = false;
	for (uint32_t tried = 0; tried < n; tried++, at = at + 1 < n ? at + 1 : 0) {
		struct bucket *bucket = &table[at];

		if (bucket->generation != half->generation)
			return bucket;
		*found = bucket_has(bucket, print->bytes);
		if (*found || bucket->count < SLOTS)
			return bucket;
	}
	return NULL;
}

/* Buckets of large levels are in no cache: ask for all at once, not for one after the other. */
static void fetch(struct replay *replay, const struct half *half, const struct print *print)
{
	for (unsigned level = 0; level_in_use(replay, half, level); level++)
		__builtin_prefetch(bucket_of(replay, half, level, print));
}

static bool half_has(struct replay *replay, const struct half *half, const struct print *print)
{
	bool found = false;

	for (unsigned level = 0; !found && level_in_use(replay, half, level); level++)
		level_search(replay, half, level, print, &found);
	return found;
}

/* The half that takes the next entry. */
static struct half *half_with_room(struct replay *replay)
{
	struct half *half = &replay->halves[replay->current];

	if (half->used < replay->limit)
		return half;
	half = &replay->halves[!replay->current];
	half->generation = (half->generation + 1) & ((1u << 28) - 1);
	half->used = 0;
	replay->current = !replay->current;
	return half;
}

static void remember(struct replay *replay, const struct print *print)
{
	struct half *half = half_with_room(replay);
	struct bucket *bucket;
	unsigned level = 0;
	bool found;

	half->used++;
	while (level_in_use(replay, half, level + 1))
		level++;
	bucket = level_search(replay, half, level, print, &found);
	if (!bucket)
		return;

	if (bucket->generation != half->generation) {
		bucket->count = 0;
		bucket->generation = half->generation;
	}
	memcpy(bucket->prints[bucket->count], print->bytes, PRINT);
	bucket->count++;
}

bool replay_seen(struct replay *replay, const unsigned char *salt, size_t n)
{
	struct print print = print_of(replay, salt, n);
	bool seen;

	lock(replay);
	fetch(replay, &replay->halves[0], &print);
	fetch(replay, &replay->halves[1], &print);
	seen = half_has(replay, &replay->halves[0], &print) ||
	       half_has(replay, &replay->halves[1], &print);
	if (!seen)
		remember(replay, &print);
	shared_unlock(&replay->mutex);
	return seen;
}

void replay_note(struct replay *replay, const unsigned char *salt, size_t n)
{
	struct print print = print_of(replay, salt, n);

	lock(replay);
	remember(replay, &print);
	shared_unlock(&replay->mutex);
}

uint32_t replay_count(const struct replay *replay)
{
	return replay->halves[0].used + replay->halves[1].used;
}
