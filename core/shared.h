/*
 * Memory that processes share: mapped before they fork, with a mutex in it that survives the death
 * of its holder.
 */
#ifndef CORE_SHARED_H
#define CORE_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeroed memory, reserved only: it is touched as it is used. NULL with errno, also if `size` is more
 * than a size_t holds. */
void *shared_map(uint64_t size);
void shared_unmap(void *memory, uint64_t size);

/* Prepare a mutex inside. 0, or -1 with errno. */
int shared_mutex(pthread_mutex_t *mutex);

/* True if the last holder died: what the mutex protects may be half changed, and is the caller's to
 * mend now. */
bool shared_lock(pthread_mutex_t *mutex);
void shared_unlock(pthread_mutex_t *mutex);

#endif
