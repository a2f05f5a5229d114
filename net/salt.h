/*
 * Fresh salts, for every family that has them. A client's may look like something else: they begin
 * with bytes that the user chose, as Outline's do, or are printable, or both.
 */
#ifndef NET_SALT_H
#define NET_SALT_H

#include "net/wire.h"

/* Fill salt[0..key->salt_len) as the key says. At least half of it is drawn at random. */
void salt_make(const struct wire_key *key, unsigned char *salt);

#endif
