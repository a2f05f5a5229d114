/*
 * The mutex of core/shared.h: the kernel hands a dead holder's to the next who asks.
 */
#include "core/shared.h"

#include <errno.h>

int shared_among_several(struct shared_mutex *shared)
{
	pthread_mutexattr_t attr;
	int error = pthread_mutexattr_init(&attr);

	if (!error) {
		error = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
		if (!error)
			error = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
		if (!error)
			error = pthread_mutex_init(&shared->mutex, &attr);
		pthread_mutexattr_destroy(&attr);
	}
	shared->several = !error;
	errno = error;
	return error ? -1 : 0;
}

bool shared_lock(struct shared_mutex *shared)
{
	if (!shared->several || pthread_mutex_lock(&shared->mutex) != EOWNERDEAD)
		return false;
	pthread_mutex_consistent(&shared->mutex);
	return true;
}

void shared_unlock(struct shared_mutex *shared)
{
	if (shared->several)
		pthread_mutex_unlock(&shared->mutex);
}
