/*
 * Memory that processes share; see shared.h.
 */
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
