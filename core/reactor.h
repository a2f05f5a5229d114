/*
 * The event loop. It watches file descriptors, remembers which are ready, and wakes their
 * owners; it runs timers; it buries what was closed once nobody can refer to it any more.
 * One per process.
 *
 * A descriptor is registered once, edge-triggered, for both directions. Events only set bits in
 * source.ready; whoever sees EAGAIN (or a short read or write) clears the bit. A wake-up says
 * "look again", no more: it may come at any time, and twice.
 */
#ifndef CORE_REACTOR_H
#define CORE_REACTOR_H

#include "core/timer.h"

#include <stdbool.h>
#include <stdint.h>

enum ready {
	READY_IN = 1,	   /* a read may give bytes or the end */
	READY_OUT = 2,	   /* a write may take bytes; a connect has ended */
	READY_EOF = 4,	   /* the peer sends no more: a short read is no proof of emptiness */
	READY_ERROR = 8,   /* reset or failed: the next read or write tells why */
	READY_URGENT = 16, /* urgent data may be there: nor is it then, since reads end at it */
	/* the peer's end lies behind what is to be read: a short read was the last */
	READY_LAST = 32,
	READY_TO_THE_END = READY_EOF | READY_ERROR | READY_URGENT /* read until EAGAIN */
};

/* A descriptor the reactor watches; embedded in its owner. fd is -1 when there is none. */
struct source {
	int fd;
	uint8_t ready; /* enum ready */
	bool queued;
	void (*wake)(struct source *);
	struct source *next; /* in the queue of the woken; the reactor's */
};

/* Something closed whose memory must outlive this turn; embedded in its owner. */
struct burial {
	struct burial *next;
	void (*bury)(struct burial *);
};

/* Tell the time by `clock`, ms, instead of the system's clock; NULL: the system's again. For tests,
 * before reactor_open(). How long a turn may wait is still counted by the system. */
void reactor_clock(uint64_t (*clock)(void));

/* Open the poller. 0, or -1 with errno. To be called again by each child that serves, before
 * anything else here: until then it shares its parent's poller. What was watched, queued or timed
 * is not any more. */
int reactor_open(void);
void reactor_close(void);

/* Watch source->fd, which is non-blocking. ready starts as `ready`. 0, or -1 with errno. */
int reactor_watch(struct source *source, int fd, uint8_t ready, void (*wake)(struct source *));

/* The same for input alone: for datagram sockets, which report room for output again with every
 * datagram that leaves. */
int reactor_watch_input(struct source *source, int fd, void (*wake)(struct source *));

/* Hand the descriptor of `from` over to `to`, with what is known of its readiness. 0, or -1 with
 * errno and nothing changed. */
int reactor_move(struct source *from, struct source *to, void (*wake)(struct source *));

/* Close the descriptor and stop watching it; no wake-up follows. Without one: nothing. */
void reactor_forget(struct source *source);

/* Wake the source in the next turn, which does not wait: for owners that stop before EAGAIN. */
void reactor_again(struct source *source);

/* Call burial->bury(burial) at the end of this turn. */
void reactor_bury(struct burial *burial);

/* Fire the timer `ms` milliseconds from now, once; a pending timer is moved. */
void reactor_after(struct timer *timer, uint64_t ms);
void reactor_cancel(struct timer *timer);

/* Milliseconds on a clock that never steps, as of the beginning of this turn. */
uint64_t reactor_now(void);

/* One turn: wait at most `max_wait` ms (-1: until something happens), wake, fire, bury. */
void reactor_turn(int max_wait);

/* Turn until reactor_stop(). */
void reactor_run(void);
void reactor_stop(void);
bool reactor_stopping(void);

#endif
