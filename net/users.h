/*
 * The users of a server (SIP023): names, keys, byte counters, found by the hash of a key. A table
 * is filled when settings are read and does not change afterwards, but for the counters. A reload
 * puts a new table in its place; the old one stays for the sessions that began under it. No I/O, no
 * allocation once a table is filled.
 */
#ifndef NET_USERS_H
#define NET_USERS_H

#include "net/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	USER_HASH = 16, /* bytes: the beginning of BLAKE3(key) */
	USERS_MAX = 1 << 20
};

struct ledger;
struct users;

struct user {
	unsigned char hash[USER_HASH];
	unsigned char key[WIRE_KEY_MAX];
	char *name;
	uint64_t up, down; /* payload bytes of sessions that ended; see user_traffic() */
	struct {
		uint64_t up, down;
	} live;		     /* of others, when they were counted last: engine_count_live() */
	uint32_t entry;	     /* where they are counted instead, if several workers count */
	struct users *table; /* where it is listed */
};

enum users_result {
	USERS_ADDED,
	USERS_SAME_KEY,	 /* another user has this key: nobody could tell them apart */
	USERS_SAME_NAME, /* another user has this name: counters could not be told apart */
	USERS_NO_MEMORY
};

/* An empty table for n users, 1..USERS_MAX; it belongs to the caller. NULL: no memory.
 * crypto_open() has run. */
struct users *users_open(size_t n);

/* Add one of those n. The name and the key (key_len <= WIRE_KEY_MAX bytes, of the method) are
 * copied. */
enum users_result users_add(struct users *users, const char *name, const unsigned char *key,
			    size_t key_len);

/* Several workers count for these users, who are those of this service: in the ledger. When all are
 * added. The number of those for whom there was no room, who are not counted. */
size_t users_count_in(struct users *users, struct ledger *ledger, uint32_t service);

/* Its owner is done with the table. It is wiped and freed when nobody uses a user of it any
 * more. */
void users_close(struct users *users);

/* The owner puts `fresh` (NULL: none) in the place of `old` (NULL: none) and closes that: users of
 * the same name keep their counters. Returns `fresh`. */
struct users *users_replace(struct users *old, struct users *fresh);

/* A copy of the table, with room for one more, but without the user of this name (NULL: with all).
 * NULL: no memory, or there are as many as can be. */
struct users *users_copy(const struct users *users, const char *without, size_t key_len);

/* Nobody has a live session; then, for each that there is: what it has moved so far. */
void users_none_live(struct users *users);
void users_count_live(struct users *users, const struct user *user, uint64_t up, uint64_t down);

/* True if this user (NULL: nobody) is not in the table any more under the same name with the same
 * key. */
bool users_lost(const struct users *users, const struct user *user);

size_t users_count(const struct users *users);
const struct user *users_at(const struct users *users, size_t i);

/* The user whose key has this hash, or NULL. */
struct user *users_find(const struct users *users, const unsigned char hash[USER_HASH]);

/* A session is this user's: its table stays. (Returns it.) At its end it is given back with what
 * was moved, which counts for the user of that name in the table that is in use then. NULL:
 * nothing. */
struct user *user_hold(struct user *user);
void user_leave(struct user *user, uint64_t up, uint64_t down);

/* Payload bytes of all sessions that ended, whoever served them. */
void user_traffic(const struct user *user, uint64_t *up, uint64_t *down);

#endif
