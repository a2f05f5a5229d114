/*
 * Timers on a hierarchical wheel: setting, moving and cancelling cost the same whatever the
 * number of timers. Knows no clock: the caller says what time it is.
 */
#ifndef CORE_TIMER_H
#define CORE_TIMER_H

#include "core/list.h"

#include <stdbool.h>
#include <stdint.h>

/* 13 digits of 5 bits are a whole uint64_t: there is no time too far away. */
enum { WHEEL_BITS = 5, WHEEL_SLOTS = 1 << WHEEL_BITS, WHEEL_LEVELS = 13 };

/* Embedded in its owner. Zeroed by timer_init(); fire may set it again, or free its owner. */
struct timer {
	struct list link;
	uint64_t due; /* ms, on the caller's clock */
	void (*fire)(struct timer *);
};

struct wheel {
	uint64_t now;			/* ms; moved by wheel_advance() only */
	uint32_t pending[WHEEL_LEVELS]; /* bit s: slot s may hold timers */
	struct list slots[WHEEL_LEVELS][WHEEL_SLOTS];
};

void timer_init(struct timer *timer, void (*fire)(struct timer *));

static inline bool timer_pending(const struct timer *timer)
{
	return !list_empty(&timer->link);
}

void wheel_init(struct wheel *wheel, uint64_t now);

/* Fire at `due`; a due time that has passed fires at the next advance. Pending timers move. */
void wheel_set(struct wheel *wheel, struct timer *timer, uint64_t due);
void wheel_cancel(struct timer *timer);

/* Milliseconds that may be slept before wheel_advance() has something to do; -1: for ever.
 * Never later than the earliest timer, perhaps earlier. */
int64_t wheel_wait(const struct wheel *wheel);

/* Move to `now` and fire what is due, in order of time. A timer that a fire function sets for a
 * time which has passed fires at the following millisecond, so no chain of timers spins. */
void wheel_advance(struct wheel *wheel, uint64_t now);

#endif
