/*
 * Objects of one size, taken and given back without the heap. The address space for all of them
 * is reserved once, at start; memory is touched as the number in use first grows.
 */
#ifndef CORE_SLAB_H
#define CORE_SLAB_H

#include <stddef.h>
#include <stdint.h>

struct slab {
	char *base;
	void *free;	  /* given back, last first */
	uint32_t size;	  /* bytes of one object, rounded up to a multiple of 16 */
	uint32_t max;	  /* objects there can be */
	uint32_t touched; /* objects that were ever in use */
	uint32_t live;	  /* objects in use now */
};

/* Bytes that an object of `size` takes. */
static inline size_t slab_size(size_t size)
{
	return (size + 15) & ~(size_t)15;
}

/* Room for at most `max` objects of `size` bytes. 0, or -1 with errno. */
int slab_open(struct slab *slab, size_t size, uint32_t max);
void slab_close(struct slab *slab);

/* A zeroed object, aligned to 16 bytes; NULL when all are in use. */
void *slab_take(struct slab *slab);
void slab_give(struct slab *slab, void *object);

/* Each object has a number below `max`, the same for as long as it lives. */
uint32_t slab_number(const struct slab *slab, const void *object);

#endif
