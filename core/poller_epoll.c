/*
 * The poller of Linux. EPOLLERR and EPOLLHUP are turned into "a read or a write will tell".
 */
#include "core/poller.h"

#include <limits.h>
#include <sys/epoll.h>

enum { BATCH = 256 };

int poller_open(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

int poller_watch(int poller, struct source *source)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = source,
	};

	return epoll_ctl(poller, EPOLL_CTL_ADD, source->fd, &event);
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
	if (events & (EPOLLERR | EPOLLHUP))
		ready |= READY_IN | READY_OUT | READY_EOF | READY_ERROR;
	return ready;
}

int poller_wait(int poller, struct poller_event *events, int max, int64_t ms)
{
	struct epoll_event got[BATCH];
	int n = epoll_wait(poller, got, max < BATCH ? max : BATCH, ms > INT_MAX ? INT_MAX : (int)ms);

	for (int i = 0; i < n; i++)
		events[i] = (struct poller_event){ got[i].data.ptr, translate(got[i].events) };
	return n < 0 ? 0 : n;
}
