/*
 * Memory that processes share: mapped before they fork, with a mutex in it that survives the death
 * of its holder. Mutexes like that are not found everywhere: shared_linux.c, shared_bsd.c.
 */
#ifndef CORE_SHARED_H
#define CORE_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeroed memory, reserved only: it is touched as it is used. NULL with errno, also if `size` is
 * more than a size_t holds. */
void *shared_map(uint64_t size);
void shared_unmap(void *memory, uint64_t size);

/* Lies inside, zeroed: as long as there is one process, locking it is nothing. */
struct shared_mutex {
	pthread_mutex_t mutex;
	bool several; /* processes use it */
};

/* From now on there are several processes: to be called before they are forked. 0, or -1 with errno
 * (ENOTSUP: this system has no mutex that survives its holder). */
int shared_among_several(struct shared_mutex *mutex);

/* True if the last holder died: what the mutex protects may be half changed, and is the caller's to
 * mend now. */
bool shared_lock(struct shared_mutex *mutex);
void shared_unlock(struct shared_mutex *mutex);

#endif
