/*
 * See ledger.h. One mapping: the keyed hashes of the names (open addressing), then the cells, an
 * entry's beside each other. A holder of the mutex that died left at worst a hash that is nobody's.
 */
#include "net/ledger.h"

#include "core/shared.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

struct cell {
	uint64_t up, down;
};

struct shared {
	struct shared_mutex mutex;
	uint64_t hashes[]; /* 0: free */
};

struct ledger {
	struct shared *shared;
	struct cell *cells;
	unsigned workers, place; /* of this process */
	uint32_t slots;		 /* a power of two */
	unsigned char key[crypto_shorthash_KEYBYTES];
};

static uint64_t cells_at(uint32_t slots)
{
	return (sizeof(struct shared) + (uint64_t)slots * sizeof(uint64_t) + 63) / 64 * 64;
}

static uint64_t mapping_size(const struct ledger *ledger)
{
	return cells_at(ledger->slots) +
	       (uint64_t)ledger->slots * ledger->workers * sizeof(struct cell);
}

struct ledger *ledger_open(uint32_t names, unsigned workers)
{
	struct ledger *ledger = calloc(1, sizeof(*ledger));

	if (!ledger)
		return NULL;
	ledger->workers = workers;
	ledger->slots = 1024;
	while (ledger->slots < 1u << 30 && ledger->slots / 2 < names)
		ledger->slots *= 2;
	crypto_shorthash_keygen(ledger->key);
	ledger->shared = shared_map(mapping_size(ledger));
	if (!ledger->shared || shared_among_several(&ledger->shared->mutex) < 0) {
		ledger_close(ledger);
		return NULL;
	}
	ledger->cells = (struct cell *)(void *)((char *)ledger->shared + cells_at(ledger->slots));
	return ledger;
}

void ledger_close(struct ledger *ledger)
{
	if (!ledger)
		return;
	if (ledger->shared)
		shared_unmap(ledger->shared, mapping_size(ledger));
	free(ledger);
}

void ledger_start(struct ledger *ledger, unsigned place)
{
	ledger->place = place;
}

static uint64_t hash_of(const struct ledger *ledger, uint32_t service, const char *name)
{
	unsigned char key[crypto_shorthash_KEYBYTES], hash[crypto_shorthash_BYTES];
	uint64_t number;

	memcpy(key, ledger->key, sizeof key);
	for (int i = 0; i < 4; i++)
		key[i] ^= (unsigned char)(service >> 8 * i);
	crypto_shorthash(hash, (const unsigned char *)name, strlen(name), key);
	memcpy(&number, hash, sizeof number);
	return number ? number : 1;
}

uint32_t ledger_entry(struct ledger *ledger, uint32_t service, const char *name)
{
	uint64_t hash = hash_of(ledger, service, name), *hashes = ledger->shared->hashes;
	uint32_t at = (uint32_t)hash & (ledger->slots - 1), tried = 0;

	(void)shared_lock(&ledger->shared->mutex);
	for (; hashes[at] && hashes[at] != hash && tried < ledger->slots; tried++)
		at = (at + 1) & (ledger->slots - 1);
	if (tried < ledger->slots)
		hashes[at] = hash;
	shared_unlock(&ledger->shared->mutex);
	return tried < ledger->slots ? at + 1 : 0;
}

static struct cell *cells_of(const struct ledger *ledger, uint32_t entry)
{
	return ledger->cells + (size_t)(entry - 1) * ledger->workers;
}

void ledger_add(struct ledger *ledger, uint32_t entry, uint64_t up, uint64_t down)
{
	struct cell *cell;

	if (entry == 0)
		return;
	cell = cells_of(ledger, entry) + ledger->place;
	cell->up += up;
	cell->down += down;
}

void ledger_sum(const struct ledger *ledger, uint32_t entry, uint64_t *up, uint64_t *down)
{
	*up = *down = 0;
	for (unsigned i = 0; entry > 0 && i < ledger->workers; i++) {
		*up += cells_of(ledger, entry)[i].up;
		*down += cells_of(ledger, entry)[i].down;
	}
}
