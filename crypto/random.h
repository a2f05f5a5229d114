/*
 * Random bytes, many times a second: for the salts and nonces of datagrams. The kernel is asked for
 * a key now and then; a stream cipher makes the bytes, and its next key first (so what was given
 * out cannot be made again). Memory that a forked child finds empty keeps two processes from the
 * same bytes; where there is no such memory, the kernel is asked every time.
 */
#ifndef CRYPTO_RANDOM_H
#define CRYPTO_RANDOM_H

#include <stddef.h>

/* Fill to[0..n). crypto_open() has run. */
void random_bytes(void *to, size_t n);

/* Part of crypto_open(). */
void random_open(void);

/* What the system would do if it were asked for random bytes now: give them, wait until it has
 * gathered enough since it was started, or fail. */
enum random_source { RANDOM_READY, RANDOM_LATE, RANDOM_NONE } random_source(void);

#endif
