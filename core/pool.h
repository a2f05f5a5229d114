/*
 * Pieces of any size out of one area that is reserved at start: a small heap for a library that
 * wants malloc(). When the area is used up it says no, and nothing else in the program suffers.
 */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include "core/list.h"

#include <stddef.h>

struct pool {
	char *base;
	size_t size, used; /* bytes; used counts the heads of pieces too */
	struct list free;
};

/* Room for `size` bytes in all, a multiple of 16. 0, or -1 with errno. */
int pool_open(struct pool *pool, size_t size);
void pool_close(struct pool *pool);

/* n bytes (0 too), aligned to 16; NULL if there is no such piece left. */
void *pool_take(struct pool *pool, size_t n);
void pool_give(struct pool *pool, void *piece);

/* As realloc(): the same bytes in a piece of n; NULL, and the old piece stays, if there is none. */
void *pool_resize(struct pool *pool, void *piece, size_t n);

#endif
