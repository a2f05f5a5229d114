/*
 * See salts.h. Called by wire_2022.c, for handshakes only. One mapping:
 *
 *	struct salts | heads of the buckets | entries
 *
 * An entry is linked into the bucket of its hash, or into the list of free ones. Numbers of entries
 * are one more than their index; 0 is none. The table grows by one bucket at a time (linear
 * hashing), so no call does more than its neighbours, and only as much memory is touched as entries
 * were ever in use. Whatever is too old goes when a hand that moves on with every call comes by.
 *
 * What has gone leaves the largest of its timestamps behind. Requests up to that one are untimely
 * already, and are refused if the clock is set back and they are timely again.
 *
 * The links can always be made again from the entries, and are if a holder of the mutex died.
 */
#include "net/salts.h"

#include "core/bytes.h"
#include "core/shared.h"

#include <errno.h>
#include <sodium.h>
#include <stdatomic.h>
#include <string.h>

enum {
	BUCKETS = 512, /* at first */
	STEPS = 4      /* entries that the hand passes in a call */
};

static const uint64_t NEVER = UINT64_MAX; /* `seen` of an entry that is free */

struct entry {
	unsigned char salt[SALTS_LEN]; /* shorter ones end in zeros */
	uint64_t stamp;		       /* of the request */
	uint64_t seen;		       /* by the steady clock */
	uint32_t hash;
	uint32_t next; /* in its bucket, or of the free ones */
};

_Static_assert(sizeof(struct entry) + sizeof(uint32_t) <= SALTS_BYTES, "and its part of the heads");

struct salts {
	struct shared_mutex mutex;
	unsigned char key[crypto_shorthash_KEYBYTES];
	uint32_t max;
	uint32_t touched; /* entries below were used at some time */
	uint32_t count;	  /* entries in buckets */
	uint32_t free;	  /* the first free one below `touched` */
	uint32_t buckets;
	uint32_t hand;	/* the index it comes to next */
	uint64_t swept; /* when all that was too old had gone, by the steady clock */
	uint64_t since; /* of smaller timestamps, salts may have gone */
	uint32_t heads[];
};

static uint64_t entries_at(uint32_t max)
{
	uint64_t heads = max > BUCKETS ? max : BUCKETS;

	return (sizeof(struct salts) + heads * sizeof(uint32_t) + 63) / 64 * 64;
}

static uint64_t mapping_size(uint32_t max)
{
	return entries_at(max) + (uint64_t)max * sizeof(struct entry);
}

static struct entry *entry_of(const struct salts *salts, uint32_t number)
{
	return (struct entry *)((char *)salts + entries_at(salts->max)) + number - 1;
}

struct salts *salts_open(uint32_t capacity)
{
	struct salts *salts;

	if (capacity == 0 || capacity > 1u << 31) {
		errno = EINVAL;
		return NULL;
	}
	salts = shared_map(mapping_size(capacity));
	if (!salts)
		return NULL;
	crypto_shorthash_keygen(salts->key);
	salts->max = capacity;
	salts->buckets = BUCKETS;
	return salts;
}

int salts_share(struct salts *salts)
{
	return shared_among_several(&salts->mutex);
}

void salts_close(struct salts *salts)
{
	if (!salts)
		return;
	sodium_memzero(salts->key, sizeof salts->key);
	shared_unmap(salts, mapping_size(salts->max));
}

/* The largest power of two that is not more than n > 0. */
static uint32_t power_below(uint32_t n)
{
	uint32_t power = 1;

	while (power <= n / 2)
		power *= 2;
	return power;
}

static uint32_t *bucket_of(struct salts *salts, uint32_t hash)
{
	uint32_t power = power_below(salts->buckets), at = hash & (2 * power - 1);

	return &salts->heads[at < salts->buckets ? at : at - power];
}

static void link_into(struct salts *salts, uint32_t *head, uint32_t number)
{
	entry_of(salts, number)->next = *head;
	*head = number;
}

/* A bucket more: half of one that is there. */
static void grow(struct salts *salts)
{
	uint32_t half = salts->buckets - power_below(salts->buckets);
	uint32_t number = salts->heads[half];

	salts->heads[salts->buckets++] = 0;
	salts->heads[half] = 0;
	while (number) {
		struct entry *entry = entry_of(salts, number);
		uint32_t next = entry->next;

		link_into(salts, bucket_of(salts, entry->hash), number);
		number = next;
	}
}

