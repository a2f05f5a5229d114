#include "core/shared.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0 /* systems without it reserve nothing anyway */
#endif

void *shared_map(uint64_t size)
{
	void *memory;

	if (size > SIZE_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

void shared_unmap(void *memory, uint64_t size)
{
	munmap(memory, (size_t)size);
}

int shared_mutex(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;
	int error = pthread_mutexattr_init(&attr);

	if (!error) {
		error = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
		if (!error)
			error = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
		if (!error)
			error = pthread_mutex_init(mutex, &attr);
		pthread_mutexattr_destroy(&attr);
	}
	errno = error;
	return error ? -1 : 0;
}

bool shared_lock(pthread_mutex_t *mutex)
{
	if (pthread_mutex_lock(mutex) != EOWNERDEAD)
		return false;
	pthread_mutex_consistent(mutex);
	return true;
}

void shared_unlock(pthread_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
}
