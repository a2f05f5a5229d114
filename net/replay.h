/*
 * The salts that were seen (design: replay memory; PROTOCOL 7). 48-bit keyed fingerprints in
 * buckets of one cache line; two halves in turn, so between half of the capacity and all of it is
 * remembered. The mapping is shared with children forked later and reserved once; it is touched
 * as it grows, starting at 64 KB. One for TCP, one for UDP. No I/O.
 */
#ifndef NET_REPLAY_H
#define NET_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay;

/* Memory for `capacity` salts; NULL with errno. */
struct replay *replay_open(uint32_t capacity);
void replay_close(struct replay *replay);

/* True if this salt (1..64 bytes) was seen before; it is remembered from now on. Under a mutex that
 * is shared between processes and survives the death of its holder. */
bool replay_seen(struct replay *replay, const unsigned char *salt, size_t n);

/* Salts remembered now, for the line of state. */
uint32_t replay_count(const struct replay *replay);

#endif
