/*
 * The salts that were seen, so that what is recorded and sent again is refused. 48-bit keyed
 * fingerprints in buckets of one cache line; two halves in turn, so between half of the capacity
 * and all of it is remembered. The mapping is shared with children forked later and reserved once;
 * a half is filled level by level, each as large as all before it, so memory is touched as it is
 * needed, from 64 KB on, entries never move, and growing forgets nothing. One for TCP, one for UDP.
 * No I/O.
 *
 * A salt that was not seen is taken for one that was with a probability below 1e-12 per check at a
 * capacity of 1,000,000 (16 levels, some 12 fingerprints compared in each, 2^-48 that one agrees),
 * and below 1e-9 at any (a hash has 64 bits, so 2^32 salts, in neighbouring buckets too, 2^-64
 * each).
 */
#ifndef NET_REPLAY_H
#define NET_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay;

enum { REPLAY_BYTES = 9 /* of each salt, and less where there are many */ };

/* Memory for `capacity` salts, 2 at least; REPLAY_BYTES each, which are reserved, not touched. NULL
 * with errno. crypto_open() has run. */
struct replay *replay_open(uint32_t capacity);
void replay_close(struct replay *replay);

/* Processes that are forked from now on use it together. 0, or -1 with errno: it cannot be. */
int replay_share(struct replay *replay);

/* True if this salt (1..64 bytes) was seen before; it is remembered from now on. Once it is shared:
 * under a mutex that survives the death of its holder. */
bool replay_seen(struct replay *replay, const unsigned char *salt, size_t n);

/* Remember a salt without looking for it: one that was drawn at random just now, and is as long as
 * a key. */
void replay_note(struct replay *replay, const unsigned char *salt, size_t n);

/* Salts remembered now, for the line of state. */
uint32_t replay_count(const struct replay *replay);

#endif
