/*
 * The event loop; see reactor.h. A turn: ask the poller what is ready, put the owners into the
 * queue of the woken, fire the timers, wake the woken, bury the dead.
 *
 *     events ──> ready bits ──> queue ──> wake ──┐
 *                                 ^              │ reactor_again: next turn
 *                                 └──────────────┘
 *
 * To wait for so long at most, the kernel sets a timer before each wait and takes it back after,
 * which costs as much as a small read. So one alarm is set for the next timer, and until it rings
 * waits have no limit.
 *
 * A source that is forgotten while it is queued stays in the queue, with fd -1, and is passed over;
 * its owner's memory is buried only after the queue has been cleared of it.
 */
#include "core/reactor.h"

#include "core/poller.h"

#include <assert.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

enum {
	EVENTS = 256,
	ALARM_MIN = 16 /* ms: a timer that is closer limits the wait itself */
};

/* Apart from the rest, whose zeroes cost nothing in the executable. */
static int poller = -1;

static struct reactor {
	bool stopped;
	unsigned dead_in_queue;
	struct source *head, **tail;
	struct burial *burials;
	struct wheel wheel;
	struct source alarm;
	uint64_t rings; /* when the alarm does, ms; 0: it is not set */
} reactor;

static uint64_t (*other_clock)(void);

static uint64_t clock_ms(void)
{
	struct timespec now;

	if (other_clock)
		return other_clock();
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void enqueue(struct source *source)
{
	if (source->queued)
		return;
	source->queued = true;
	source->next = NULL;
	*reactor.tail = source;
	reactor.tail = &source->next;
}

static struct source *dequeue(void)
{
	struct source *source = reactor.head;

	reactor.head = source->next;
	if (!reactor.head)
		reactor.tail = &reactor.head;
	source->queued = false;
	return source;
}

/* Wake those that are queued now, not those that are queued meanwhile. */
static void wake_queued(void)
{
	if (!reactor.head)
		return;

	struct source *last = container_of(reactor.tail, struct source, next);
	for (bool more = true; more;) {
		struct source *source = dequeue();

		more = source != last;
		if (source->fd >= 0)
			source->wake(source);
		else
			reactor.dead_in_queue--;
	}
}

static void clear_queue_of_dead(void)
{
	struct source **at = &reactor.head;

	while (*at) {
		struct source *source = *at;

		if (source->fd >= 0) {
			at = &source->next;
			continue;
		}
		*at = source->next;
		source->queued = false;
	}
	reactor.tail = at;
	reactor.dead_in_queue = 0;
}

static void bury_dead(void)
{
	while (reactor.burials) {
		struct burial *burial = reactor.burials;

		if (reactor.dead_in_queue > 0) /* a burial may have closed others */
			clear_queue_of_dead();
		reactor.burials = burial->next;
		burial->bury(burial);
	}
}

void reactor_clock(uint64_t (*clock)(void))
{
	other_clock = clock;
}

static void alarm_rang(struct source *alarm)
{
	alarm->ready = 0;
	reactor.rings = 0;
}

/* Without one, each wait is limited. */
static void open_alarm(void)
{
	int fd = poller_alarm();

	if (fd >= 0 && reactor_watch_input(&reactor.alarm, fd, alarm_rang) < 0)
		close(fd);
}

int reactor_open(void)
{
	reactor_close();
	poller = poller_open();
	reactor = (struct reactor){ .tail = &reactor.head, .alarm.fd = -1 };
	wheel_init(&reactor.wheel, clock_ms());
	if (poller < 0)
		return -1;
	open_alarm();
	return 0;
}

void reactor_close(void)
{
	if (poller < 0)
		return;
	close(poller);
	poller = -1;
	if (reactor.alarm.fd >= 0)
		close(reactor.alarm.fd);
	reactor.alarm.fd = -1;
}

/* The source has a descriptor from now on, or none. */
static void set_fd(struct source *source, int fd)
{
	if (source->queued && (source->fd < 0) != (fd < 0))
		reactor.dead_in_queue += fd < 0 ? 1u : -1u;
	source->fd = fd;
}

static int watch(struct source *source, int fd, uint8_t wanted, uint8_t ready,
		 void (*wake)(struct source *))
{
	set_fd(source, fd);
	source->ready = ready;
	source->wake = wake;
	if (poller_watch(poller, fd, source, wanted) == 0)
		return 0;
	set_fd(source, -1);
	return -1;
}

int reactor_watch(struct source *source, int fd, uint8_t ready, void (*wake)(struct source *))
{
	return watch(source, fd, READY_IN | READY_OUT, ready, wake);
}

int reactor_watch_input(struct source *source, int fd, void (*wake)(struct source *))
{
	return watch(source, fd, READY_IN, 0, wake);
}

int reactor_move(struct source *from, struct source *to, void (*wake)(struct source *))
{
	if (poller_move(poller, from->fd, to, READY_IN | READY_OUT) < 0)
		return -1;
	set_fd(to, from->fd);
	to->ready = from->ready;
	to->wake = wake;
	set_fd(from, -1);
	return 0;
}

void reactor_forget(struct source *source)
{
	if (source->fd < 0)
		return;
	poller_watch(poller, source->fd, NULL, 0);
	close(source->fd);
	set_fd(source, -1);
}

void reactor_again(struct source *source)
{
	assert(source->fd >= 0);
	enqueue(source);
}

void reactor_bury(struct burial *burial)
{
	burial->next = reactor.burials;
	reactor.burials = burial;
}

void reactor_after(struct timer *timer, uint64_t ms)
{
	uint64_t now = reactor.wheel.now;

	wheel_set(&reactor.wheel, timer, ms < UINT64_MAX - now ? now + ms : UINT64_MAX);
}

void reactor_cancel(struct timer *timer)
{
	wheel_cancel(timer);
}

uint64_t reactor_now(void)
{
	return reactor.wheel.now;
}

/* Does the alarm ring in `wait` ms, or before? It is not set anew to ring earlier: until it has
 * rung, waits for what comes before it are limited. */
static bool alarm_rings(int64_t wait)
{
	uint64_t due = reactor.wheel.now + (uint64_t)wait;

	if (reactor.rings)
		return reactor.rings <= due;
	wait -= (int64_t)(clock_ms() - reactor.wheel.now); /* what this turn took */
	if (wait < ALARM_MIN || reactor.alarm.fd < 0 || poller_ring(reactor.alarm.fd, wait) < 0)
		return false;
	reactor.rings = due;
	return true;
}

static int64_t may_wait(int max_wait)
{
	int64_t wait = wheel_wait(&reactor.wheel);

	if (reactor.head)
		return 0;
	if (wait < 0 || (max_wait >= 0 && wait > max_wait))
		return max_wait;
	return max_wait < 0 && alarm_rings(wait) ? -1 : wait;
}

void reactor_turn(int max_wait)
{
	struct poller_event events[EVENTS];
	int n = poller_wait(poller, events, EVENTS, may_wait(max_wait));

	for (int i = 0; i < n; i++) {
		events[i].source->ready |= events[i].ready;
		enqueue(events[i].source);
	}
	/* Timers first: they move the clock that the woken read. */
	wheel_advance(&reactor.wheel, clock_ms());
	wake_queued();
	bury_dead();
}

void reactor_run(void)
{
	while (!reactor.stopped)
		reactor_turn(-1);
	reactor.stopped = false;
}

void reactor_stop(void)
{
	reactor.stopped = true;
}

bool reactor_stopping(void)
{
	return reactor.stopped;
}
