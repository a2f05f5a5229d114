/*
 * The timer wheel. Level 0 has a slot for each of the next 32 ms, level 1 for each of the next 32
 * runs of 32 ms, and so on. A timer lies on the level of the highest digit (base 32) in which its
 * due time differs from now; when now reaches that digit, the slot is dealt out to lower levels.
 * So a slot always lies ahead of now, and the lowest level that holds anything holds the earliest.
 */
#include "core/timer.h"

static unsigned digit(uint64_t time, unsigned level)
{
	return time >> (level * WHEEL_BITS) & (WHEEL_SLOTS - 1);
}

static void place(struct wheel *wheel, struct timer *timer)
{
	uint64_t differs = timer->due ^ wheel->now;
	unsigned level = differs ? (63 - (unsigned)__builtin_clzll(differs)) / WHEEL_BITS : 0;
	unsigned slot = digit(timer->due, level);

	list_append(&wheel->slots[level][slot], &timer->link);
	wheel->pending[level] |= UINT32_C(1) << slot;
}

/* When something is next to be done: a slot of level 0 fires or a higher one is dealt out. */
static bool next_event(const struct wheel *wheel, uint64_t *when)
{
	for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
		unsigned here = digit(wheel->now, level);
		uint64_t ahead = wheel->pending[level] & ~((UINT64_C(2) << here) - 1);

		if (ahead) {
			unsigned shift = level * WHEEL_BITS;
			uint64_t base = wheel->now >> shift >> WHEEL_BITS << WHEEL_BITS << shift;

			*when = base | (uint64_t)__builtin_ctzll(ahead) << shift;
			return true;
		}
	}
	return false;
}

/* Move the list of a slot to `to`, which is empty. */
static void empty_slot(struct wheel *wheel, unsigned level, struct list *to)
{
	unsigned slot = digit(wheel->now, level);
	struct list *from = &wheel->slots[level][slot];

	wheel->pending[level] &= ~(UINT32_C(1) << slot);
	list_init(to);
	while (!list_empty(from)) {
		struct list *link = from->next;

		list_remove(link);
		list_append(to, link);
	}
}

static void deal_out(struct wheel *wheel, unsigned level)
{
	struct list timers;

	empty_slot(wheel, level, &timers);
	while (!list_empty(&timers)) {
		struct timer *timer = container_of(timers.next, struct timer, link);

		list_remove(&timer->link);
		place(wheel, timer);
	}
}

static void fire_now(struct wheel *wheel)
{
	struct list timers;

	empty_slot(wheel, 0, &timers);
	while (!list_empty(&timers)) { /* a fire function may cancel those that follow */
		struct timer *timer = container_of(timers.next, struct timer, link);

		list_remove(&timer->link);
		timer->fire(timer);
	}
}

void timer_init(struct timer *timer, void (*fire)(struct timer *))
{
	*timer = (struct timer){ .fire = fire };
	list_init(&timer->link);
}

void wheel_init(struct wheel *wheel, uint64_t now)
{
	wheel->now = now;
	for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
		wheel->pending[level] = 0;
		for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++)
			list_init(&wheel->slots[level][slot]);
	}
}

void wheel_set(struct wheel *wheel, struct timer *timer, uint64_t due)
{
	list_remove(&timer->link);
	timer->due = due > wheel->now ? due : wheel->now + 1;
	place(wheel, timer);
}

void wheel_cancel(struct timer *timer)
{
	list_remove(&timer->link);
}

int64_t wheel_wait(const struct wheel *wheel)
{
	uint64_t when;

	if (!next_event(wheel, &when))
		return -1;
	return when - wheel->now < INT64_MAX ? (int64_t)(when - wheel->now) : INT64_MAX;
}

void wheel_advance(struct wheel *wheel, uint64_t now)
{
	uint64_t when;

	while (next_event(wheel, &when) && when <= now) {
		wheel->now = when;
		for (unsigned level = WHEEL_LEVELS - 1; level > 0; level--)
			if ((when & ((UINT64_C(1) << level * WHEEL_BITS) - 1)) == 0)
				deal_out(wheel, level);
		fire_now(wheel);
	}
	if (now > wheel->now)
		wheel->now = now;
}
