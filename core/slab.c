/*
 * See slab.h. Objects that were given back form a list through their first word; objects never
 * used lie behind `touched` and cost address space only.
 */
#include "core/slab.h"

#include "core/pages.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int slab_open(struct slab *slab, size_t size, uint32_t max)
{
	size = slab_size(size);
	if (size == 0 || size > UINT32_MAX || max == 0 || max > SIZE_MAX / size) {
		errno = EINVAL;
		return -1;
	}
	void *base = pages_reserve(size * max);
	if (!base)
		return -1;
	*slab = (struct slab){ .base = base, .size = (uint32_t)size, .max = max };
	return 0;
}

void slab_close(struct slab *slab)
{
	if (slab->base)
		pages_release(slab->base, (size_t)slab->size * slab->max);
	*slab = (struct slab){ 0 };
}

void *slab_take(struct slab *slab)
{
	void *object = slab->free;

	if (object) {
		memcpy(&slab->free, object, sizeof(void *));
		memset(object, 0, slab->size);
	} else if (slab->touched < slab->max) {
		object = slab->base + (size_t)slab->size * slab->touched++;
	} else {
		return NULL;
	}
	slab->live++;
	return object;
}

void slab_give(struct slab *slab, void *object)
{
	assert(slab_number(slab, object) < slab->touched && slab->live > 0);
	memcpy(object, &slab->free, sizeof(void *));
	slab->free = object;
	slab->live--;
}

uint32_t slab_number(const struct slab *slab, const void *object)
{
	return (uint32_t)((size_t)((const char *)object - slab->base) / slab->size);
}
