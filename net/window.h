/*
 * The sliding window over the packet numbers of one session (SIP022, UDP: replay protection). A
 * number passes once; numbers come in any order, as long as they are not older than the newest by
 * WINDOW_SIZE or more. Looking and taking are apart, because the state may change only for a packet
 * that proved to be right in everything else. Zeroed: nothing was seen, any number may come first.
 * No I/O.
 */
#ifndef NET_WINDOW_H
#define NET_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum { WINDOW_SIZE = 2048, WINDOW_WORDS = WINDOW_SIZE / 64 };

struct window {
	uint64_t newest;
	uint64_t seen[WINDOW_WORDS]; /* the bit of a number is the number modulo WINDOW_SIZE */
};

/* May this number still come? Changes nothing. */
bool window_fresh(const struct window *window, uint64_t number);

/* It came: window_fresh() has said yes. */
void window_take(struct window *window, uint64_t number);

#endif
