/*
 * The poller of the BSDs and macOS: two filters for each descriptor, EV_CLEAR for edges.
 */
#include "core/poller.h"

#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <sys/event.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 256 };

int poller_open(void)
{
	int kq = kqueue();

	if (kq >= 0)
		fcntl(kq, F_SETFD, FD_CLOEXEC);
	return kq;
}

int poller_watch(int poller, int fd, struct source *source, uint8_t wanted)
{
	struct kevent change[2];

	if (!source) /* filters belong to the descriptor, not to what is open behind it */
		return 0;
	EV_SET(&change[0], fd, EVFILT_READ, EV_ADD | EV_CLEAR, 0, 0, source);
	EV_SET(&change[1], fd, EVFILT_WRITE, EV_ADD | EV_CLEAR, 0, 0, source);
	if (kevent(poller, &change[0], 1, NULL, 0, NULL) < 0)
		return -1;
	if (!(wanted & READY_OUT))
		return 0;
	/* A listener or the reading end of a pipe may know no writing: the first filter is
	 * enough. */
	if (kevent(poller, &change[1], 1, NULL, 0, NULL) < 0 && errno != EINVAL && errno != EPIPE)
		return -1;
	return 0;
}

int poller_move(int poller, int fd, struct source *source, uint8_t wanted)
{
	return poller_watch(poller, fd, source, wanted);
}

/* Not every kernel says whether there is urgent data: it may always be. */
static uint8_t translate(const struct kevent *event)
{
	uint8_t ready = event->filter == EVFILT_READ ? READY_IN | READY_URGENT : READY_OUT;

	if (event->flags & EV_EOF) {
		/* Of the writing side it may only mean that we have shut it ourselves. */
		if (event->filter == EVFILT_READ)
			ready |= READY_EOF;
		if (event->fflags)
			ready |= READY_IN | READY_OUT | READY_EOF | READY_ERROR;
	}
	return ready;
}

int poller_wait(int poller, struct poller_event *events, int max, int64_t ms)
{
	struct kevent got[BATCH];

	if (ms > INT_MAX) /* some kernels refuse to wait for years */
		ms = INT_MAX;
	struct timespec limit = { .tv_sec = (time_t)(ms / 1000),
				  .tv_nsec = (long)(ms % 1000) * 1000000 };
	int n = kevent(poller, NULL, 0, got, max < BATCH ? max : BATCH, ms < 0 ? NULL : &limit);

	for (int i = 0; i < n; i++)
		events[i] =
			(struct poller_event){ (struct source *)got[i].udata, translate(&got[i]) };
	return n < 0 ? 0 : n;
}

int poller_alarm(void)
{
	return -1;
}

int poller_ring(int alarm, int64_t ms)
{
	(void)alarm, (void)ms;
	errno = ENOSYS;
	return -1;
}
