/*
 * The seam between the reactor and the kernel: six functions, one file for each kind of kernel
 * (poller_epoll.c, poller_kqueue.c), picked by the Makefile. Only reactor.c includes this.
 */
#ifndef CORE_POLLER_H
#define CORE_POLLER_H

#include "core/reactor.h"

struct poller_event {
	struct source *source;
	uint8_t ready; /* enum ready */
};

/* A poller: a descriptor, ended by close(). -1 with errno. */
int poller_open(void);

/* Report readiness of `fd`, in the directions that `wanted` names (READY_IN, READY_OUT), edge by
 * edge, to this source from now on; it may have been reported to another before. NULL: report no
 * more, `fd` is about to be closed. 0, or -1 with errno. */
int poller_watch(int poller, int fd, struct source *source, uint8_t wanted);

/* The same for a descriptor that is watched already, by one call where poller_watch() would need
 * two. */
int poller_move(int poller, int fd, struct source *source, uint8_t wanted);

/* Wait at most `ms` (-1: for ever); the events filled in, 0 after a signal. */
int poller_wait(int poller, struct poller_event *events, int max, int64_t ms);

/* A descriptor that becomes readable when an alarm rings, once for each that is set, to be watched
 * and closed like another; or -1: there is none, or it would not be cheaper than to limit each
 * wait. */
int poller_alarm(void);

/* Let it ring in `ms` > 0 milliseconds, and not as was said before. 0, or -1 with errno. */
int poller_ring(int alarm, int64_t ms);

#endif