/* A holder died: only the entries themselves are sure. */
static void mend(struct salts *salts)
{
	memset(salts->heads, 0, salts->buckets * sizeof *salts->heads);
	salts->free = salts->count = 0;
	for (uint32_t number = 1; number <= salts->touched; number++) {
		struct entry *entry = entry_of(salts, number);

		if (entry->seen == NEVER) {
			link_into(salts, &salts->free, number);
		} else {
			link_into(salts, bucket_of(salts, entry->hash), number);
			salts->count++;
		}
	}
}

/* What was written before is in memory whenever this process dies from here on. */
static void settle(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

static bool after_life(uint64_t since, uint64_t now)
{
	return now > since && now - since > SALTS_LIFE;
}

/* By both clocks: one that is set forward and back again must not make anybody forget. */
static bool too_old(const struct entry *entry, struct salts_now now)
{
	return entry->seen != NEVER && after_life(entry->seen, now.steady) &&
	       after_life(entry->stamp, now.clock);
}

static void let_go(struct salts *salts, uint32_t number)
{
	struct entry *entry = entry_of(salts, number);
	uint32_t *link = bucket_of(salts, entry->hash);

	while (*link != number)
		link = &entry_of(salts, *link)->next;
	*link = entry->next;
	if (salts->since <= entry->stamp)
		salts->since = entry->stamp + 1;
	settle();
	entry->seen = NEVER;
	link_into(salts, &salts->free, number);
	salts->count--;
}

/* Move the hand over n entries. */
static void sweep(struct salts *salts, struct salts_now now, uint32_t n)
{
	for (; n > 0 && salts->touched > 0; n--) {
		if (salts->hand >= salts->touched)
			salts->hand = 0;
		salts->hand++;
		if (too_old(entry_of(salts, salts->hand), now))
			let_go(salts, salts->hand);
	}
}

/* An entry to fill, in no list; 0: there is none. */
static uint32_t take(struct salts *salts, struct salts_now now)
{
	if (!salts->free && salts->touched == salts->max && salts->swept != now.steady) {
		sweep(salts, now, salts->max);
		salts->swept = now.steady; /* no more can become too old before the next second */
	}
	if (salts->free) {
		uint32_t number = salts->free;

		salts->free = entry_of(salts, number)->next;
		return number;
	}
	if (salts->touched == salts->max)
		return 0;
	entry_of(salts, salts->touched + 1)->seen = NEVER;
	settle();
	return ++salts->touched;
}

/* The number of its entry; 0: there is none. */
static uint32_t find(struct salts *salts, const unsigned char *salt, uint32_t hash)
{
	uint32_t number = *bucket_of(salts, hash);

	while (number) {
		struct entry *entry = entry_of(salts, number);

		if (entry->hash == hash && memcmp(entry->salt, salt, SALTS_LEN) == 0)
			return number;
		number = entry->next;
	}
	return 0;
}

static enum salts_result add(struct salts *salts, const unsigned char *salt, uint32_t hash,
			     uint64_t stamp, struct salts_now now)
{
	uint32_t number = find(salts, salt, hash);
	struct entry *entry;

	if (number) {
		if (!too_old(entry_of(salts, number), now))
			return SALTS_SEEN;
		let_go(salts, number);
	}
	if (stamp < salts->since)
		return SALTS_UNSURE;
	number = take(salts, now);
	if (!number)
		return SALTS_FULL;
	entry = entry_of(salts, number);
	memcpy(entry->salt, salt, SALTS_LEN);
	entry->hash = hash;
	entry->stamp = stamp;
	settle();
	entry->seen = now.steady; /* from here on it is one that mend() keeps */
	link_into(salts, bucket_of(salts, hash), number);
	salts->count++;
	if (salts->count > salts->buckets && salts->buckets < salts->max)
		grow(salts);
	return SALTS_NEW;
}

enum salts_result salts_add(struct salts *salts, const unsigned char *salt, size_t n,
			    uint64_t stamp, struct salts_now now)
{
	unsigned char padded[SALTS_LEN] = { 0 }, hash[crypto_shorthash_BYTES];
	enum salts_result result;

	memcpy(padded, salt, n);
	crypto_shorthash(hash, padded, sizeof padded, salts->key);
	if (shared_lock(&salts->mutex))
		mend(salts);
	sweep(salts, now, STEPS);
	result = add(salts, padded, get_u32le(hash), stamp, now);
	shared_unlock(&salts->mutex);
	return result;
}

uint32_t salts_count(const struct salts *salts)
{
	return salts->count;
}

uint32_t salts_capacity(const struct salts *salts)
{
	return salts->max;
}
