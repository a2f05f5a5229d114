/*
 * The poller of Linux. EPOLLERR and EPOLLHUP are turned into "a read or a write will tell".
 */
#include "core/poller.h"

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

enum { BATCH = 256 };

int poller_open(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

static struct epoll_event event_for(struct source *source, uint8_t wanted)
{
	struct epoll_event event = { .events = EPOLLET, .data.ptr = source };

	if (wanted & READY_IN)
		event.events |= EPOLLIN | EPOLLRDHUP | EPOLLPRI;
	if (wanted & READY_OUT)
		event.events |= EPOLLOUT;
	return event;
}

int poller_watch(int poller, int fd, struct source *source, uint8_t wanted)
{
	struct epoll_event event = event_for(source, wanted);

	/* Closing ends the watch by itself only if no child has a copy of the descriptor, be it
	 * between fork and exec: otherwise events would go on to come, for a source that is
	 * gone. */
	if (!source)
		return epoll_ctl(poller, EPOLL_CTL_DEL, fd, &event);
	if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0)
		return 0;
	return errno == EEXIST ? epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event) : -1;
}

int poller_move(int poller, int fd, struct source *source, uint8_t wanted)
{
	struct epoll_event event = event_for(source, wanted);

	return epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event);
}

static uint8_t translate(uint32_t events)
{
	uint8_t ready = 0;

	if (events & EPOLLIN)
		ready |= READY_IN;
	if (events & EPOLLOUT)
		ready |= READY_OUT;
	if (events & EPOLLRDHUP)
		ready |= READY_IN | READY_EOF;
	if (events & EPOLLPRI)
		ready |= READY_IN | READY_URGENT;
	if ((events & (EPOLLRDHUP | EPOLLPRI | EPOLLERR)) == EPOLLRDHUP)
		ready |= READY_LAST;
	if (events & (EPOLLERR | EPOLLHUP))
		ready |= READY_IN | READY_OUT | READY_EOF | READY_ERROR;
	return ready;
}

int poller_wait(int poller, struct poller_event *events, int max, int64_t ms)
{
	struct epoll_event got[BATCH];
	int n = epoll_wait(poller, got, max < BATCH ? max : BATCH,
			   ms > INT_MAX ? INT_MAX : (int)ms);

	for (int i = 0; i < n; i++)
		events[i] = (struct poller_event){ got[i].data.ptr, translate(got[i].events) };
	return n < 0 ? 0 : n;
}

int poller_alarm(void)
{
	return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

/* It need not be read: being set anew makes it unreadable. */
int poller_ring(int alarm, int64_t ms)
{
	struct itimerspec in = { .it_value = { .tv_sec = (time_t)(ms / 1000),
					       .tv_nsec = (long)(ms % 1000) * 1000000 } };

	return timerfd_settime(alarm, 0, &in, NULL);
}
