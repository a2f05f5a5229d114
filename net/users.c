/*
 * See users.h. Called when settings are read, for handshakes, and at the end of sessions. Two
 * indexes of open addressing, by hash of the key and by name, are never more than half full: a
 * look-up costs the same with ten users and with ten thousand.
 *
 * All tables that replaced each other share one line, which knows the last of them: sessions keep
 * the table they began under, and none that came in between.
 */
#include "net/users.h"

#include "core/bytes.h"
#include "crypto/blake3.h"
#include "net/ledger.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

struct line {
	size_t tables;	       /* that share it */
	struct users *current; /* the table in use; NULL: none any more */
};

struct users {
	size_t uses; /* the owner, and sessions */
	struct line *line;
	struct ledger *ledger; /* NULL: counters are in `all` */
	size_t max, count;
	size_t mask;	   /* entries of each index, less one */
	uint32_t *by_hash; /* places in `all`, plus one; 0: nobody */
	uint32_t *by_name;
	unsigned char key[crypto_shorthash_KEYBYTES]; /* of the index by name */
	struct user all[];
};

struct users *users_open(size_t n)
{
	struct users *users;
	size_t slots = 2;

	assert(n > 0 && n <= USERS_MAX);
	while (slots < 2 * n)
		slots *= 2;
	users = calloc(1, sizeof *users + n * sizeof users->all[0]);
	if (!users)
		return NULL;
	users->by_hash = calloc(2 * slots, sizeof *users->by_hash);
	users->line = malloc(sizeof *users->line);
	if (!users->by_hash || !users->line) {
		free(users->by_hash);
		free(users->line);
		free(users);
		return NULL;
	}
	*users->line = (struct line){ .tables = 1, .current = users };
	users->by_name = users->by_hash + slots;
	users->mask = slots - 1;
	users->max = n;
	users->uses = 1;
	crypto_shorthash_keygen(users->key);
	return users;
}

/* Where the user of this hash is listed, or would be. */
static uint32_t *slot_of_hash(const struct users *users, const unsigned char hash[USER_HASH])
{
	size_t at = get_u32le(hash) & users->mask;

	while (users->by_hash[at] &&
	       memcmp(users->all[users->by_hash[at] - 1].hash, hash, USER_HASH) != 0)
		at = (at + 1) & users->mask;
	return &users->by_hash[at];
}

static uint32_t *slot_of_name(const struct users *users, const char *name)
{
	unsigned char hash[crypto_shorthash_BYTES];
	size_t at;

	crypto_shorthash(hash, (const unsigned char *)name, strlen(name), users->key);
	at = get_u32le(hash) & users->mask;
	while (users->by_name[at] && strcmp(users->all[users->by_name[at] - 1].name, name) != 0)
		at = (at + 1) & users->mask;
	return &users->by_name[at];
}

enum users_result users_add(struct users *users, const char *name, const unsigned char *key,
			    size_t key_len)
{
	struct user *user = &users->all[users->count];
	uint32_t *by_hash, *by_name;

	assert(users->count < users->max && key_len <= sizeof user->key);
	blake3_hash(key, key_len, user->hash, sizeof user->hash);
	by_hash = slot_of_hash(users, user->hash);
	if (*by_hash)
		return USERS_SAME_KEY;
	by_name = slot_of_name(users, name);
	if (*by_name)
		return USERS_SAME_NAME;
	user->name = strdup(name);
	if (!user->name)
		return USERS_NO_MEMORY;
	memcpy(user->key, key, key_len);
	user->table = users;
	*by_hash = *by_name = (uint32_t)++users->count;
	return USERS_ADDED;
}

size_t users_count_in(struct users *users, struct ledger *ledger, uint32_t service)
{
	size_t without = 0;

	users->ledger = ledger;
	for (size_t i = 0; i < users->count; i++) {
		users->all[i].entry = ledger_entry(ledger, service, users->all[i].name);
		without += users->all[i].entry == 0;
	}
	return without;
}

/* A table goes, or shares another line. */
static void leave_line(struct users *users)
{
	struct line *line = users->line;

	if (line->current == users)
		line->current = NULL;
	if (--line->tables == 0)
		free(line);
}

/* One that used the table does no more. */
static void release(struct users *users)
{
	if (!users || --users->uses > 0)
		return;
	leave_line(users);
	for (size_t i = 0; i < users->count; i++)
		free(users->all[i].name);
	sodium_memzero(users->all, users->max * sizeof users->all[0]);
	free(users->by_hash);
	free(users);
}

void users_close(struct users *users)
{
	release(users);
}

static struct user *find_name(const struct users *users, const char *name)
{
	uint32_t place = *slot_of_name(users, name);

	return place ? (struct user *)&users->all[place - 1] : NULL;
}

struct users *users_replace(struct users *old, struct users *fresh)
{
	if (!old)
		return fresh;
	for (size_t i = 0; fresh && i < old->count; i++) {
		struct user *user = find_name(fresh, old->all[i].name);

		if (user) {
			user->up += old->all[i].up;
			user->down += old->all[i].down;
		}
	}
	old->line->current = fresh;
	if (fresh) {
		leave_line(fresh);
		fresh->line = old->line;
		fresh->line->tables++;
	}
	users_close(old);
	return fresh;
}

struct users *users_copy(const struct users *users, const char *without, size_t key_len)
{
	struct users *copy = users->count < USERS_MAX ? users_open(users->count + 1) : NULL;

	for (size_t i = 0; copy && i < users->count; i++) {
		const struct user *user = &users->all[i];

		if (without && !strcmp(user->name, without))
			continue;
		if (users_add(copy, user->name, user->key, key_len) != USERS_ADDED) {
			users_close(copy);
			copy = NULL;
		}
	}
	return copy;
}

void users_none_live(struct users *users)
{
	for (size_t i = 0; i < users->count; i++)
		users->all[i].live.up = users->all[i].live.down = 0;
}

void users_count_live(struct users *users, const struct user *user, uint64_t up, uint64_t down)
{
	struct user *counts = user ? find_name(users, user->name) : NULL;

	if (counts) {
		counts->live.up += up;
		counts->live.down += down;
	}
}

bool users_lost(const struct users *users, const struct user *user)
{
	const struct user *found;

	if (!user)
		return false;
	found = users ? users_find(users, user->hash) : NULL;
	return !found || strcmp(found->name, user->name) != 0;
}

size_t users_count(const struct users *users)
{
	return users->count;
}

const struct user *users_at(const struct users *users, size_t i)
{
	return &users->all[i];
}

struct user *users_find(const struct users *users, const unsigned char hash[USER_HASH])
{
	uint32_t place = *slot_of_hash(users, hash);

	return place ? (struct user *)&users->all[place - 1] : NULL;
}

struct user *user_hold(struct user *user)
{
	if (user)
		user->table->uses++;
	return user;
}

void user_leave(struct user *user, uint64_t up, uint64_t down)
{
	struct users *current;
	struct user *counts;

	if (!user)
		return;
	current = user->table->line->current;
	counts = current == user->table ? user : current ? find_name(current, user->name) : NULL;
	if (counts && counts->table->ledger) {
		ledger_add(counts->table->ledger, counts->entry, up, down);
	} else if (counts) {
		counts->up += up;
		counts->down += down;
	}
	release(user->table);
}

void user_traffic(const struct user *user, uint64_t *up, uint64_t *down)
{
	*up = user->up;
	*down = user->down;
	if (user->table->ledger)
		ledger_sum(user->table->ledger, user->entry, up, down);
}
